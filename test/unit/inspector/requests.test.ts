import { describe, expect, it } from 'vitest';
import { rowsOfEvent, tally } from '../../../inspector/read/fates.ts';
import { hasLine, plotOf, rowWarningsOf, sparkline } from '../../../inspector/read/marks.ts';
import { messageText } from '../../../inspector/read/message-text.ts';
import {
  amountsOf,
  billOf,
  netOf,
  netOfSums,
  potentialBillOf,
  potentialSums,
  whyUnknown,
} from '../../../inspector/read/money.ts';
import { sentSums, sentTokens } from '../../../inspector/read/sent.ts';
import { type RunEvent, runEventSchema } from '../../../src/memory/run/event.ts';
import { assistant, user } from '../../support/conversations/chat.ts';

const REF = `ref_${'a'.repeat(26)}`;

const EVENT: RunEvent = runEventSchema.parse({
  object: 'memory.request',
  n: 1,
  request_id: null,
  bill: null,
  potential_bill: null,
  cache_miss: null,
  reasoning_dropped: null,
  created_at: 0,
  protocol: 'chat',
  kind: 'answer',
  model: 'm',
  stream: false,
  mode: 'auto',
  source: 'request',
  observed: false,
  messages: 8,
  tokens: { before: 100, after: 40, budget: 50, window: 1_000 },
  trigger: 'token_budget',
  frontier: { unit: 2, moved: true },
  refused: [],
  edits: [
    {
      message: 2,
      kind: 'output',
      call: -1,
      reason: 'context_compaction',
      tool: 'f',
      ref: REF,
      tokens: 9,
      freed: 5,
    },
    {
      message: 5,
      kind: 'output',
      call: -1,
      reason: 'context_compaction',
      tool: 'f',
      ref: REF,
      tokens: 9,
      freed: 5,
    },
    { message: 6, kind: 'output', call: -1, reason: 'offloaded', tool: 'f', ref: null, tokens: 9, freed: 5 },
  ],
  left_out: [
    { from: 1, to: 3, fate: 'summarized', ref: REF },
    { from: 7, to: 90, fate: 'trimmed', ref: null },
  ],
  summary: { memory_id: 1, status: 'completed', covers: [1, 3], ref: REF, usage: { input: 0, output: 0 } },
  injection_tokens: null,
  dropped_thinking_blocks: 0,
  kept_rounds: [],
  retrieval_rounds: 0,
  warnings: [],
  ms: { plan: 1, store: null, summary: null, upstream: 2, first_byte: 2, total: 4 },
  usage: { input: 40, cached: 10, cache_writes: null, output: 5 },
  view_cached: 6,
  placeholders: null,
  status: 200,
  ended: 'complete',
  error: null,
});

describe('the tags of a row', () => {
  const warned = (...warnings: RunEvent['warnings']) => ({ ...EVENT, warnings });

  it('are a notice where it begins, and a warning wherever it is', () => {
    expect(rowWarningsOf(warned('dearer', 'store_failed'), undefined)).toEqual(['dearer', 'store_failed']);
    const both = warned('dearer', 'store_failed');
    expect(rowWarningsOf(both, both)).toEqual(['store_failed']);
    expect(rowWarningsOf(warned('dearer'), warned('store_failed'))).toEqual(['dearer']);
  });

  it('are not that a request waits', () => {
    const waits = { ...warned('waiting'), frontier: { unit: 2, moved: false }, tokens: null };
    expect(rowWarningsOf(waits, undefined)).toEqual([]);
  });
});

