import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import type { Explanation } from '../../../src/memory/plan/explanation-schema.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true, vars: { VERIFY_KEYS: 'false' } });

type Explained = Explanation & Required<WithMemory> & { object: string };

const { model, tools } = recording;
const messages = recording.messages.slice(0, 54) as Record<string, unknown>[];

function post(body: object, path = '/v1/explain'): Promise<Response> {
  const sent = deployment.protocol.body(body as Record<string, unknown>);
  const headers = { 'content-type': 'application/json' };
  return deployment.fetch(path, { method: 'POST', headers, body: JSON.stringify(sent) });
}

async function explained(body: object, path?: string): Promise<Explained> {
  const response = await post(body, path);
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Explained;
}

overProtocols('POST /v1/explain', deployment, (protocol) => {
  const compact = { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5 };

  it('says of each message what a completion then does with it', async () => {
    const request = { model, tools, messages, memory_strategy: compact };

    const { object, messages: fates, moves, memory } = await explained(request);

    const { memory: report, seen } = await deployment.ask(request);
    // A receipt is of what was sent.
    const { receipt: _, ...done } = report;
    expect(object).toBe('memory.explanation');
    expect({ ...memory, tokens: done.tokens }).toEqual(done);
    const placed = fates.filter(({ fate }) => fate === 'placeholder');
    expect(placed.length).toBeGreaterThan(5);
    expect(placed.map(({ edits }) => edits?.[0]?.ref)).toEqual(memory.refs.map(({ ref }) => ref));
    // Over Responses the view is read back as messages too, one for each of these.
    const shown = protocol.read(seen.body.messages);
    const kept = fates.filter(({ fate }) => fate === 'kept').map(({ index }) => messages[index]);
    expect(shown).toEqual(expect.arrayContaining(protocol.read(kept as Record<string, unknown>[])));
    expect(moves.at(-1)).toMatchObject({ trigger: 'token_budget' });
    expect(fates[moves.at(-1)?.frontier ?? 0]).toMatchObject({ because: 'tail' });
  });

  it('has the course of the conversation with its price, if that is asked for', async () => {
    const request = { model: 'gpt-4.1', tools, messages, memory_strategy: compact };
    const { course: none } = await explained(request);
    const { course, memory, moves } = await explained({ ...request, course: true });
    const { course: unchanged } = await explained({
      ...request,
      memory_strategy: { mode: 'none' },
      course: true,
    });

    expect(none).toBeUndefined();
    expect(course?.at(-1)?.after).toBe(memory.tokens?.after);
    const moved = course?.filter((one) => one.moved).map((one) => one.messages);
    expect(moved).toEqual(moves.map((move) => move.messages));
    const sum = (of: 'price_before' | 'price_after') =>
      course?.reduce((total, one) => total + (one[of] ?? Number.NaN), 0);
    expect(sum('price_after')).toBeLessThan(sum('price_before') ?? 0);
    // The arrays are the same under each strategy.
    expect(unchanged?.map(({ before, price_before }) => [before, price_before])).toEqual(
      course?.map(({ before, price_before }) => [before, price_before]),
    );
    for (const { price_before, price_after } of unchanged ?? []) expect(price_after).toBe(price_before);
  });

  it('has no course of a memory that is made in the background, and takes no other word', async () => {
    const rolling = { model, messages, memory_strategy: { mode: 'rolling_summary' } };
    expect((await explained({ ...rolling, course: true })).course).toBeUndefined();
    const refused = await post({ ...rolling, course: 'yes' });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: 'course' } });
  });

  it('stores nothing, and asks no model', async () => {
    const { messages: fates, summary } = await explained({
      model,
      messages: conversation(`explained ${protocol.name}`, 6),
      memory_strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 },
    });

    expect(fates.filter(({ fate }) => fate === 'summarized').length).toBeGreaterThan(3);
    expect(summary?.covers[0]).toBe(1);
    expect(deployment.summarizer.requests).toEqual([]);
    expect(deployment.upstream.requests).toEqual([]);
    const read = conversationOf([linesAbout(`what is only explained over ${protocol.name}`), 'short']);
    const { memory } = await explained({ model, messages: read, memory_strategy: COMPACT_OLD_TURNS });
    expect(memory.refs).toHaveLength(1);
    expect((await deployment.fetch(`/v1/refs/${memory.refs[0]?.ref}`)).status).toBe(404);
  });

  it('keeps every message where the strategy edits nothing', async () => {
    const { messages: fates, moves, memory } = await explained({ model, messages });

    expect(memory).toMatchObject({ mode: 'none', source: 'default' });
    expect(fates).toHaveLength(messages.length);
    expect(fates.every(({ fate, before, after }) => fate === 'kept' && before === after && before > 0)).toBe(
      true,
    );
    expect(moves).toEqual([]);
  });

  it('says what a manual compaction would do, under the defaults of an agent', async () => {
    const { memory, moves } = await explained({ model, messages, force: true }, '/agents/coding/v1/explain');

    expect(memory).toMatchObject({ mode: 'auto', source: 'agent', trigger: 'force' });
    expect(moves.at(-1)).toMatchObject({ messages: messages.length, trigger: 'force' });
  });

  it.each([
    ['force', { force: 'yes' }],
    ['memory_strategy.token_budget', { memory_strategy: { mode: 'compact', token_budget: -1 } }],
  ])('refuses a wrong %s', async (param, fields) => {
    const response = await post({ messages, ...fields });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
  });
});

describe('the route', () => {
  it('takes no other method', async () => {
    const response = await deployment.fetch('/v1/explain');

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  it('refuses a body with messages and input', async () => {
    const response = await post({ messages, input: 'hello' });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_messages', param: 'input' } });
  });
});
