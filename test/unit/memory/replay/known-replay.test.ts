/** A replay that goes on where the one of an earlier array has come to makes the same plan. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { explain } from '../../../../src/memory/plan/explain.ts';
import { factsBytes, knownReplays } from '../../../../src/memory/replay/known-replay.ts';
import { Tails } from '../../../../src/memory/replay/tails.ts';
import { buildEvent } from '../../../../src/memory/run/build-event.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { type FoundArray, KnownArrays } from '../../../../src/protocol/known-arrays.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { itemsOf } from '../../../../tools/upstream/items.ts';
import {
  type AutoRequest,
  strategy as anyStrategy,
  autoOptions,
  autoStrategy,
  brokenRichConversation,
  clearingStrategy,
  conversation,
  lateRichConversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { lines, result, step, user } from '../../../support/conversations/chat.ts';
import { oddMessages } from '../../../support/conversations/odd-messages.ts';
import { roundOf } from '../../../support/laws/kept-rounds.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, type Viewed, type ViewOptions, viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const encoder = new TextEncoder();

/** A model that nobody knows, and one whose thinking is bound to what precedes it. */
const MODELS = ['gpt-4.1', 'anthropic/claude-fable-5.2'];

/** Moves often, by every trigger, and is full of outputs that leave early. */
const eager: fc.Arbitrary<AutoRequest> = fc
  .record({
    mode: fc.constant('auto' as const),
    token_budget: fc.constantFrom(undefined, 700, 1_500, 3_000, 6_000),
    compact_trigger_turns: fc.constantFrom(undefined, undefined, 1, 2, 3),
    compact_trigger_steps: fc.constantFrom(undefined, undefined, 3, 5),
    compact_keep_steps: fc.constantFrom(undefined, 0, 1, 2),
    max_messages: fc.constantFrom(undefined, undefined, undefined, 8, 16),
    context_limit: fc.constantFrom(undefined, undefined, undefined, 3, 5),
    offload_min_tokens: fc.constantFrom(1_000, 1_000, 8_000),
    offload_digest: fc.constantFrom(undefined, 'model' as const),
    offload_fresh_tokens: fc.constantFrom(undefined, 1_200, 4_000),
    min_reclaim_tokens: fc.constantFrom(undefined, 0, 1, 200),
    low_watermark_pct: fc.constantFrom(undefined, 0.3, 0.8),
  })
  .map((given) => JSON.parse(JSON.stringify(given)) as AutoRequest);

const eagerCompact: fc.Arbitrary<MemoryStrategyRequest> = fc
  .record({
    mode: fc.constant('compact' as const),
    token_budget: fc.constantFrom(undefined, 700, 1_500, 3_000),
    compact_trigger_turns: fc.constantFrom(undefined, 1, 2, 3),
    compact_trigger_steps: fc.constantFrom(undefined, undefined, 4, 6),
    compact_keep: fc.constantFrom(undefined, 0, 1, 2),
    frontier: fc.constantFrom('jump' as const, 'jump' as const, 'slide' as const),
    min_reclaim_tokens: fc.constantFrom(undefined, 1, 200),
  })
  .map((given) => JSON.parse(JSON.stringify(given)) as MemoryStrategyRequest);

/** Few, so that most requests have the one of the request before. */
const setup = fc.record({
  strategy: fc.oneof(
    { weight: 4, arbitrary: eager },
    { weight: 3, arbitrary: autoStrategy },
    { weight: 1, arbitrary: clearingStrategy },
    { weight: 3, arbitrary: eagerCompact },
    { weight: 4, arbitrary: anyStrategy },
  ),
  options: fc.boolean().chain(autoOptions),
  marks: fc.boolean(),
  model: fc.constantFrom(...MODELS),
  limit: fc.constantFrom(undefined, undefined, 1_500, 6_000),
  tools: fc.boolean(),
  /** One answer in this many has kept rounds. */
  rounds: fc.constantFrom<number | 'absent' | undefined>(undefined, undefined, 2, 3, 'absent'),
  /** At one request in this many the model can't fetch. */
  closed: fc.constantFrom<number | undefined>(undefined, undefined, 1, 2, 3),
  /** One request in this many is a cold return. */
  cold: fc.constantFrom<number | undefined>(undefined, undefined, 1, 2, 3),
});

