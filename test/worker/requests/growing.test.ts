import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { assistant, body, lines, step, user } from '../../support/conversations/chat.ts';
import { forAllAsync, runs } from '../../support/laws/runs.ts';
import { startApp, watchedBucket } from '../support.ts';

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 5_000, low_watermark_pct: 0.5 },
  { mode: 'auto', token_budget: 4_000, compact_retrieval: 'off', clear_reasoning: true },
  { mode: 'compact', token_budget: 3_000, low_watermark_pct: 0.5 },
  { mode: 'compact', token_budget: 3_000, frontier: 'slide' },
];

const TOOLS = [
  { type: 'function', function: { name: 'read_file', parameters: { type: 'object', properties: {} } } },
];

type Message = Parameters<typeof body>[0][number];

/** An agent's work, with files that it reads again. */
const work = (name: string, steps: number): Message[][] =>
  Array.from({ length: steps }, (_, at) => [
    ...step(`${name}_${at}`, 'read_file', `${lines(30, `row of ${at % 7 === 6 ? at - 3 : at}`)}`),
    ...(at % 5 === 4 ? [assistant(`That was ${at}.`), user(`Go on after ${at}.`)] : []),
  ]);

const BEGIN = [user('Find what broke the order ORD-2041-77318.')];
const ALL = work('call', 24);
const OTHER = work('other', 12);

/** How a request differs from the one before. */
const change = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('grow' as const) },
    fc.constantFrom('fork' as const, 'edit' as const, 'back' as const),
  ),
  by: fc.integer({ min: 1, max: 2 }),
  strategy: fc.constantFrom(0, 0, 0, 0, 1),
  forgets: fc.constantFrom(false, false, false, true),
});

/** The steps of a client's array, from request to request. */
function next(steps: readonly Message[][], { kind, by }: { kind: string; by: number }): Message[][] {
  if (kind === 'back') return steps.slice(0, -by);
  if (kind === 'fork') return [...steps.slice(0, -2 * by), ...OTHER.slice(0, 2 * by)];
  if (kind === 'edit') return steps.toSpliced(-3, 1, [assistant('Stop.'), user(`Look at ${by}.`)]);
  return [...steps, ...ALL.slice(steps.length, steps.length + by)];
}

/** What differs from answer to answer. */
const OTHERS = ['server-timing', 'x-memory-request-id'];
const OF_ONE = ['request_id', 'created_at', 'ms'];

describe('a conversation that grows in an isolate', () => {
  it('has the views, reports and events that it has in new ones', async () => {
    const numRuns = runs(2, 8);
    let moved = 0;
    await forAllAsync(
      { numRuns, endOnFailure: true },
      fc.tuple(fc.nat(STRATEGIES.length - 1), fc.nat(STRATEGIES.length - 1)),
      fc.array(change, { minLength: 7, maxLength: 9 }),
      fc.constantFrom('gpt-4.1', 'gpt-6-luna'),
      async (chosen, changes, model) => {
        const { bucket } = watchedBucket();
        const key = `sk-${crypto.randomUUID()}`;
        let knowing = startApp(bucket, {}, key);
        let steps = ALL.slice(0, 10);
        for (const one of changes) {
          steps = next(steps, one);
          if (one.forgets) knowing = startApp(bucket, {}, key);
          const cache = { prompt_cache_key: 'a key of its own' };
          const fields = {
            model,
            tools: TOOLS,
            ...cache,
            memory_strategy: STRATEGIES[chosen[one.strategy] ?? 0],
          };
          const answers = [];
          for (const [conversation_id, app] of [
            ['new', startApp(bucket, {}, key)] as const,
            ['known', knowing] as const,
          ]) {
            const all = body([...BEGIN, ...steps.flat()], { ...fields, conversation_id });
            const response = await app.request('/v1/chat/completions', {
              method: 'POST',
              body: JSON.stringify(all),
            });
            const shown = [...response.headers].filter(([name]) => !OTHERS.includes(name));
            // The newest app hears all requests to the upstream.
            answers.push({ shown, app, text: await response.text() });
          }
          const heard = answers.flatMap(({ app }) => app.sent).filter(Boolean);
          expect(heard.at(-1)?.body).toEqual(heard.at(-2)?.body);
          const [fresh, known] = answers;
          expect([known?.shown, known?.text]).toEqual([fresh?.shown, fresh?.text]);
          if (known?.shown.some(([name, value]) => name === 'x-memory-trigger' && value !== 'none')) moved++;
        }
        const events = await Promise.all(['new', 'known'].map((id) => eventsOf(knowing, id)));
        expect(events[0]).toHaveLength(changes.length);
        expect(events[1]).toEqual(events[0]);
      },
    );
    expect(moved).toBeGreaterThan(2 * numRuns);
  });
});

/** The events of a conversation, without what differs from request to request. */
async function eventsOf(app: ReturnType<typeof startApp>, id: string): Promise<object[]> {
  await app.request(`/v1/conversations/${id}/flush`, { method: 'POST' });
  const response = await app.request(`/v1/conversations/${id}/requests`);
  const { data } = await response.json<{ data: { n: number }[] }>();
  return Promise.all(
    data.map(async ({ n }) => {
      const one = await app.request(`/v1/conversations/${id}/requests/${n}`);
      const event = await one.json<object>();
      return Object.fromEntries(Object.entries(event).filter(([name]) => !OF_ONE.includes(name)));
    }),
  );
}
