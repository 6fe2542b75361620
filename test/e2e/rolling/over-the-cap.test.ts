/** A caller who arrives over `total_max_tokens`, with `overflow_policy: "error"`. */
import Anthropic from '@anthropic-ai/sdk';
import { APIError } from 'openai';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { step } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
/** The number of the running test, which its messages name. */
let test = 0;
beforeEach(() => {
  test += 1;
});
/** The prompts of the running test: one ordered after the last answer may come in the next one. */
const prompts = () => summarizer.prompts().filter((prompt) => prompt.includes(`, test ${test}.`));
// A conversation whose order waits for the end of a rest would ask the summarizer in a later test.
afterEach(async () => {
  summarizer.work();
  await Promise.all(ids.splice(0).map((id) => deployment.fetch(memoryOf(id), { method: 'DELETE' })));
});
const deployment = deploy({ vars: summarizer.vars });
const messagesDeployment = deployMessages({ vars: summarizer.vars });

type Message = Record<string, unknown>;

const MODEL = 'gpt-4.1-mini';
const STRICT = {
  mode: 'rolling_summary',
  total_max_tokens: 3_000,
  overflow_policy: 'error',
  retry_attempts: 0,
};
const SYSTEM = { role: 'system', content: 'You help.' };
const NOW = { role: 'user', content: 'And now?' };
/** About 600 tokens each. */
const rounds = (from: number, to: number): Message[] =>
  Array.from({ length: to - from + 1 }, (_, at) => [
    { role: 'user', content: question(from + at) },
    { role: 'assistant', content: `Answer ${from + at}, test ${test}.` },
  ]).flat();

let named = 0;
const ids: string[] = [];
function newId(): string {
  const id = `over the cap ${++named}`;
  ids.push(id);
  return id;
}

const memoryOf = (id: unknown) => `/v1/conversations/${encodeURIComponent(String(id))}/memory`;
const flush = (id: unknown) => deployment.fetch(`${memoryOf(id)}/flush`, { method: 'POST' });

/** What a client throws of a request that is refused. */
async function refusalOf(work: Promise<unknown>): Promise<APIError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof APIError)) throw new Error(`the request was not refused: ${thrown}`);
  expect([thrown.status, thrown.code]).toEqual([400, 'memory_budget_exceeded']);
  return thrown;
}

