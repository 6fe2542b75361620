import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { messageOf } from '../../../tools/upstream/message.ts';
import { responseOf } from '../../../tools/upstream/response.ts';
import { assistant, body, lines, step, user } from '../../support/conversations/chat.ts';
import { forAllAsync, runs } from '../../support/laws/runs.ts';
import { startApp, watchedBucket } from '../support.ts';

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'compact', token_budget: 3_000, low_watermark_pct: 0.5 },
  { mode: 'compact', token_budget: 3_000, compact_keep: 1, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 4_000, compact_retrieval: 'off' },
  { mode: 'trim', token_budget: 3_000 },
  { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0, upstream_api: 'responses' },
  { mode: 'compact', token_budget: 3_000, upstream_api: 'messages' },
];

const MESSAGES = [
  user('Find what broke the order ORD-2041-77318.'),
  ...Array.from({ length: 24 }, (_, at) => [
    ...step(`call_${at}`, 'read_file', `${lines(30)} ${at}`),
    ...(at % 5 === 4 ? [assistant(`That was ${at}.`), user(`Go on after ${at}.`)] : []),
  ]).flat(),
];

const TOOLS = [
  { type: 'function', function: { name: 'read_file', parameters: { type: 'object', properties: {} } } },
];

/** One request of a client that repeats itself. */
const request = fc.record({
  length: fc.constantFrom(20, 38, 46, 47, 48),
  strategy: fc.nat(STRATEGIES.length - 1),
  model: fc.constantFrom('gpt-4.1', 'gpt-6-luna'),
  tools: fc.boolean(),
  most: fc.constantFrom(undefined, 900),
});

/** Few requests in turn, so that most come again. */
const requests = fc
  .array(request, { minLength: 2, maxLength: 3 })
  .chain((some) => fc.array(fc.constantFrom(...some), { minLength: 6, maxLength: 8 }));

/** An app whose upstream answers over each API. */
function startAny(...args: Parameters<typeof startApp>) {
  const app = startApp(...args);
  const fetch = vi.mocked(globalThis.fetch);
  const overChat = fetch.getMockImplementation();
  fetch.mockImplementation(async (input, init) => {
    const answer = await overChat?.(input, init);
    const { url = '', body = '' } = app.sent.at(-1) ?? {};
    const answerOf = url.endsWith('/responses') ? responseOf : url.endsWith('/messages') && messageOf;
    return answerOf ? Response.json(answerOf(JSON.parse(body), { content: 'Done.' })) : (answer as Response);
  });
  return app;
}

/** Headers that differ from answer to answer. */
const OTHERS = ['server-timing', 'x-memory-request-id'];

describe('a body that an isolate has seen', () => {
  it('has the view and the report that it has in a new one, whatever came between', async () => {
    const numRuns = runs(2, 8);
    let again = 0;
    await forAllAsync({ numRuns, endOnFailure: true }, requests, async (all) => {
      const { bucket } = watchedBucket();
      const key = `sk-${crypto.randomUUID()}`;
      const knowing = startAny(bucket, {}, key);
      const seen = new Set<string>();
      for (const one of all) {
        const fields = {
          model: one.model,
          ...(one.tools ? { tools: TOOLS } : {}),
          max_completion_tokens: one.most,
          memory_strategy: STRATEGIES[one.strategy],
        };
        const text = JSON.stringify(body(MESSAGES.slice(0, one.length), fields));
        if (seen.has(text)) again++;
        seen.add(text);
        const fresh = startAny(bucket, {}, key);
        const answers = [];
        for (const app of [fresh, knowing]) {
          const response = await app.request('/v1/chat/completions', { method: 'POST', body: text });
          expect(response.status).toBe(200);
          const shown = [...response.headers].filter(([name]) => !OTHERS.includes(name));
          // The newest app hears all requests to the upstream.
          answers.push({ shown, sent: fresh.sent.at(-1)?.body });
        }
        expect(answers[1]).toEqual(answers[0]);
      }
    });
    expect(again).toBeGreaterThan(2 * numRuns);
  });
});