type Setup = typeof setup extends fc.Arbitrary<infer Value> ? Value : never;

const FIELDS: readonly Partial<AutoRequest>[] = [
  { compact_preview_tokens: 16 },
  { compact_min_tokens: 60 },
  { compact_exclude_tools: ['search'] },
  { compact_clear_tool_inputs: false },
];
const FIELDS_OF_AUTO: readonly Partial<AutoRequest>[] = [
  { compact_purge: false },
  { summary_max_tokens: 90 },
  { keep_first_user: false },
  { rehydrate: true },
  { offload_min_tokens: 1_100 },
  { clear_reasoning: true, keep_reasoning_turns: 1 },
];

/** Another setup that differs from one in a single thing. */
const twisted = ({ strategy, options, marks, model, limit, tools, ...one }: Setup): fc.Arbitrary<Setup> => {
  const { mode } = strategy;
  const fields = mode === 'auto' ? [...FIELDS, ...FIELDS_OF_AUTO] : mode === 'compact' ? FIELDS : [];
  const same = { strategy, options, marks, model, limit, tools, ...one };
  return fc.constantFrom<Setup>(
    { ...same, options: { ...options, retrieval: options.retrieval !== true } },
    { ...same, marks: !marks },
    { ...same, model: MODELS.find((other) => other !== model) ?? model },
    { ...same, limit: limit === undefined ? 1_500 : undefined },
    { ...same, tools: !tools },
    { ...same, rounds: one.rounds === 2 ? 3 : 2 },
    { ...same, closed: one.closed === 2 ? 3 : 2 },
    { ...same, cold: one.cold === 2 ? undefined : 2 },
    ...fields.map((field) => ({ ...same, strategy: { ...strategy, ...field } as Setup['strategy'] })),
  );
};

/** What a client uses by turns. */
const setups = fc
  .tuple(setup, setup)
  .chain(([one, other]) =>
    fc.tuple(
      fc.constant(one),
      fc.oneof({ weight: 4, arbitrary: twisted(one) }, { weight: 1, arbitrary: fc.constant(other) }),
    ),
  );

const change = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({ kind: fc.constant('grow' as const), by: fc.integer({ min: 1, max: 5 }) }),
  },
  fc.record({ kind: fc.constant('cut' as const), by: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('edit' as const), at: fc.nat(60), content: fc.string({ maxLength: 9 }) }),
  fc.record({ kind: fc.constant('fork' as const), at: fc.nat(60) }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat(60) }),
);

const request = fc.record({
  change,
  setup: fc.constantFrom(0, 0, 0, 1),
  force: fc.constantFrom(false, false, false, false, false, true),
  most: fc.constantFrom(undefined, undefined, undefined, 400, 3_000),
  forgets: fc.constantFrom(false, false, false, false, false, false, false, true),
  /** Whether another tool is deferred, and thinking has no budget: other units are bound. */
  frees: fc.constantFrom(false, false, false, true),
});

/** Several conversations in a row, so that there are many request points. */
const inARow = (...bodies: (typeof richConversation)[]): fc.Arbitrary<Json[]> =>
  fc
    .array(fc.oneof(...bodies), { minLength: 2, maxLength: 3 })
    .map((all) => all.flatMap(({ messages }) => messages as Json[]));

/** Often with late or missing results, whose calls stay or come back. */
const talk = fc.oneof(
  { weight: 1, arbitrary: inARow(conversation, richConversation, richConversation) },
  {
    weight: 1,
    arbitrary: inARow(richConversation, lateRichConversation, lateRichConversation, brokenRichConversation),
  },
);

/** With loaded tools, thinking that begins turns, and the API's tools with late results. */
const blockTalk = fc
  .array(oddMessages, { minLength: 2, maxLength: 3 })
  .map((all) => all.flatMap(({ messages }) => messages as Json[]));

/** The messages of a client, from request to request. */
class Talk {
  private messages: readonly Json[];
  private length = 4;

  constructor(whole: readonly Json[]) {
    this.messages = whole;
  }

