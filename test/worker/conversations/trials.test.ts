/** A strategy on trial: both sides of a caller's conversations, and of nobody else's. */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { statsComparison } from '../../../src/reference/schemas/conversations.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { quiet } from '../../support/quiet.ts';
import { startApp, watchedBucket } from '../support.ts';

beforeEach(() => {
  quiet();
});

let callers = 0;

const turn = (n: number) => [
  { role: 'user', content: `Question ${n}? ${'word '.repeat(80)}` },
  { role: 'assistant', content: `Answer ${n}. ${'word '.repeat(80)}` },
];
const TRIM = { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 };

function caller(variables: Parameters<typeof startApp>[1] = {}) {
  const key = `sk-a-caller-with-a-trial-${++callers}`;
  const app = startApp(watchedBucket().bucket, variables, key);
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  /** A request with this many turns before it. @returns whether it was only observed */
  const ask = async (id: string, turns: number, strategy: object, headers: Record<string, string> = {}) => {
    const messages = Array.from({ length: turns }, (_, n) => turn(n)).flat();
    const body = { model: 'gpt-4.1', conversation_id: id, memory_strategy: strategy };
    const answer = await app.request('/v1/chat/completions', {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...body, messages: [...messages, { role: 'user', content: 'And now?' }] }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    return answer.headers.get('x-memory-potential-before') !== null;
  };
  const compared = async (days = 7) => {
    // A list has each object report.
    await app.request('/v1/conversations');
    return statsComparison.parse(await (await app.request(`/v1/stats/comparison?days=${days}`)).json());
  };
  return { app, tenant, ask, compared };
}

describe('a share of the conversations', () => {
  it.each([
    ['the strategy’s field', { ...TRIM, observe: 0.5 }, {}, {}],
    ['a header', TRIM, { 'x-memory-observe': '0.5' }, {}],
    ['the deployment', TRIM, {}, { OBSERVE_SHARE: '0.5' }],
  ])('by %s has both sides, each conversation wholly on one', async (_, strategy, headers, variables) => {
    const { ask, compared } = caller(variables);
    const sides = { observed: 0, sent: 0 };
    for (let at = 0; at < 8; at++) {
      const isObserved = await ask(`case-${at}`, 3, strategy, headers);
      expect(await ask(`case-${at}`, 4, strategy, headers)).toBe(isObserved);
      sides[isObserved ? 'observed' : 'sent']++;
    }
    expect(Math.min(sides.observed, sides.sent)).toBeGreaterThan(0);

    const { data } = await compared();
    expect(data).toHaveLength(1);
    const [{ mode, observed, sent, between } = { mode: '' }] = data;
    expect(mode).toBe('trim');
    for (const [side, count] of [
      [observed, sides.observed],
      [sent, sides.sent],
    ] as const) {
      expect(side).toMatchObject({ conversations: count, requests: 2 * count });
      expect(side?.after).toBeLessThan((side?.before ?? 0) / 2);
    }
    expect(between?.requests).toMatchObject({ value: 0 });
  });

  it('is the same share wherever it is set, and part of a larger one', async () => {
    const { ask } = caller();
    const observed = async (share: number, set: 'field' | 'header') => {
      const found: string[] = [];
      for (let at = 0; at < 12; at++) {
        const id = `case-${at}`;
        const isObserved =
          set === 'field'
            ? await ask(id, 1, { ...TRIM, observe: share })
            : await ask(id, 1, TRIM, { 'x-memory-observe': `${share}` });
        if (isObserved) found.push(id);
      }
      return found;
    };
    const few = await observed(0.3, 'field');
    const many = await observed(0.7, 'field');

    expect(await observed(0.3, 'header')).toEqual(few);
    expect(many).toEqual(expect.arrayContaining(few));
    expect(many.length).toBeGreaterThan(few.length);
    expect(await observed(0, 'field')).toEqual([]);
    expect(await observed(1, 'field')).toHaveLength(12);
  });
});

describe('the comparison', () => {
  it('has nothing of requests that are on no trial, and no other caller’s', async () => {
    const mine = caller();
    const other = caller();
    await mine.ask('case', 3, TRIM);
    await mine.ask('unedited', 3, { mode: 'none' }, { 'x-memory-observe': '0.5' });
    await other.ask('case', 3, { ...TRIM, observe: true });

    expect((await mine.compared()).data).toEqual([]);
    const { data } = await other.compared();
    expect(data).toMatchObject([{ observed: { conversations: 1, requests: 1 }, sent: null, between: null }]);
    expect(data[0]?.text).toMatch(
      /^trim would save .+ over 1 request of 1 conversation that was only observed\.$/,
    );
  });

  /** Two requests that are observed: the second one's array has an answer that used an output. */
  const lookTwice = async ({ app }: Pick<ReturnType<typeof caller>, 'app'>, id: string, archive: boolean) => {
    const tool = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
    const calls = (id: string, input: object) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: JSON.stringify(input) } }],
    });
    const first = [
      { role: 'user', content: 'Look.' },
      calls('a', {}),
      tool('a', `ord-471147 ${'word '.repeat(400)} ord-471148`),
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Look closer.' },
    ];
    const second = [...first, calls('b', { ids: ['ord-471147', 'ord-471148'] }), tool('b', 'Nothing.')];
    const compacting = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1, observe: true };
    for (const messages of [first, second]) {
      const memory_strategy = { ...compacting, archive };
      const body = JSON.stringify({ model: 'gpt-4.1', conversation_id: id, memory_strategy, messages });
      const answer = await app.request('/v1/chat/completions', { method: 'POST', body });
      await answer.text();
      expect(Number(answer.headers.get('x-memory-potential-after'))).toBeLessThan(
        Number(answer.headers.get('x-memory-potential-before')) / 2,
      );
    }
  };

  it('has what the views would have lacked, where the caller archives', async () => {
    const mine = caller();
    await lookTwice(mine, 'kept', true);
    await lookTwice(mine, 'not-kept', false);

    const { data } = await mine.compared();
    // Both requests of one conversation: after the first answer, and after the call.
    expect(data).toMatchObject([{ observed: { requests: 4, answers: 1, words: 2, missed: 2 } }]);
    expect(data[0]?.text).toContain(
      '1 answer took 2 words from an output just read; 2 (100.0 %) would not have been in view.',
    );
  });

  it('counts a request whose words can’t be looked at, without them', async () => {
    const mine = caller();
    const lines: string[] = [];
    vi.spyOn(console, 'warn').mockImplementation((line: string) => void lines.push(line));
    // Only the search for words that were used reads an answer so.
    const match = String.prototype.match;
    const reading = vi.spyOn(String.prototype, 'match').mockImplementation(function (this: string, pattern) {
      if (this.startsWith('ord-')) throw new RangeError('a text of the caller');
      return match.call(this, pattern);
    });
    await lookTwice(mine, 'kept', true);
    reading.mockRestore();

    expect((await mine.compared()).data).toMatchObject([{ observed: { requests: 2, answers: 0 } }]);
    const line = lines.find((one) => one.includes('what a view would have lacked'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ code: 'internal_error', error: 'RangeError' });
    expect(line).not.toContain('a text of the caller');
  });

  it('goes with its conversations, and reads tables of 0.10', async () => {
    const { app, tenant, ask, compared } = caller();
    for (const id of ['one', 'two']) await ask(id, 3, { ...TRIM, observe: true });
    expect((await compared(1)).data).toMatchObject([{ observed: { conversations: 2 } }]);
    await app.request('/v1/conversations/one/memory', { method: 'DELETE' });
    expect((await compared(1)).data).toMatchObject([{ observed: { conversations: 1 } }]);

    const rows = env.TENANT_MEMORY.getByName(tenant);
    await runInDurableObject(
      rows,
      (_, { storage: { sql } }) => void sql.exec('ALTER TABLE day_sums DROP COLUMN trials'),
    );
    await evictDurableObject(rows);
    expect((await compared(1)).data).toEqual([]);
  });

  it.each(['0', '91', 'week'])('refuses other counts of days (%s)', async (days) => {
    const answer = await caller().app.request(`/v1/stats/comparison?days=${days}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'days' } });
  });
});
