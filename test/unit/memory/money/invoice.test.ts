import { describe, expect, it } from 'vitest';
import { recording } from '../../../../fixtures/recording.ts';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { type BillOrder, type BillStanding, nextBill } from '../../../../src/memory/money/bill.ts';
import type { Bill, RunUsage } from '../../../../src/memory/money/bill-schema.ts';
import { billSumsJson, joinSums, NO_SUMS, sumsOf } from '../../../../src/memory/money/bill-sums.ts';
import type { Usage } from '../../../../tools/upstream/completion.ts';
import { Vendor } from '../../../../tools/upstream/invoice.ts';
import { viewOf } from '../../../support/laws/view-of.ts';

const { messages, tools } = recording;
const model = 'gpt-4.1';
const schedule = scheduleOf(model, utcTimeOf(new Date('2026-10-10'))) ?? null;
const MINUTE_MS = 60_000;
const PICO_PER_NANO = 1_000n;

/** The arrays of the conversation's requests: everything before each of the model's answers. */
const arrays = messages.flatMap((message, index) =>
  message.role === 'assistant' ? [messages.slice(0, index)] : [],
);

function usageOf({ prompt_tokens, completion_tokens, prompt_tokens_details }: Usage): RunUsage {
  const cached = prompt_tokens_details.cached_tokens;
  return { input: prompt_tokens, cached, cache_writes: null, output: completion_tokens };
}

interface Billed {
  readonly bills: Bill[];
  /** Of what was sent. */
  readonly vendor: Vendor;
  /** Of the same conversation without Precis. */
  readonly without: Vendor;
}

/** @param rounds how often the model fetches before it answers, by the request's number */
function bill(strategy: MemoryStrategyRequest, rounds: (request: number) => number): Billed {
  const vendor = new Vendor();
  const without = new Vendor();
  const bills: Bill[] = [];
  let standing: BillStanding | null = null;
  for (const [index, array] of arrays.entries()) {
    const answer = messages[array.length];
    const body = { model, messages: array, tools };
    const { bytes, plan, report } = viewOf(body, strategy);
    without.call(body, answer);
    const sent = JSON.parse(new TextDecoder().decode(bytes));
    const calls: RunUsage[] = [];
    for (let round = rounds(index); round > 0; round--) {
      const call = { role: 'assistant', content: null, tool_calls: [{ id: `fetch_${index}_${round}` }] };
      calls.push(usageOf(vendor.call(sent, call)));
      sent.messages.push(call, { role: 'tool', content: `what was fetched in ${round}`.repeat(40) });
    }
    calls.push(usageOf(vendor.call(sent, answer)));
    const { before, after } = report.tokens ?? { before: 0, after: 0 };
    const order: BillOrder = {
      schedule,
      calls,
      isEdited: report.applied_edits.length > 0,
      added: 0,
      tools: 0,
      view: { before, after, repeated: plan.repeated },
      moved: report.frontier.moved,
      summarizer: 0,
    };
    const next = nextBill(standing, order, index * MINUTE_MS);
    standing = next.standing;
    if (!next.bill) throw new Error('a request has no bill');
    bills.push(next.bill);
  }
  return { bills, vendor, without };
}

const never = () => 0;
const STRATEGIES: [string, MemoryStrategyRequest][] = [
  ['auto', { mode: 'auto', token_budget: 24_000 }],
  ['compact', { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5 }],
  ['summarize', { mode: 'summarize', context_limit: 3, keep_last_n_turns: 1 }],
  ['trim', { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 }],
];

describe.each(STRATEGIES)('the bills of a conversation in mode %s', (_, strategy) => {
  it.each([
    ['without retrieval', never],
    ['with rounds of retrieval', (index: number) => index % 3],
  ])('add up to the vendor’s invoice %s', (_name, rounds) => {
    const { bills, vendor } = bill(strategy, rounds);
    const sums = bills.map(sumsOf).reduce(joinSums, NO_SUMS);
    expect(bills.length).toBeGreaterThan(20);
    expect(BigInt(sums.sent.amount) * PICO_PER_NANO).toBe(vendor.total);
    expect(billSumsJson(sums)).toMatchObject({
      requests: bills.length,
      billed: bills.length,
      actual: sums.sent.amount,
      net: sums.would_be.amount - sums.sent.amount,
    });
    expect(Math.round(sums.sent.amount / 1e7)).toBe(vendor.cents);
  });

  it('say what the vendor would have charged without Precis, within a tenth', () => {
    const { bills, without } = bill(strategy, never);
    const estimate = bills.reduce((sum, { would_be }) => sum + (would_be?.amount ?? 0), 0);
    const charged = Number(without.total / PICO_PER_NANO);
    expect(Math.abs(estimate - charged) / charged).toBeLessThan(0.1);
  });

  it('save nothing before the first edit, and something in all', () => {
    const { bills } = bill(strategy, never);
    const first = bills.findIndex(({ gross }) => gross?.tokens !== 0);
    expect(first).toBeGreaterThan(0);
    for (const { net } of bills.slice(0, first)) expect(net).toBe(0);
    const unique = bills.reduce((sum, one) => sum + (one.unique?.tokens ?? 0), 0);
    const gross = bills.map((one) => one.gross?.tokens ?? 0);
    expect(unique).toBe(Math.max(...gross));
    expect(gross.reduce((sum, tokens) => sum + tokens, 0)).toBeGreaterThan(unique);
  });
});

it('a move of the frontier is charged with the cache that it breaks', () => {
  const [, strategy] = STRATEGIES[1] ?? [];
  if (!strategy) throw new Error('no strategy');
  const { bills } = bill(strategy, never);
  const broken = bills.filter(({ debits }) => (debits.broken_cache ?? 0) > 0);
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.length).toBeLessThan(bills.length / 2);
});

it('rounds of retrieval are on the debit side alone', () => {
  const [, strategy] = STRATEGIES[0] ?? [];
  if (!strategy) throw new Error('no strategy');
  const with2 = bill(strategy, (index) => index % 3).bills;
  const without = bill(strategy, never).bills;
  const fetched = with2.reduce((sum, { debits }) => sum + (debits.fetch_rounds ?? 0), 0);
  expect(fetched).toBeGreaterThan(0);
  expect(without.every(({ debits }) => debits.fetch_rounds === 0)).toBe(true);
  expect(with2.map((one) => one.would_be?.output)).toEqual(without.map((one) => one.would_be?.output));
});