  /** @param other where a fork goes on */
  next(
    step: typeof change extends fc.Arbitrary<infer Value> ? Value : never,
    other: readonly Json[],
  ): Json[] {
    const at = 'at' in step ? step.at % this.length : 0;
    if (step.kind === 'grow') this.length = Math.min(this.messages.length, this.length + step.by);
    if (step.kind === 'cut') this.length = Math.max(1, this.length - step.by);
    if (step.kind === 'edit')
      this.messages = this.messages.toSpliced(at, 1, { role: 'user', content: step.content });
    if (step.kind === 'remove' && this.messages.length > 1) this.messages = this.messages.toSpliced(at, 1);
    if (step.kind === 'fork') this.messages = [...this.messages.slice(0, at + 1), ...other];
    return this.messages.slice(0, this.length);
  }
}

const TOOLS = [{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }];

/** Two tools, of which one must be loaded. */
const toolsOfBlocks = (waiting: string): Json[] =>
  ['read_file', 'look_it_up'].map((name) => ({
    name,
    input_schema: { type: 'object' },
    defer_loading: name === waiting,
  }));

type Read = (bytes: Uint8Array, found?: FoundArray) => { ok: true; value: ModelRequest } | { ok: false };

interface Client {
  readonly protocol: 'chat' | 'messages';
  readonly talk: fc.Arbitrary<Json[]>;
  readonly read: Read;
  /** The fields beside the messages. */
  fields(setup: Setup, most: number | undefined, frees: boolean): object;
}

const CLIENTS: readonly Client[] = [
  {
    protocol: 'chat',
    talk,
    read: readChatRequest,
    fields: ({ tools }, most) => ({ max_completion_tokens: most, ...(tools ? { tools: TOOLS } : {}) }),
  },
  {
    protocol: 'messages',
    talk: blockTalk,
    read: readMessagesRequest,
    fields: (_, most = 2_000, frees) => ({
      max_tokens: most,
      tools: toolsOfBlocks(frees ? 'look_it_up' : 'read_file'),
      thinking: frees ? { type: 'adaptive' } : { type: 'enabled', budget_tokens: 1_024 },
    }),
  },
];

function optionsOf(messages: readonly Json[], setup: Setup, force: boolean, hasRounds: boolean): ViewOptions {
  const { options, marks, limit, closed, cold } = setup;
  const rounds = hasRounds ? setup.rounds : undefined;
  const answers = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
  const kept = typeof rounds === 'number' ? answers.filter((_, at) => at % rounds === 1) : [];
  const own = kept.map((message) => roundOf(message, lines(8 + (message % 20), 'fetched')));
  const lengths = (every: number): number[] =>
    messages.map((_, at) => at + 1).filter((at) => at % every === 0);
  const requests = {
    closed: closed === undefined ? [] : lengths(closed),
    cold: cold === undefined ? undefined : lengths(cold),
  };
  const given = { ...options, marks, limit, force, ...requests };
  return { ...given, rounds: rounds === 'absent' ? 'absent' : own };
}

/** All that follows from a plan: view, bytes, report, event, explanation, and what is prepared. */
function made(viewed: Viewed<ModelRequest>): object {
  const { plan, view, report, bytes } = viewed;
  const { ahead, history: _, ...planned } = plan;
  const { edits, left_out } = buildEvent({ report, view, refused: plan.replay.refused }, {} as never);
  return {
    bytes: new TextDecoder().decode(bytes),
    planned,
    view,
    report,
    edits,
    left_out,
    explained: explain(plan, view, counter),
    ahead: ahead?.(),
  };
}

/** The state from which the replay of a longer array goes on. */
function leftBy({ plan: { history } }: Viewed<ModelRequest>): object | undefined {
  const end = history.requestPoints.at(-2)?.messages ?? 0;
  const last = history.messages[end - 1]?.facts;
  const root = history.messages[(history.requestPoints[0]?.messages ?? 0) - 1]?.facts;
  const left = root && knownReplays(root).findLast(({ holder }) => holder === last);
  return left && { terms: left.terms, state: left.state, bonds: left.bonds };
}

const RUNS = runs(3, 80);

