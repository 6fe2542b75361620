/**
 * The translation of arrays for the published code of peers. The packages are not installed for
 * tests: stand-ins with the same interface take their place.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { install } from '../../../bench/install.ts';
import { type ChatJson, Conversation } from '../../../bench/replay/conversation.ts';
import {
  type AiSdk,
  type ModelMessage,
  publishedPruneMessages,
} from '../../../bench/replay/peers/published/ai-sdk.ts';
import { type LangChain, publishedContextEditing } from '../../../bench/replay/peers/published/langchain.ts';
import type { Policy } from '../../../bench/replay/policy.ts';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const call = (id: string): object => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: 'not JSON' },
});

const messages: ChatJson[] = [
  system('Be brief.'),
  user([{ type: 'text', text: 'Read both.' }]),
  {
    role: 'assistant',
    content: 'Now.',
    reasoning_content: 'Both at once?',
    tool_calls: [call('a'), call('b')],
  },
  result('a', 'the first'),
  result('b', [{ type: 'text', text: 'the second' }]),
  assistant([{ type: 'text', text: 'Read.' }]),
  user('Thanks.'),
];

/** What the policy sends for the whole array. */
async function sentBy(policy: Policy): Promise<ChatJson[]> {
  const replay = policy.start(new Conversation({ file: 'test', messages, reuse: [] }, counter));
  const view = await replay.view(messages.length);
  return view.messages.map(({ bytes }) => JSON.parse(bytes));
}

const prune = (pruneMessages: AiSdk['pruneMessages']): Promise<ChatJson[]> =>
  sentBy(publishedPruneMessages('ai', { pruneMessages }));

/** The parts of all messages for which this is true. */
const onlyParts =
  (isKept: (part: Readonly<Record<string, unknown>>) => boolean): AiSdk['pruneMessages'] =>
  ({ messages }) =>
    messages
      .map((message): ModelMessage => {
        if (typeof message.content === 'string' || message.role === 'user') return message;
        return { ...message, content: message.content.filter((part) => isKept({ ...part })) };
      })
      .filter(({ content }) => content.length > 0);

describe("the AI SDK's pruneMessages", () => {
  it('gets the results of a step as one message, and what it leaves goes back as it was', async () => {
    const roles: string[] = [];
    const sent = await prune(({ messages }) => {
      roles.push(...messages.map(({ role }) => role));
      return messages;
    });

    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(sent).toEqual(messages);
    expect(await prune(onlyParts(() => true))).toEqual(messages);
  });

  it('takes single calls with their results', async () => {
    const sent = await prune(onlyParts(({ toolCallId }) => toolCallId !== 'a'));

    expect(sent).toEqual([
      ...messages.slice(0, 2),
      { ...messages[2], tool_calls: [call('b')] },
      ...messages.slice(4),
    ]);
  });

  it('takes all calls and reasoning of a message, which keeps its text', async () => {
    const sent = await prune(onlyParts(({ type }) => type === 'text'));

    expect(sent).toEqual([...messages.slice(0, 2), assistant('Now.'), ...messages.slice(5)]);
  });
});

/** A message of the stand-in for LangChain. */
class Said {
  readonly content: unknown;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.content = fields.content;
  }
}

/** Clears the first tool result from the trigger on, and notes the tokens that it has counted. */
function langChain(counted: number[]): LangChain {
  class ToolSaid extends Said {}
  let trigger = 0;
  return {
    HumanMessage: Said,
    SystemMessage: Said,
    AIMessage: Said,
    ToolMessage: ToolSaid,
    ClearToolUsesEdit: class {
      constructor(options: { trigger: { tokens: number } }) {
        trigger = options.trigger.tokens;
      }
    },
    contextEditingMiddleware: () => ({
      async wrapModelCall(call, handler) {
        const count = async () => (await call.model.getNumTokensFromMessages(call.messages)).totalCount;
        counted.push(await count());
        const first = call.messages.findIndex((message) => message instanceof ToolSaid);
        if ((counted[0] ?? 0) >= trigger) call.messages[first] = new ToolSaid({ content: '[cleared]' });
        counted.push(await count());
        return handler(call);
      },
    }),
  };
}

describe("LangChain's context editing", () => {
  const whole = new Conversation({ file: 'test', messages, reuse: [] }, counter);
  const tokens = whole.messages.reduce((sum, message) => sum + message.tokens, whole.overhead);

  it('counts the whole array with its tools, and the messages with a placeholder', async () => {
    const counted: number[] = [];
    await sentBy(publishedContextEditing('langchain', langChain(counted), 1, 3));

    expect(counted[0]).toBe(tokens);
    const placeholder = whole.sent(result('', '[cleared]')).tokens;
    expect(counted[1]).toBe(tokens - (whole.messages[3]?.tokens ?? 0) + placeholder);
  });

  it('changes the content of a cleared result, and nothing below its trigger', async () => {
    const cleared = messages.map((message, index) =>
      index === 3 ? { ...message, content: '[cleared]' } : message,
    );

    expect(await sentBy(publishedContextEditing('langchain', langChain([]), tokens, 3))).toEqual(cleared);
    expect(await sentBy(publishedContextEditing('langchain', langChain([]), tokens + 1, 3))).toEqual(
      messages,
    );
  });
});

describe('the installation of peers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'peers-'));
  afterEach(() => vi.unstubAllEnvs());
  afterAll(() => rmSync(folder, { recursive: true }));

  it('says what cannot be installed when the registry is unreachable', async () => {
    vi.stubEnv('npm_config_registry', 'http://127.0.0.1:1/');
    vi.stubEnv('npm_config_fetch_retries', '0');
    vi.stubEnv('npm_config_cache', join(folder, 'cache'));

    await expect(install(join(folder, 'of'), { dependencies: { ai: '7.0.173' } })).rejects.toThrow(
      "npm can't install ai@7.0.173 (ECONNREFUSED); is the registry reachable?",
    );
  });
});
