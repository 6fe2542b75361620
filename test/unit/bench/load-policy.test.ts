/** Policies of others, as docs/benchmark.md describes them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Conversation } from '../../../bench/replay/conversation.ts';
import { loadPolicy } from '../../../bench/replay/load-policy.ts';
import { replay } from '../../../bench/replay/measure.ts';
import type { Policy } from '../../../bench/replay/policy.ts';
import { assistant, result, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const dir = mkdtempSync(join(tmpdir(), 'policies-'));
afterAll(() => rmSync(dir, { recursive: true }));

function written(name: string, code: string): string {
  const path = join(dir, name);
  writeFileSync(path, code);
  return path;
}

const messages = [user('Hello'), assistant('Hi.'), user('And now?')];
const conversation = new Conversation({ file: 'test', messages, reuse: [] }, counter);
const sentLast = async (policy: Policy): Promise<unknown> =>
  (await replay(policy, conversation)).requests.at(-1)?.messages.map(({ bytes }) => JSON.parse(bytes));

describe('a policy in a file', () => {
  it('is a function of the messages, and has the name of its file', async () => {
    const policy = await loadPolicy(
      written('last.mjs', 'export default (messages) => messages.slice(-1);\n'),
    );

    expect(policy).toMatchObject({ name: 'last.mjs', maker: 'peer' });
    expect(await sentLast(policy)).toEqual(messages.slice(-1));
  });

  it('may have a name, be asynchronous, and count tokens', async () => {
    const code = `export default {
  name: 'counted',
  rewrite: async (messages, { tokens, count }) => [
    { role: 'user', content: \`\${tokens} \${count(messages[0])}\` },
  ],
};
`;
    const tokens = conversation.messages.reduce(
      (sum, message) => sum + message.tokens,
      conversation.overhead,
    );
    const policy = await loadPolicy(written('counted.mjs', code));

    expect(policy.name).toBe('counted');
    expect(await sentLast(policy)).toEqual([user(`${tokens} ${conversation.messages[0]?.tokens}`)]);
  });

  it('is refused without a function', async () => {
    await expect(loadPolicy(written('none.mjs', 'export const a = 1;\n'))).rejects.toThrow(
      'none.mjs must have a function as its default export',
    );
    await expect(loadPolicy(written('name.mjs', 'export default { name: "a" };\n'))).rejects.toThrow(
      'name.mjs must have a function as its default export',
    );
  });

  it('fails where it returns no messages', async () => {
    const nothing = await loadPolicy(written('nothing.mjs', 'export default () => [];\n'));
    await expect(replay(nothing, conversation)).rejects.toThrow("'nothing.mjs' must return an array");
    const texts = await loadPolicy(written('texts.mjs', 'export default () => ["a"];\n'));
    await expect(replay(texts, conversation)).rejects.toThrow("message 0 of the policy 'texts.mjs'");
  });

  it('is the example of the page', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/benchmark.md'), 'utf8');
    const [, example = ''] = /```js\n\/\/ my-policy\.mjs\n([\s\S]*?)```/.exec(page) ?? [];
    const policy = await loadPolicy(written('example.mjs', example));
    const long = 'x '.repeat(40_000);
    const big = new Conversation(
      {
        file: 'test',
        messages: [
          user('Read.'),
          { role: 'assistant', content: null, tool_calls: [] },
          result('a', long),
          result('b', 'short'),
        ],
        reuse: [],
      },
      counter,
    );
    const sent = (await replay(policy, big)).requests.at(-1)?.messages ?? [];

    expect(policy.name).toBe('clear outputs from 32k on');
    expect(sent.map(({ bytes }) => JSON.parse(bytes).content)).toEqual(['Read.', null, '[cleared]', 'short']);
  });
});