describe.each(CLIENTS)('a replay over $protocol that goes on', ({ protocol, talk, read, fields }) => {
  it('makes the plan, the view, the report and the event of one from the beginning', () => {
    const passed = vi.spyOn(Tails.prototype, 'at');
    onTestFinished(() => passed.mockRestore());
    const passes = (viewed: () => Viewed<ModelRequest>): readonly [Viewed<ModelRequest>, number] => {
      passed.mockClear();
      return [viewed(), passed.mock.calls.length];
    };
    let resumed = 0;
    let moved = 0;
    let bound = 0;
    forAll(
      { numRuns: RUNS, endOnFailure: true },
      talk,
      talk,
      setups,
      fc.array(request, { minLength: 12, maxLength: 30 }),
      (whole, other, used, requests) => {
        const arrays = new KnownArrays(1e8, 0);
        const own = arrays.of('a tenant');
        const client = new Talk(whole);
        for (const { change, setup: chosen, force, most, forgets, frees } of requests) {
          const messages = client.next(change, other);
          const setup = used[chosen] as Setup;
          const body = { messages, model: setup.model, ...fields(setup, most, frees) };
          const bytes = encoder.encode(JSON.stringify(body));
          if (forgets) arrays.forget('a tenant');
          const found = own.find(bytes, protocol);
          const known = read(bytes, found);
          const fresh = read(bytes);
          if (!known.ok || !fresh.ok) throw new Error('a valid body was refused');
          const options = optionsOf(messages, setup, force, protocol === 'chat');
          const view = (one: ModelRequest) => () => viewOfRequest(one, setup.strategy, options);
          const [viewed, some] = passes(view(known.value));
          const [alone, all] = passes(view(fresh.value));
          expect(made(viewed)).toEqual(made(alone));
          const left = leftBy(alone);
          if (left) expect(leftBy(viewed)).toEqual(left);
          own.keep(known.value, found);
          if (some === all) continue;
          resumed++;
          if (viewed.report.frontier.unit > 0) moved++;
          if (viewed.plan.history.bonds.length > 0) bound++;
        }
      },
    );
    expect(resumed).toBeGreaterThan(3 * RUNS);
    expect(moved).toBeGreaterThan(RUNS);
    expect(bound).toBeGreaterThan(RUNS / 4);
  });
});