overProtocols('an array over the cap', deployment, (protocol) => {
  /** By OpenAI's client. Resolves with the view that was sent. */
  async function ask(messages: readonly Message[], fields: Message): Promise<Message[]> {
    const body = { model: MODEL, ...fields, messages } as never;
    const answer = (await deployment.client().chat.completions.create(body)) as
      | ChatCompletion
      | AsyncIterable<ChatCompletionChunk>;
    if (Symbol.asyncIterator in answer) for await (const _ of answer);
    return deployment.lastChat().body.messages;
  }

  async function compact(messages: readonly Message[], fields: Message) {
    const response = await deployment.postTo('/v1/compact', {
      model: MODEL,
      ...fields,
      [protocol.field]: protocol.elements(messages),
    });
    const body = (await response.json()) as { memory: Report; error: Message };
    return { status: response.status, ...body };
  }

  const fields = (strategy: object = {}, more: object = {}): Message => ({
    conversation_id: newId(),
    memory_strategy: { ...STRICT, ...strategy },
    ...more,
  });
  const crowded = () => [SYSTEM, ...rounds(1, 12), NOW];

  it.each(ofTurn(0, [false, true]))(
    'passes once its memory is made, which the refusal orders; streamed: %s',
    async (stream) => {
      const as = fields({}, { stream });
      const refused = await refusalOf(ask(crowded(), as));
      expect(refused.message).toContain('is being made');
      expect(deployment.chats()).toEqual([]);

      expect((await flush(as.conversation_id)).status).toBe(200);
      const view = await ask(crowded(), as);

      expect(JSON.stringify(view)).toContain('This is summary number');
      expect(view.slice(-5)).toEqual(protocol.read(crowded().slice(-5)));
      expect(JSON.stringify(view)).not.toContain('Question 10:');
    },
  );

  it('is refused while the memory is being made, by each request of the round', async () => {
    const release = summarizer.hold();
    const as = fields();
    await refusalOf(ask(crowded(), as));
    await until('the summarizer is asked', () => prompts().length > 0);
    const again = await refusalOf(ask(crowded(), as));
    release();
    expect(again.message).toContain('is being made');

    await flush(as.conversation_id);
    await ask(crowded(), as);

    expect(prompts().filter((prompt) => prompt.includes('Question 1:'))).toHaveLength(1);
  });

  it('passes without a name of its conversation too', async () => {
    const { conversation_id: _, ...as } = fields();
    const own = [SYSTEM, ...rounds(20 + named, 31 + named), NOW];
    await refusalOf(ask(own, as));

    await until('the memory is made', async () => {
      const asked = await ask(own, as).catch(() => undefined);
      return JSON.stringify(asked ?? []).includes('This is summary number');
    });
  });

  it.each([
    ['with an open question', crowded],
    ['that ends with an answer', () => crowded().slice(0, -1)],
    ['within a run of tools', () => [...crowded(), ...step('call_1', 'look', 'Nothing there.')]],
  ])('is compacted with force, %s, and passes then as it is', async (_, array) => {
    const messages = array();
    const as = fields();
    const { status, memory } = await compact(messages, { ...as, force: true });

    expect(status).toBe(200);
    expect(memory.summary).toMatchObject({ status: 'completed', covers: [7, 20] });
    expect(memory.warnings).toEqual([]);
    expect(prompts()).toHaveLength(1);
    const asked = messages.at(-1)?.role === 'assistant' ? [...messages, NOW] : messages;
    expect(JSON.stringify(await ask(asked, as))).toContain('This is summary number');
  });

  it('is compacted with force after it was refused', async () => {
    const as = fields();
    await refusalOf(ask(crowded(), as));

    expect((await compact(crowded(), { ...as, force: true })).memory.summary?.status).toBe('completed');
    await ask(crowded(), { ...as, stream: true });
  });

  it('is compacted before summarize_after_seq', async () => {
    const as = fields({ full_zone_turns: 0, total_max_tokens: 1_000, summarize_after_seq: 99 });
    const early = [SYSTEM, ...rounds(1, 2), NOW];
    const { memory } = await compact(early, { ...as, force: true });

    expect(memory.summary).toMatchObject({ covers: [1, 4] });
    await ask(early, as);
  });

  it('grows over it within a round, and gets the memory that is ready by then', async () => {
    const as = fields({ total_max_tokens: 3_700, full_zone_turns: 0 });
    const talk = [SYSTEM, ...rounds(1, 2), { role: 'user', content: question(3) }];
    const release = summarizer.hold();
    const { choices } = await deployment
      .client()
      .chat.completions.create({ model: MODEL, ...as, messages: talk } as never);
    const answer = { role: 'assistant', content: choices[0]?.message.content };
    const open = [...talk, answer, { role: 'user', content: question(4) }];
    const before = await ask(open, as);
    release();
    await flush(as.conversation_id);
    const found = [5, 6, 7, 8].map(question).join('\n');
    const grown = [...open, ...step('call_1', 'look', found)];

    const view = await ask(grown, as);

    expect(JSON.stringify(before)).not.toContain('This is summary number');
    expect(JSON.stringify(view)).toContain('This is summary number');
    expect(view.at(-1)).toMatchObject({ role: 'tool', content: found });
  });

  it('is refused with force where the summarizer fails, and passes once it works again', async () => {
    summarizer.fail();

    const { status, error } = await compact(crowded(), { ...fields(), force: true });

    expect(status).toBe(400);
    expect(error).toMatchObject({
      code: 'memory_budget_exceeded',
      message: expect.stringContaining('the summarizer has failed'),
    });
    const as = fields({ degraded_retry_interval_s: 0.1 });
    expect((await compact(crowded(), { ...as, force: true })).status).toBe(400);
    summarizer.work();
    await until('it is asked again', async () => {
      return (await compact(crowded(), { ...as, force: true })).status === 200;
    });
    await ask(crowded(), as);
  });

  it('is refused for good where the rounds that stay are over it alone', async () => {
    const as = fields({ total_max_tokens: 500 });
    const few = [SYSTEM, ...rounds(1, 2), NOW];

    const refused = await refusalOf(ask(few, as));
    const forced = await compact(few, { ...as, force: true });

    expect(refused.message).toContain('No memory is being made');
    expect(forced).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('No memory is being made') },
    });
    expect(prompts()).toEqual([]);
  });

  it('is refused for good with a memory that leaves too much, and orders no other', async () => {
    const as = fields({ total_max_tokens: 1_300 });
    await refusalOf(ask(crowded(), as));
    expect((await flush(as.conversation_id)).status).toBe(200);

    for (let again = 0; again < 3; again++)
      expect((await refusalOf(ask(crowded(), as))).message).toContain('No memory is being made');

    expect(prompts()).toHaveLength(1);
  });

  it('makes no memory in a dry run', async () => {
    const as = fields();
    const { status } = await compact(crowded(), { ...as, force: true, dry_run: true });

    expect(status).toBe(400);
    expect((await flush(as.conversation_id)).status).toBe(404);
  });
});

describe('an array of Messages over the cap', () => {
  const crowded = () => [...rounds(1, 12), NOW] as Anthropic.MessageParam[];
  const headers = () => ({
    'x-memory-strategy': JSON.stringify(STRICT),
    'x-conversation-id': newId(),
  });
  const client = () =>
    new Anthropic({ baseURL: messagesDeployment.url, apiKey: MESSAGES_KEY, maxRetries: 0 });
  const body = () => ({ model: MESSAGES_MODEL, max_tokens: 99, messages: crowded() });

  it.each(ofTurn(1, [false, true]))('passes once its memory is made; streamed: %s', async (stream) => {
    const options = { headers: headers() };
    const create = () =>
      stream
        ? client().messages.stream(body(), options).finalMessage()
        : client().messages.create(body(), options);
    await expect(create()).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('is being made'),
    });
    await messagesDeployment.fetch(`${memoryOf(options.headers['x-conversation-id'])}/flush`, {
      method: 'POST',
    });

    await create();

    const seen = messagesDeployment.upstream.messages();
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(seen[0]?.body.messages)).toContain('This is summary number');
  });

  it('is compacted with force, and passes then as it is', async () => {
    const options = { headers: headers() };

    const compacted = await client().post<{ memory: Report }>('/v1/compact', {
      body: { model: MESSAGES_MODEL, messages: crowded(), force: true },
      ...options,
    });
    await client().messages.create(body(), options);

    expect(compacted.memory.summary).toMatchObject({ status: 'completed' });
    const seen = messagesDeployment.upstream.messages();
    expect(JSON.stringify(seen.at(-1)?.body.messages)).toContain('This is summary number');
  });
});
