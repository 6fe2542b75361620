/** Bills under a strict cache, which hits at marks alone: the caller's, Precis's, or none. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { marksOf } from '../../../../src/answer/retries/own-fields.ts';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { type BillStanding, nextBill } from '../../../../src/memory/money/bill.ts';
import type { Bill } from '../../../../src/memory/money/bill-schema.ts';
import { sumsOf } from '../../../../src/memory/money/bill-sums.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { markedShare } from '../../../../src/request/prompt-cache.ts';
import { termsFor } from '../../../../src/view/made-before.ts';
import { Vendor } from '../../../../tools/upstream/invoice.ts';
import { assistant, calls, result, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { strategyOf, viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;
/** Where a caller marks: nothing, its instructions, or those and the end of each request. */
type Callers = 'none' | 'before' | 'end';

const TABLES = { modelPrices: [], modelWindows: [], promptCache: true, ownModels: false };
const AT = utcTimeOf(new Date('2026-11-28'));
const ANSWER = { type: 'text', text: 'The agent goes on.' };
const PICO_PER_NANO = 1_000n;
const MINUTE_MS = 60_000;

/** A text of a number of characters that no other step has, and that all tokenizers count alike. */
const words = (step: number, characters: number): string =>
  Array.from(
    { length: Math.ceil(characters / 50) },
    (_, at) => `In step ${step}, line ${at} says what it had to say.`,
  )
    .join('\n')
    .slice(0, characters);

/** A protocol as an agent writes it. */
interface Format {
  readonly model: string;
  readonly fields?: Json;
  /** A text with or without a mark. */
  part(text: string, isMarked: boolean): unknown;
  read(
    bytes: Uint8Array,
  ): ReturnType<typeof readChatRequest | typeof readMessagesRequest | typeof readResponsesRequest>;
  body(system: unknown, steps: readonly Json[][]): Json;
  first(content: unknown): Json;
  step(at: number, content: unknown): Json[];
}

const ephemeral = { cache_control: { type: 'ephemeral' } };
const inChat = {
  part: (text: string, isMarked: boolean) => (isMarked ? [{ type: 'text', text, ...ephemeral }] : text),
  first: (content: unknown): Json => user(content),
};
const items = {
  read: (bytes: Uint8Array) => readResponsesRequest(bytes),
  body: (content: unknown, steps: readonly Json[][]): Json => ({
    input: [{ type: 'message', role: 'developer', content }, ...steps.flat()],
  }),
  first: (content: unknown): Json => ({ type: 'message', role: 'user', content }),
  step: (at: number, output: unknown): Json[] => [
    { type: 'function_call', call_id: `call_${at}`, name: 'read', arguments: `{"at":${at}}` },
    { type: 'function_call_output', call_id: `call_${at}`, output },
  ],
};
const itemPart = (mark: Json) => (text: string, isMarked: boolean) =>
  isMarked ? [{ type: 'input_text', text, ...mark }] : text;

const FORMATS: Readonly<Record<string, Format>> = {
  messages: {
    ...inChat,
    model: 'claude-sonnet-5-5',
    read: (bytes) => readMessagesRequest(bytes),
    body: (system, steps) => ({ max_tokens: 1_000, system, messages: steps.flat() }),
    step: (at, content) => [
      assistant([{ type: 'tool_use', id: `toolu_${at}`, name: 'read', input: { at } }]),
      user([{ type: 'tool_result', tool_use_id: `toolu_${at}`, content }]),
    ],
  },
  chat: {
    ...inChat,
    model: 'claude-sonnet-5-5',
    read: (bytes) => readChatRequest(bytes),
    body: (content, steps) => ({ messages: [{ role: 'system', content }, ...steps.flat()] }),
    step: (at, content) => [calls([`call_${at}`, 'read', `{"at":${at}}`]), result(`call_${at}`, content)],
  },
  responses: { ...items, model: 'claude-sonnet-5-5', part: itemPart(ephemeral) },
  'responses, where the caller places all of OpenAI’s marks': {
    ...items,
    model: 'gpt-5.6-terra',
    fields: { prompt_cache_options: { mode: 'explicit' } },
    part: itemPart({ prompt_cache_breakpoint: { mode: 'explicit' } }),
  },
};