describe('a replay that goes on from an earlier one', () => {
  it.each<MemoryStrategyRequest>([
    { mode: 'auto', token_budget: 4_000 },
    { mode: 'compact', token_budget: 4_000 },
    { mode: 'summarize', token_budget: 4_000 },
    { mode: 'trim', token_budget: 4_000 },
  ])('passes three request points of an array that has grown by a step, in mode $mode', (strategy) => {
    const passed = vi.spyOn(Tails.prototype, 'at');
    onTestFinished(() => passed.mockRestore());
    const messages = [user('Go.'), ...Array.from({ length: 41 }, (_, at) => read(`call_${at}`)).flat()];
    const own = new KnownArrays(1e8, 0).of('a tenant');
    const passedIn = (field: 'messages' | 'input', fields: object, all: readonly unknown[], step: number) =>
      [-step, 0].map((end) => {
        const array = all.slice(0, all.length + end);
        const bytes = encoder.encode(JSON.stringify({ ...fields, [field]: array, model: 'gpt-4.1' }));
        const found = own.find(bytes, field === 'input' ? 'responses' : 'chat');
        const read = field === 'input' ? readResponsesRequest(bytes, found) : readChatRequest(bytes, found);
        if (!read.ok) throw new Error('a valid body was refused');
        passed.mockClear();
        viewOfRequest<ModelRequest>(read.value, strategy);
        own.keep(read.value, found);
        return passed.mock.calls.length;
      });
    expect(passedIn('messages', {}, messages, 2)).toEqual([41, 3]);
    expect(passedIn('input', { instructions: 'Help.' }, itemsOf(messages), 2)).toEqual([41, 3]);
  });

  it.each<MemoryStrategyRequest>([
    { mode: 'auto', token_budget: 1_500, compact_keep_steps: 1, min_reclaim_tokens: 0 },
    { mode: 'summarize', token_budget: 3_000, min_reclaim_tokens: 0 },
    { mode: 'trim', token_budget: 3_000, min_reclaim_tokens: 0 },
  ])('continues with a call that a further result has brought back, in mode $mode', (strategy) => {
    const passed = vi.spyOn(Tails.prototype, 'at');
    onTestFinished(() => passed.mockRestore());
    const steps = Array.from({ length: 24 }, (_, at) => read(`call_${at}`)).flat();
    const messages = [user('Go.'), ...steps.slice(0, 32), result('call_1', 'It runs.'), ...steps.slice(32)];
    const own = new KnownArrays(1e8, 0).of('a tenant');
    let isBack = false;
    for (let length = 34; length <= messages.length; length += 2) {
      const array = messages.slice(0, length);
      const bytes = encoder.encode(JSON.stringify({ messages: array, model: 'gpt-4.1' }));
      const found = own.find(bytes, 'chat');
      const [known, fresh] = [readChatRequest(bytes, found), readChatRequest(bytes)];
      if (!known.ok || !fresh.ok) throw new Error('a valid body was refused');
      passed.mockClear();
      const viewed = viewOfRequest<ModelRequest>(known.value, strategy);
      expect(passed.mock.calls.length).toBe(length === 34 ? 17 : 3);
      expect(made(viewed)).toEqual(made(viewOfRequest<ModelRequest>(fresh.value, strategy)));
      own.keep(known.value, found);
      isBack ||= viewed.report.frontier.unit > 2 && !viewed.view.dropped.has(3);
    }
    expect(isBack).toBe(true);
  });

  it.each<[MemoryStrategyRequest['mode'], number | undefined, number | undefined]>([
    ['auto', undefined, 10_000],
    ['auto', 10_000, undefined],
    ['compact', undefined, 10_000],
  ])(
    'bounds kept rounds by the room for the answer, where that is bound with thinking: %s, %s, %s',
    (mode, ...rooms) => {
      const strategy = { mode, token_budget: 45_000, context_window_tokens: 50_000 } as MemoryStrategyRequest;
      const messages = [
        user('Go.'),
        ...Array.from({ length: 12 }, (_, at) => read(`call_${at}`)).flat(),
      ] as Json[];
      const rounds = messages
        .flatMap(({ role }, at) =>
          role === 'assistant' ? [{ ...roundOf(at, lines(4, 'x')), tokens: 2_150 }] : [],
        )
        .slice(0, 5);
      const own = new KnownArrays(1e8, 0).of('a tenant');
      for (const [at, max_tokens] of rooms.entries()) {
        const array = messages.slice(0, messages.length - 4 * (1 - at));
        const bytes = encoder.encode(
          JSON.stringify({ messages: array, model: 'anthropic/claude-fable-5.2', max_tokens }),
        );
        const found = own.find(bytes, 'chat');
        const [known, fresh] = [readChatRequest(bytes, found), readChatRequest(bytes)];
        if (!known.ok || !fresh.ok) throw new Error('a valid body was refused');
        const viewed = viewOfRequest<ModelRequest>(known.value, strategy, { rounds });
        expect(made(viewed)).toEqual(made(viewOfRequest<ModelRequest>(fresh.value, strategy, { rounds })));
        own.keep(known.value, found);
      }
    },
  );

  it.each([true, false])(
    'leaves few states where terms change with each request, and counts them (kept: %s)',
    (isKept) => {
      const messages = [user('Go.'), ...Array.from({ length: 80 }, (_, at) => read(`call_${at}`)).flat()];
      const arrays = new KnownArrays(1e8, 0);
      const own = arrays.of('a tenant');
      const ask = (steps: number, keeps: boolean) => {
        const array = messages.slice(0, 1 + 2 * steps);
        const bytes = encoder.encode(JSON.stringify({ messages: array, model: 'gpt-4.1' }));
        const found = own.find(bytes, 'chat');
        const request = readChatRequest(bytes, found);
        if (!request.ok) throw new Error('a valid body was refused');
        viewOfRequest<ModelRequest>(request.value, {
          mode: 'auto',
          token_budget: 4_000 + steps,
          min_reclaim_tokens: 0,
        });
        if (keeps) own.keep(request.value, found);
        return request.value;
      };
      ask(80, true);
      const sizes = Array.from({ length: 60 }, (_, at) => ask(isKept ? 20 + at : 79 - at, isKept)).map(
        ({ messages: [first] }) => {
          const states = first ? knownReplays(first.facts) : [];
          const replacements = states
            .flatMap(({ state }) => state.mover.entries ?? [])
            .flatMap(({ removals }) => removals);
          const least = replacements.reduce((sum, { replacement }) => sum + replacement.length, 0);
          expect(first && factsBytes(first.facts)).toBeGreaterThan(least);
          return states.length;
        },
      );
      expect(Math.max(...sizes)).toBe(16);
    },
  );
});

const read = (id: string): Json[] => step(id, 'read_file', lines(30, id)) as Json[];