describe('a run event', () => {
  it('says what became of each message', () => {
    const rows = rowsOfEvent(EVENT);

    expect(rows.map(({ fate }) => fate)).toEqual([
      'kept',
      'summarized',
      'summarized',
      'summarized',
      'kept',
      'placeholder',
      'offloaded',
      'trimmed',
    ]);
    // What a summary covers no longer has a placeholder.
    expect(rows.map(({ edits }) => edits.length)).toEqual([0, 0, 0, 0, 0, 1, 1, 0]);
    expect(rows[6]?.edits[0]?.ref).toBeUndefined();
    expect(rows.map(({ ref }) => ref)).toEqual([
      undefined,
      REF,
      REF,
      REF,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(tally(rows).get('summarized')).toBe(3);
  });

  it('is a point of the plot, with marks for what is new', () => {
    const next = { ...EVENT, n: 2, frontier: { unit: 2, moved: false }, warnings: ['over_budget'] };
    const plot = plotOf([EVENT, next, { ...next, n: 3, tokens: null, view_cached: null, warnings: [] }]);

    expect(plot).toEqual({
      n: [1, 2, 3],
      before: [100, 100, null],
      after: [40, 40, null],
      budget: [50, 50, null],
      net: [null, null, null],
      netSum: [null, null, null],
      potential: [null, null, null],
      cached: [6, 6, null],
      marks: [
        { at: 0, kind: 'move' },
        { at: 0, kind: 'summary' },
        { at: 1, kind: 'waits' },
      ],
    });
  });

  it('adds to the sum of the savings as far as they are known', () => {
    const priced = (net: number | null) =>
      ({ ...EVENT, bill: { unit: 'nanodollars', net } }) as unknown as RunEvent;
    const { net, netSum } = plotOf([EVENT, priced(2_000_000_000), priced(null), priced(-500_000_000)]);

    expect(hasLine(plotOf([EVENT, { ...EVENT, tokens: null }]))).toBe(false);
    expect(hasLine(plotOf([EVENT, EVENT]))).toBe(true);
    expect(net).toEqual([null, 2, null, -0.5]);
    expect(netSum).toEqual([null, 2, 2, 1.5]);
  });

  it('has no mark of a warning for what reports no fault', () => {
    const marksOf = (warnings: string[]) =>
      plotOf([{ ...EVENT, frontier: { unit: 2, moved: false }, warnings }]).marks;
    expect(marksOf(['idle'])).toEqual(marksOf([]));
    for (const code of ['waiting', 'over_budget', 'soft_budget_idle'])
      expect(marksOf([code, 'idle'])).toEqual([...marksOf([]), { at: 0, kind: 'waits' }]);
    expect(marksOf(['waiting', 'store_failed'])).toContainEqual({ at: 0, kind: 'warning' });
  });

  it('that was only observed sent what came, and shows its edits as potential', () => {
    const observed = { ...EVENT, observed: true };
    const rows = rowsOfEvent(observed);

    expect(sentTokens(EVENT)).toEqual({ came: 100, sent: 40, potential: null });
    expect(sentTokens(observed)).toEqual({ came: 100, sent: 100, potential: 40 });
    expect(sentTokens({ ...observed, tokens: null })).toEqual({ came: null, sent: null, potential: null });
    expect(sentSums([])).toBeUndefined();
    expect(sentSums([{ ...EVENT, tokens: null }])).toBeUndefined();
    expect(sentSums([EVENT, observed])).toEqual({
      came: 200,
      sent: 140,
      observed: { requests: 1, came: 100, potential: 40 },
    });
    expect(plotOf([observed])).toEqual({
      n: [1],
      before: [100],
      after: [100],
      budget: [50],
      net: [null],
      netSum: [null],
      potential: [40],
      cached: [6],
      marks: [],
    });
    expect(rows.map(({ fate }) => fate)).toEqual(rowsOfEvent(EVENT).map(({ fate }) => fate));
    expect(rows.flatMap(({ ref, edits }) => [ref, ...edits.map((edit) => edit.ref)])).toEqual(
      Array(10).fill(undefined),
    );
  });

  it('that was only observed has a potential bill', () => {
    const potential = {
      unit: 'nanodollars',
      sent: { amount: 9_000 },
      would_be: { amount: 4_000 },
      net: 5_000,
    };
    const events = [{ potential_bill: potential }, { potential_bill: { ...potential, net: null } }, {}];

    expect(potentialBillOf({ potential_bill: potential })).toEqual({
      sent: 0.000009,
      wouldBe: 0.000004,
      net: 0.000005,
    });
    expect(potentialBillOf({ potential_bill: null })).toBeUndefined();
    expect(potentialBillOf({ potential_bill: { ...potential, unit: 'euros' } })).toBeUndefined();
    expect(potentialSums(events)).toEqual({ sent: 0.000018, wouldBe: 0.000008, known: 2 });
    expect(potentialSums([{}])).toBeUndefined();
  });

  it('has no net savings unless they are known, and never 0 for it', () => {
    expect(netOf({ bill: { unit: 'nanodollars', net: -2_500_000 } })).toBe(-0.0025);
    for (const bill of [null, {}, { unit: 'euros', net: 1 }, { unit: 'nanodollars', net: null }])
      expect(netOf({ bill })).toBeUndefined();
  });

  it('is a part of sums, which say of how many requests they are', () => {
    const bill = { unit: 'nanodollars', requests: 12, billed: 9, net: 7_000_000_000 };

    expect(netOfSums({ bill })).toEqual({ net: 7, known: 9 });
    expect(netOfSums({ bill: { ...bill, net: null } })).toEqual({ net: undefined, known: 9 });
    expect(netOfSums({ bill: null })).toEqual({ net: undefined, known: 0 });
  });

  it('are not known for the reason that holds', () => {
    const priced = { status: 200, bill: { unit: 'nanodollars' } };
    const usage = { input: 9, cached: 0 };
    expect(whyUnknown([{ ...priced, usage: null }], undefined)).toMatch(/^the upstream reported no usage\./);
    expect(whyUnknown([{ ...priced, usage }], undefined)).toContain('what it wrote to its cache');
    expect(whyUnknown([{ ...priced, usage: { ...usage, cached: null } }], undefined)).toContain(
      'what it read from its cache',
    );
    expect(whyUnknown([{ status: 200, bill: null, usage }], undefined)).toContain('has no price');
    expect(whyUnknown([{ status: 429, bill: null, usage: null }], undefined)).toBe(
      'no request has an answer from the model.',
    );
    const sums = amountsOf({ bill: { unit: 'nanodollars', sent: { amount: 1 }, actual: null } });
    expect(whyUnknown([{ ...priced, usage }], sums)).toBe('a summary has no known cost.');
  });

  it('has a bill in dollars, with members that are not known', () => {
    const bill = {
      unit: 'nanodollars',
      would_be: { amount: 27_168_000 },
      actual: 17_120_000,
      net: 10_048_000,
      debits: { summarizer: null, fetch_rounds: 0, broken_cache: 1_000 },
      gross: { tokens: 20_000 },
      unique: null,
    };

    expect(billOf({ bill })).toEqual({
      actual: 0.01712,
      wouldBe: 0.027168,
      net: 0.010048,
      summarizer: undefined,
      fetchRounds: 0,
      brokenCache: 0.000001,
      gross: 20_000,
      unique: undefined,
      isAbout: false,
    });
  });
});

describe('a sparkline', () => {
  it('fills its box', () => {
    expect(sparkline([0, 5, 10], 10)).toBe('0.0,19.0 50.0,10.0 100.0,1.0');
    expect(sparkline([0, 0], 0)).toBe('0.0,19.0 100.0,19.0');
    expect(sparkline([4], 4)).toBe('');
  });
});

describe('a message', () => {
  it.each([
    [user('Text.'), 'Text.'],
    [
      user([
        { type: 'text', text: 'A' },
        { type: 'image_url', image_url: { url: 'data:,' } },
      ]),
      'A\n{"type":"image_url","image_url":{"url":"data:,"}}',
    ],
    [assistant(null), ''],
    [assistant([{ type: 'refusal', refusal: 'No.' }]), 'No.'],
    [7, '7'],
    [null, 'null'],
  ])('is text: %j', (message, text) => {
    expect(messageText(message).text).toBe(text);
  });

  it('of several items is one', () => {
    const items = [
      assistant([{ type: 'output_text', text: 'Both.' }]),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ];

    expect(messageText(items)).toMatchObject({ role: 'assistant', text: expect.stringMatching(/^Both\.\n/) });
    expect(messageText([])).toEqual({ role: '?', text: '', calls: [], images: [] });
  });

  it('cuts the data of an image', () => {
    const url = `data:image/png;base64,${'A'.repeat(100_000)}`;
    const { text } = messageText(user([{ type: 'image_url', image_url: { url } }]));

    expect(text.length).toBeLessThan(500);
    expect(text).toBe('(an image of 74 kB)');
  });

  it('has calls of every form', () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'custom', custom: { name: 'g', input: 'free' } },
      null,
    ];

    expect(messageText({ role: 'assistant', tool_calls: calls }).calls).toEqual([
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: 'free' },
      { id: '?', name: '?', arguments: '' },
    ]);
  });
});