/** The bodies of an agent's requests. @param sizes of its outputs, in characters */
function bodiesOf(format: Format, callers: Callers, sizes: readonly number[]): Json[] {
  const { model, fields, part, body, first, step } = format;
  const system = part(words(-1, 5_400), callers !== 'none');
  const steps = (until: number): Json[][] => [
    [first(part('Go on until it works.', callers === 'end' && until === 0))],
    ...sizes
      .slice(0, until)
      .map((size, at) => step(at, part(words(at, size), callers === 'end' && at === until - 1))),
  ];
  return sizes.map((_, until) => ({ model, ...fields, ...body(system, steps(until)) }));
}

interface Run {
  readonly bills: readonly Bill[];
  readonly edited: readonly boolean[];
  /** Of what was sent. */
  readonly vendor: Vendor;
  /** Of the caller's arrays. */
  readonly without: Vendor;
}

function requestOf(format: Format, body: Json): ModelRequest {
  const read = format.read(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

/** @param isSilent whether the upstream does not tell what it writes */
function run(format: Format, bodies: readonly Json[], input: MemoryStrategyRequest, isSilent = false): Run {
  const [vendor, without] = [new Vendor(), new Vendor()];
  const bills: Bill[] = [];
  const edited: boolean[] = [];
  const strategy = strategyOf(input);
  const schedule =
    scheduleOf(format.model, AT) ?? scheduleOf(format.model, utcTimeOf(new Date('2026-11-01')));
  if (!schedule) throw new Error('no price');
  let standing: BillStanding | null = null;
  for (const [at, body] of bodies.entries()) {
    const request = requestOf(format, body);
    const terms = termsFor(request, strategy, TABLES);
    const additions = marksOf(request, strategy, TABLES);
    const { bytes, plan, report } = viewOfRequest(request, input, {
      prices: terms.prices,
      marks: terms.marks,
      additions,
    });
    const usage = vendor.call(JSON.parse(new TextDecoder().decode(bytes)), ANSWER);
    without.call(body, ANSWER);
    const { cached_tokens, cache_write_tokens = 0 } = usage.prompt_tokens_details;
    const call = {
      input: usage.prompt_tokens,
      cached: cached_tokens,
      cache_writes: isSilent ? null : cache_write_tokens,
      output: usage.completion_tokens,
    };
    const marked = markedShare(request, schedule.hits);
    const { before, after } = report.tokens ?? { before: 0, after: 0 };
    const isEdited = report.applied_edits.length > 0;
    const order = {
      schedule,
      calls: [call],
      isEdited,
      added: 0,
      tools: 0,
      view: { before, after, repeated: plan.repeated },
      moved: report.frontier.moved,
      summarizer: 0,
      ...(marked === undefined ? {} : { marked }),
      ...(isSilent ? { writes: terms.marks ? 1 : (marked ?? 1) } : {}),
    };
    const next = nextBill(standing, order, at * MINUTE_MS);
    standing = next.standing;
    if (!next.bill) throw new Error('a request has no bill');
    bills.push(next.bill);
    edited.push(isEdited);
  }
  return { bills, edited, vendor, without };
}

const nanos = (vendor: Vendor): number => Number(vendor.total / PICO_PER_NANO);
const sum = (amounts: readonly (number | undefined)[]): number =>
  amounts.reduce<number>((total, amount = Number.NaN) => total + amount, 0);

const sizes = fc.array(fc.integer({ min: 40, max: 6_000 }), { minLength: 2, maxLength: 12 });
const strategies = fc.record({
  mode: fc.constantFrom('auto', 'compact'),
  token_budget: fc.integer({ min: 2_000, max: 12_000 }),
  cache_marks: fc.constantFrom('auto', 'callers'),
}) as fc.Arbitrary<MemoryStrategyRequest>;

describe.each(Object.entries(FORMATS))('the bills of an agent over %s', (_, format) => {
  it.each(['none', 'before', 'end'] as const)('are the invoices of both, where it marks %s', (callers) => {
    forAll({ numRuns: runs(2, 25), endOnFailure: true }, sizes, strategies, (lengths, strategy) => {
      const bodies = bodiesOf(format, callers, lengths);
      const { bills, edited, vendor, without } = run(format, bodies, strategy);
      expect(sum(bills.map(({ sent }) => sent?.amount))).toBe(nanos(vendor));
      const first = edited.indexOf(true);
      const unedited = first < 0 ? bills.length : first;
      for (const [at, { would_be }] of bills.slice(0, unedited).entries()) {
        const charged = Number((without.invoice[at]?.amount ?? 0n) / PICO_PER_NANO);
        // The part before the messages is known by its bytes.
        if (callers === 'before')
          expect(Math.abs((would_be?.amount ?? 0) - charged) / charged).toBeLessThan(0.1);
        else expect(would_be?.amount).toBe(charged);
      }
      const estimate = sum(bills.map(({ would_be }) => would_be?.amount));
      expect(Math.abs(estimate - nanos(without)) / nanos(without)).toBeLessThan(0.1);
    });
  });
});

describe.each(['messages', 'chat'])('an agent over %s that sets no marks', (name) => {
  const format = FORMATS[name] as Format;
  const strategy = { mode: 'auto', token_budget: 12_000 } as const;

  it('pays a small part of the price without marks, and never more than with one that moves', () => {
    for (const [steps, most] of [
      [5, 0.6],
      [30, 0.15],
      [60, 0.12],
    ] as const) {
      const lengths = Array.from({ length: steps }, () => 4_700);
      const { vendor, without } = run(format, bodiesOf(format, 'none', lengths), strategy);
      const moving = run(format, bodiesOf(format, 'end', lengths), {
        mode: 'auto',
        token_budget: 10_000_000,
        cache_marks: 'callers',
      }).vendor;
      expect(nanos(vendor) / nanos(without)).toBeLessThan(most);
      expect(nanos(vendor) / nanos(moving)).toBeLessThan(1.03);
    }
  });

  it('has nothing to wait for, where nobody marks', () => {
    const lengths = Array.from({ length: 20 }, () => 4_700);
    const bodies = bodiesOf(format, 'none', lengths);
    const unmarked = { ...strategy, cache_marks: 'callers' } as const;
    for (const body of bodies) {
      const request = requestOf(format, body);
      const { prices } = termsFor(request, strategyOf(unmarked), TABLES);
      expect(prices).toMatchObject({ cached: 1, written: 1 });
      const { report } = viewOfRequest(request, unmarked, { prices });
      expect(report.tokens?.after).toBeLessThanOrEqual(12_000);
    }
    const { vendor, without } = run(format, bodies, unmarked);
    expect(nanos(vendor)).toBeLessThan(nanos(without));
  });
});

describe('an upstream that does not tell what it has written to its cache', () => {
  const SILENT = { ...FORMATS, 'gpt-5.6': { ...items, model: 'gpt-5.6-terra', part: itemPart({}) } };

  it.each(Object.entries(SILENT))('is billed about right over %s', (_, format) => {
    for (const callers of ['none', 'end'] as const) {
      const lengths = Array.from({ length: 12 }, () => 4_000);
      const { bills, vendor } = run(
        format,
        bodiesOf(format, callers, lengths),
        { mode: 'auto', token_budget: 8_000 },
        true,
      );
      const estimate = sum(bills.map(({ sent }) => sent?.amount));
      expect(Math.abs(estimate - nanos(vendor)) / nanos(vendor)).toBeLessThan(0.05);
      expect(bills.every(({ about }) => about === true)).toBe(true);
      expect(sumsOf(bills[0] ?? null).about).toBe(1);
    }
  });
});
