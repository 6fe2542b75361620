/** Precis's marks that move along with a conversation of a caller that sets none. */
import { describe, expect, it } from 'vitest';
import { rows } from '../../support/clients/agent-run.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const deployment = deployMessages({ refuses: true });

const MARK = { type: 'ephemeral' };
const TOOL = { name: 'search', description: rows('what it finds', 200), input_schema: { type: 'object' } };
const SYSTEM = rows('rules', 60);

/** The arrays of an agent's requests. @param calls in each step */
function arraysOf(topic: string, steps: number, calls = 1): Json[][] {
  const messages: Json[] = [{ role: 'user', content: `Weigh all ${topic}.` }];
  const arrays = [[...messages]];
  for (let at = 0; at < steps; at++) {
    const ids = Array.from({ length: calls }, (_, call) => `toolu_${at}_${call}`);
    const uses = ids.map((id) => ({ type: 'tool_use', id, name: TOOL.name, input: { at } }));
    const results = ids.map((id) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: rows(`${topic} ${id}`, Math.ceil(40 / calls)),
    }));
    messages.push({ role: 'assistant', content: uses }, { role: 'user', content: results });
    arrays.push([...messages]);
  }
  return arrays;
}

const body = (messages: Json[], more: Json = {}): Json => ({
  system: SYSTEM,
  tools: [TOOL],
  messages,
  memory_strategy: { mode: 'auto', token_budget: 100_000, compact_retrieval: 'off' },
  ...more,
});

const sent = (): Json => deployment.upstream.messages().at(-1)?.body ?? {};
const marksIn = (value: unknown): number => JSON.stringify(value).split('"cache_control"').length - 1;
const lastOf = (list: unknown): Json => (list as Json[]).at(-1) ?? {};
const usageOf = ({ message }: { message: Json }) => message.usage as Record<string, number>;

describe('a caller that sets no marks', () => {
  it('reads all of the request before, from the second request on, and the frontier stays', async () => {
    let before = 0;
    for (const messages of arraysOf('apples', 5)) {
      const answer = await deployment.ask(body(messages));
      const usage = usageOf(answer);
      expect(usage.cache_read_input_tokens).toBe(before);
      expect(usage.input_tokens).toBe(0);
      before += usage.cache_creation_input_tokens ?? 0;
      const { tools, system, messages: view } = sent();
      expect([tools, system, view].map((list) => marksIn(lastOf(list)))).toEqual([1, 1, 1]);
      expect(marksIn(sent())).toBe(3);
      expect(answer.memory.frontier.moved).toBe(false);
    }
  });

  it('also where a step has more blocks than the cache looks back', async () => {
    let before = 0;
    for (const messages of arraysOf('pears', 3, 15)) {
      const usage = usageOf(await deployment.ask(body(messages)));
      expect(usage.cache_read_input_tokens).toBe(before);
      before += usage.cache_creation_input_tokens ?? 0;
      expect(marksIn(sent())).toBeLessThanOrEqual(4);
    }
  });

  it('has no marks in a body that is too short for the cache', async () => {
    const short = { memory_strategy: 'auto', messages: [{ role: 'user', content: 'Hello.' }] };
    await deployment.ask(short);
    expect(sent().messages).toEqual(short.messages);
    expect(marksIn(sent())).toBe(0);
  });

  it.each([
    ['mode none', 'none', 0],
    ['mode none that asks', { mode: 'none', cache_marks: 'auto' }, 3],
    ['callers', { mode: 'auto', cache_marks: 'callers' }, 0],
    ['off', { mode: 'auto', cache_marks: 'off' }, 0],
    ['observe', { mode: 'auto', observe: true }, 0],
    ['trim', { mode: 'trim' }, 3],
    ['rolling_summary', { mode: 'rolling_summary' }, 3],
  ])('has as many of Precis’s as the strategy says: %s', async (_, memory_strategy, marks) => {
    await deployment.ask(body(arraysOf('plums', 2)[2] ?? [], { memory_strategy }));
    expect(marksIn(sent())).toBe(marks);
  });
});

describe('a caller that sets marks', () => {
  it.each([
    ['system', { system: [{ type: 'text', text: SYSTEM, cache_control: MARK }] }],
    ['tools', { tools: [{ ...TOOL, cache_control: MARK }] }],
  ])('on %s alone gets the one that moves along', async (_, fields) => {
    await deployment.ask(body(arraysOf('figs', 2)[2] ?? [], fields));
    expect(marksIn(sent())).toBe(2);
    expect(lastOf(lastOf(sent().messages).content)).toMatchObject({ cache_control: MARK });
  });

  it('on messages, or at the end of each request, gets none', async () => {
    const messages = arraysOf('nuts', 2)[2] ?? [];
    const first = { role: 'user', content: [{ type: 'text', text: 'Weigh.', cache_control: MARK }] };
    await deployment.ask(body([first, ...messages.slice(1)]));
    expect(marksIn(sent())).toBe(1);
    await deployment.ask(body(messages, { cache_control: MARK }));
    expect(marksIn(sent())).toBe(1);
  });
});

it('an upstream that refuses marks is asked again without, and gets none afterwards', async () => {
  const refused = { type: 'invalid_request_error', message: 'cache_control: Extra inputs are not permitted' };
  deployment.upstream.next({ type: 'error', status: 400, body: { type: 'error', error: refused } });
  const messages = arraysOf('dates', 1)[1] ?? [];
  const model = 'claude-sonnet-4-6-20260101';
  const key = { 'x-api-key': 'sk-ant-the-key-of-an-upstream-without-marks' };
  await deployment.ask(body(messages, { model }), key);
  expect(deployment.upstream.messages().map((one) => marksIn(one.body))).toEqual([3, 0]);
  await deployment.ask(body(messages, { model }), key);
  expect(marksIn(sent())).toBe(0);
});
