import { expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

type Line = Record<string, unknown>;

/** The logged lines with a message, in order. */
function linesOf(message: string): Line[] {
  return deployment.worker
    .output()
    .split('\n')
    .flatMap((line) => /\{"level".*\}/.exec(line)?.[0] ?? [])
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.message === message);
}

/** The lines that some work logs. */
async function logged(message: string, work: () => Promise<unknown>, count = 1): Promise<Line[]> {
  const before = linesOf(message).length;
  await work();
  await until('the line is logged', () => linesOf(message).length >= before + count);
  return linesOf(message).slice(before);
}

const ANSWERED = 'a request was answered';
const REFUSED = 'a request was refused';

const edited = {
  model: recording.model,
  tools: recording.tools,
  messages: recording.messages.slice(0, 43),
  memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'off' },
  conversation_id: 'the name of a conversation',
  user: 'the name of a user',
};

overProtocols('the line that is logged for a request', deployment, () => {
  it.each(ofTurn(0, [false, true]))('says what was done, with stream: %s', async (stream) => {
    let response: Response | undefined;
    const [line] = await logged(ANSWERED, async () => {
      response = await deployment.chat({ ...edited, stream });
      await response.text();
    });

    const headerOf = (name: string) => response?.headers.get(name) ?? '';
    expect(line).toEqual({
      level: 'info',
      message: ANSWERED,
      mode: 'compact',
      source: 'request',
      edits: 'compact',
      frontier: 'moved',
      tokens_before: Number(headerOf('x-memory-tokens-before')),
      tokens_after: Number(headerOf('x-memory-tokens-after')),
      ms: expect.any(Number),
      plan_ms: expect.any(Number),
      store_ms: expect.any(Number),
      upstream_ms: expect.any(Number),
      status: 200,
      request_id: headerOf('x-request-id'),
    });
    expect(line?.tokens_after).toBeLessThan(Number(line?.tokens_before));
  });

  it('is there in mode none, and for an error of the upstream', async () => {
    deployment.upstream.next({ type: 'error', status: 429, body: '{"error": {"message": "slow down"}}' });
    const plain = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] };
    const lines = await logged(
      ANSWERED,
      async () => {
        await (await deployment.chat(plain)).text();
        await (await deployment.chat(plain)).text();
      },
      2,
    );

    expect(lines).toMatchObject([
      { mode: 'none', source: 'default', edits: 'none', frontier: 'none', status: 429 },
      { mode: 'none', source: 'default', edits: 'none', frontier: 'none', status: 200 },
    ]);
    expect(lines[0]).not.toHaveProperty('tokens_before');
  });

  it('names the warnings', async () => {
    const fields = { memory_injection: true, memory_report: true, conversation_id: undefined };
    const [line] = await logged(ANSWERED, async () =>
      (await deployment.chat({ ...edited, ...fields })).text(),
    );

    expect(line).toMatchObject({ warnings: 'no_conversation' });
  });

  it('says by which code Precis has refused a request', async () => {
    let id: string | null = null;
    const [line] = await logged(REFUSED, async () => {
      const refused = await deployment.chat({ ...edited, memory_strategy: 'odd' });
      id = refused.headers.get('x-request-id');
      return refused;
    });

    expect(line).toEqual({
      level: 'info',
      message: REFUSED,
      code: 'invalid_memory_strategy',
      status: 400,
      request_id: id,
    });
    expect(id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it('holds no content, no key and no id of the caller', async () => {
    const id = { 'x-request-id': 'a text that is\tno id' };
    deployment.upstream.next({ type: 'answer', headers: id });
    const lines = await logged(ANSWERED, async () => (await deployment.chat(edited)).text());

    expect(lines[0]).not.toHaveProperty('request_id');
    const text = JSON.stringify(lines);
    for (const secret of [KEY, edited.conversation_id, edited.user, 'a text that is', recording.model])
      expect(text).not.toContain(secret);
  });
});
