import { describe, expect, it } from 'vitest';
import { untilDayLasts } from '../../support/day.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { PROTOCOLS } from '../../support/deployment/protocol.ts';
import { startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
const deployment = deploy({ vars: summarizer.vars });

const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };

let made = 0;

/** A conversation whose request waits for its summary. */
function talk(fields: object) {
  const n = ++made;
  const words = (who: string, at: number) => `${who} ${at} of ${n}: ${'what follows from that? '.repeat(60)}`;
  const messages = Array.from({ length: 5 }, (_, at) => [
    { role: 'user', content: words('Question', at) },
    { role: 'assistant', content: words('Answer', at) },
  ]).flat();
  return deployment.ask({
    ...fields,
    memory_strategy: SUMMARIZE,
    messages: [...messages, { role: 'user', content: 'And?' }],
  });
}

interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

const list = (query = '') => deployment.fetch(`/v1/conversations${query}`);
const page = async (query = ''): Promise<Page> => (await list(query)).json();

describe.each(ofTurn(1, PROTOCOLS))('GET /v1/conversations and /v1/stats, over $name', (protocol) => {
  deployment.over(protocol);

  it('are empty for a caller of whom nothing is kept', async () => {
    expect(await page()).toEqual({ object: 'list', data: [], has_more: false, cursor: null });
    expect(await (await deployment.fetch('/v1/stats')).json()).toEqual({
      object: 'memory.stats',
      conversations: 0,
      by_status: { healthy: 0, degraded: 0, stuck: 0 },
      avg_ms: null,
      max_ms: null,
      total_summaries: 0,
      bill: expect.objectContaining({ requests: 0, billed: 0, sent: null, net: null }),
      windows: { avg_size: null, max_size: null, count: 0 },
      progression: [],
    });
  });

  it('tell of each conversation, newest first, and how long its summaries took', async () => {
    await untilDayLasts(60_000);
    const started = Math.floor(Date.now() / 1000);
    const long = 'ä'.repeat(200);
    await talk({ conversation_id: 'a: #1/ü' });
    await talk({ conversation_id: long, user: 'ann:b' });
    await talk({});

    const { data, has_more } = await page();

    const one = {
      object: 'memory.conversation',
      user: null,
      status: 'healthy',
      health: 'healthy',
      last_used_at: expect.any(Number),
      tokens: expect.any(Number),
      versions: 1,
      requests: expect.any(Number),
      last_request_at: expect.any(Number),
      last_request_status: 200,
      model: 'gpt-4.1',
      agent: null,
      bill: expect.objectContaining({ unit: 'nanodollars' }),
    };
    expect(data).toEqual([
      { ...one, id: null, opening: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { ...one, id: null, opening: null, user: 'ann:b' },
      { ...one, id: 'a: #1/ü', opening: null },
    ]);
    expect(has_more).toBe(false);
    for (const { last_used_at } of data) expect(last_used_at).toBeGreaterThanOrEqual(started);
    const versions = data.reduce((sum, { versions: count }) => sum + Number(count), 0);
    const stats = (await (await deployment.fetch('/v1/stats')).json()) as Record<string, unknown>;
    const times = { avg_ms: expect.any(Number), max_ms: expect.any(Number), total_summaries: versions };
    // Summaries of the whole conversation have no window.
    const none = { avg_size: null, max_size: null, count: 0 };
    expect(stats).toEqual({
      object: 'memory.stats',
      conversations: 3,
      by_status: { healthy: 3, degraded: 0, stuck: 0 },
      ...times,
      bill: expect.objectContaining({ unit: 'nanodollars' }),
      windows: none,
      progression: [{ date: new Date().toISOString().slice(0, 10), ...times, windows: none }],
    });
    expect(Number(stats.avg_ms)).toBeLessThanOrEqual(Number(stats.max_ms));
  });

  it('come in pages', async () => {
    const all = await page();
    const first = await page('?limit=2');
    const second = await page(`?limit=2&cursor=${first.cursor}`);

    expect([first.has_more, second.has_more]).toEqual([true, false]);
    expect([...first.data, ...second.data]).toEqual(all.data);
    expect(await page('?limit=3')).toMatchObject({ has_more: false, cursor: null });
  });

  it('tell which conversations are degraded', async () => {
    summarizer.fail(400);
    const { memory } = await talk({ conversation_id: 'a poor one' });
    expect(memory.warnings).toContain('summary_degraded');
    summarizer.work();

    expect((await page('?status=degraded')).data).toMatchObject([
      { id: 'a poor one', status: 'degraded', health: 'degraded' },
    ]);
    expect((await page('?status=healthy')).data).toHaveLength(3);
    expect((await page('?status=stuck')).data).toEqual([]);
    const first = await page('?status=degraded&limit=1');
    expect(first.data).toHaveLength(1);
    const { by_status } = (await (await deployment.fetch('/v1/stats')).json()) as Record<string, unknown>;
    expect(by_status).toEqual({ healthy: 3, degraded: 1, stuck: 0 });
  });

  it.each([
    ['status', '?status=odd'],
    ['cursor', '?cursor=odd'],
    ['cursor', '?cursor=0'],
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
  ])('refuse a bad %s: %s', async (param, query) => {
    const response = await list(query);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value', param } });
  });

  it('tell nobody else of them, and nothing of those that were deleted', async () => {
    const headers = { authorization: 'Bearer sk-the-key-of-another-caller-of-lists' };
    for (const path of ['/v1/conversations', '/conversations'])
      expect(await (await deployment.fetch(path, { headers })).json()).toMatchObject({ data: [] });
    expect(await (await deployment.fetch('/v1/stats', { headers })).json()).toMatchObject({
      conversations: 0,
    });
    const id = encodeURIComponent('a: #1/ü');
    await deployment.fetch(`/v1/conversations/${id}/memory`, { method: 'DELETE' });
    expect((await page()).data).toHaveLength(3);
    await deployment.fetch('/v1/memory', { method: 'DELETE' });
    expect((await page()).data).toEqual([]);
  });
});

it('an agent finds the conversations whose newest request chose it', async () => {
  await deployment.ask({
    conversation_id: 'of an agent',
    agent_type: 'support',
    memory_strategy: { mode: 'auto' },
    messages: [{ role: 'user', content: 'And?' }],
  });

  await expect
    .poll(async () => (await page('?agent=support')).data)
    .toMatchObject([{ id: 'of an agent', agent: 'support' }]);
  expect((await page('?agent=coding')).data).toEqual([]);
});

describe('the routes of OpenAI’s conversations', () => {
  it('stay forwarded', async () => {
    await deployment.fetch('/v1/conversations', { method: 'POST', body: '{}' });
    await deployment.fetch('/v1/conversations/conv_1');
    expect(deployment.upstream.requests.map(({ path }) => path)).toEqual([
      expect.stringMatching(/\/conversations$/),
      expect.stringMatching(/\/conversations\/conv_1$/),
    ]);
  });

  it('refuse other methods on statistics', async () => {
    const response = await deployment.fetch('/v1/stats', { method: 'POST', body: '{}' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
