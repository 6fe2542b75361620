import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { USUAL_PRICES } from '../../../../src/memory/models/schedules.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { type Dialect, refusedBlock } from '../../../../tools/upstream/bound-thinking.ts';
import {
  autoOptions,
  autoStrategy,
  type ConversationBody,
  conversation,
  lateRichConversation,
  richConversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { lines } from '../../../support/conversations/chat.ts';
import { blocksOf, growWithThinking, type ThoughtRequest } from '../../../support/conversations/thinking.ts';
import { brokenLawsIn } from '../../../support/laws/broken-laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  type Viewed,
  type ViewOptions,
  viewOf,
  viewOfRequest,
  viewsOf,
} from '../../../support/laws/view-of.ts';

const RUNS = { numRuns: runs(12, 120), endOnFailure: true };
const MODEL = 'anthropic/claude-fable-5.2';
/** Of models that drop what the other one refuses. */
const DROPPING = 'gpt-6.2-sol';

interface Case {
  readonly body: ConversationBody;
  readonly input: MemoryStrategyRequest;
  readonly options: ViewOptions;
  readonly dialect: Dialect;
  /** Which answers have thinking, over and over. */
  readonly thinks: readonly boolean[];
}

function casesOf(
  bodies: fc.Arbitrary<ConversationBody>,
  inputs: fc.Arbitrary<MemoryStrategyRequest>,
  options: fc.Arbitrary<ViewOptions>,
): fc.Arbitrary<Case> {
  return fc.record({
    body: fc
      .tuple(
        bodies,
        fc.option(fc.constantFrom(100, 3_000), { nil: undefined }),
        fc.constantFrom(MODEL, DROPPING),
      )
      .map(([body, max_tokens, model]) => ({ ...body, model, ...(max_tokens ? { max_tokens } : {}) })),
    input: inputs,
    options,
    dialect: fc.constantFrom<Dialect>('openrouter', 'litellm', 'responses', 'messages'),
    thinks: fc.oneof(fc.constant([true]), fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })),
  });
}

/** Also where each request, or one in three, comes when the cache is cold. */
const withReturns = (options: fc.Arbitrary<ViewOptions>): fc.Arbitrary<ViewOptions> =>
  fc.tuple(options, fc.constantFrom(undefined, 1, 3)).map(([given, every]) => ({
    ...given,
    ...(every ? { cold: Array.from({ length: 200 }, (_, at) => (at + 1) * every) } : {}),
  }));

const anyConversation = fc.oneof(conversation, richConversation, lateRichConversation);

const CASES: [modes: string, cases: fc.Arbitrary<Case>][] = [
  ['every mode but auto', casesOf(anyConversation, strategy, fc.constant({}))],
  ['auto', casesOf(anyConversation, autoStrategy, withReturns(autoOptions(false)))],
  ['auto with retrieval', casesOf(anyConversation, autoStrategy, withReturns(autoOptions(true)))],
];

type AnyViewed = Viewed<ModelRequest>;
type Requests = readonly ThoughtRequest<AnyViewed>[];

/** The view of a body of any protocol. */
function viewOfBody(
  body: object,
  dialect: Dialect,
  input: MemoryStrategyRequest,
  options: ViewOptions,
): AnyViewed {
  const reader =
    dialect === 'messages'
      ? readMessagesRequest
      : dialect === 'responses'
        ? readResponsesRequest
        : readChatRequest;
  const read = reader(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return viewOfRequest(read.value, input, options);
}

/**
 * Whether the array has an answer to an earlier request. An empty answer has no item in the
 * Responses API; the array that goes on without it is another conversation.
 */
function isAnsweredIn({ plan }: AnyViewed, earlier: AnyViewed): boolean {
  const { length } = earlier.plan.history.messages;
  return plan.history.requestPoints.some(({ messages }) => messages === length);
}

/** The requests that a law is broken in. */
const LAWS: Readonly<Record<string, (requests: Requests) => readonly unknown[]>> = {
  'has no block that is bound to something else': (requests) =>
    requests.flatMap(({ sent }, index) => (refusedBlock(sent) ? [index] : [])),

  'keeps all blocks while the frontier stays': (requests) =>
    requests.flatMap(({ came, sent, viewed }, index) => {
      const before = requests[index - 1];
      if (!before || viewed.report.frontier.moved || !isAnsweredIn(viewed, before.viewed)) return [];
      const kept = blocksOf(sent) - blocksOf(before.sent);
      return kept === blocksOf(came) - blocksOf(before.came) ? [] : [index];
    }),

  'says how many blocks have left': (requests) =>
    requests.flatMap(({ came, sent, viewed }, index) => {
      const left = blocksOf(came) - blocksOf(sent);
      return left === (viewed.plan.thinking?.blocks ?? 0) ? [] : [index];
    }),

  'counts no thinking that has left': (requests) =>
    requests.flatMap(({ viewed }, index) => {
      const { before = 0, after = 0 } = viewed.report.tokens ?? {};
      return after <= before ? [] : [index];
    }),
};

describe.each(CASES)('bound thinking, %s', (_, cases) => {
  let found: ReadonlyMap<string, unknown>;
  let moves = 0;
  let kept = 0;

  beforeAll(() => {
    found = brokenLawsIn(cases, RUNS, ({ body, input, options, dialect, thinks }) => {
      const requests = growWithThinking(
        body,
        dialect,
        (answer) => thinks[answer % thinks.length] === true,
        (grown) => {
          const viewed = viewOfBody(grown, dialect, input, options);
          return { viewed, sent: JSON.parse(new TextDecoder().decode(viewed.bytes)) };
        },
      );
      moves += requests.filter(({ viewed }) => viewed.report.frontier.moved).length;
      kept += requests.filter(({ sent, viewed }) => viewed.plan.thinking && blocksOf(sent) > 0).length;
      return Object.fromEntries(Object.entries(LAWS).map(([law, ask]) => [law, ask(requests)]));
    });
  });

  it.each(Object.keys(LAWS))('%s', (law) => {
    expect(found.get(law)).toBeUndefined();
  });

  it('is tried where the frontier moves, and where thinking stays after a move', () => {
    expect(moves).toBeGreaterThan(RUNS.numRuns / 6);
    expect(kept).toBeGreaterThan(RUNS.numRuns / 24);
  });
});

describe('a move that would take thinking along', () => {
  /** A number of steps of about 700 tokens, each with a block of thinking. */
  const stepsOf = (count: number, from = 0): ConversationBody['messages'] =>
    Array.from({ length: count }, (_, at) => [
      {
        role: 'assistant',
        content: null,
        thinking_blocks: [{ type: 'thinking', thinking: `I look at ${from + at}.`, signature: 'signed' }],
        tool_calls: [{ id: `c${from + at}`, type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `c${from + at}`, content: lines(55, `row ${from + at}`) },
    ]).flat();
  const asks = (content: string) => ({ role: 'user', content });
  const bare = (messages: ConversationBody['messages']): ConversationBody['messages'] =>
    messages.map(({ thinking_blocks: _, ...message }) => message);
  const view = (messages: ConversationBody['messages'], input: object = {}, model = MODEL) =>
    viewOf({ model, messages }, {
      mode: 'auto',
      token_budget: 6_000,
      min_reclaim_tokens: 1,
      ...input,
    } as MemoryStrategyRequest);
  const OVER = [asks('Go.'), ...stepsOf(11)];

  it('waits in the middle of a turn, and says so', () => {
    const { report } = view(OVER);
    expect(report.tokens?.after).toBeGreaterThan(6_000);
    expect(report.applied_edits).toEqual([]);
    expect(report.warnings).toEqual(['waiting']);
  });

  it.each<[why: string, messages: ConversationBody['messages'], input?: object, model?: string]>([
    ['at the end of the turn', [...OVER, { role: 'assistant', content: 'Well.' }, asks('And?')]],
    ['once the view is over its hard budget by a quarter', [asks('Go.'), ...stepsOf(15)]],
    ['once the view would not fit the window', OVER, { context_window_tokens: 6_400 }],
    ['where the caller enforces the budget', OVER, { min_reclaim_tokens: 0 }],
    ['where there is no thinking', bare(OVER)],
    ['where thinking is bound to nothing', OVER, {}, 'claude-sonnet-4-5'],
  ])('is made %s', (_, messages, input, model) => {
    const { report } = view(messages, input, model);
    expect(report.frontier.moved || report.applied_edits.length > 0).toBe(true);
    expect(report.tokens?.after).toBeLessThan(6_000);
  });

  it.each([
    ['four times the budget in the middle of a turn', 4, stepsOf(40)],
    ['three times, if the turn has no thinking that it loses', 3, bare(stepsOf(31))],
  ])('waits until %s, where prices would have it wait longer', (_, times, steps) => {
    const budget = 6_000;
    const prices = { ...USUAL_PRICES, cached: 0.01, written: 2 };
    const input = { mode: 'auto', token_budget: budget } as const;
    const requests = viewsOf({ model: MODEL, messages: [asks('Go.'), ...steps] }, input, {
      prices,
      retrieval: true,
    });
    const first = requests.findIndex(({ report }) => report.frontier.moved);
    const [waited = 0, moved = 0] = requests.slice(first - 1).map(({ plan }) => plan.replay.before);
    expect(waited).toBeLessThanOrEqual(times * budget);
    expect(moved).toBeGreaterThan(times * budget);
  });

  it('is made where the caller asks for it', () => {
    const { report } = viewOf(
      { model: MODEL, messages: OVER },
      { mode: 'auto', token_budget: 6_000 },
      { force: true },
    );
    expect(report).toMatchObject({ trigger: 'token_budget', dropped_thinking_blocks: 11 });
  });

  it('takes all thinking until then, says how much, and keeps what comes later', () => {
    const moved = [...OVER, { role: 'assistant', content: 'Well.' }, asks('And?')];
    const { report, view: shown, plan } = view(moved);
    expect(report.dropped_thinking_blocks).toBe(11);
    expect(report.warnings).toContain('thinking_dropped');
    expect(report.applied_edits).toContainEqual(
      expect.objectContaining({ type: 'clear_reasoning', messages: 11 }),
    );
    expect(shown.thinkingFrom).toBe(moved.length);
    expect(plan.replay.moves).toHaveLength(1);
    const later = view([...moved, ...stepsOf(2, 20)]);
    expect(later.report.frontier.moved).toBe(false);
    expect(later.report.dropped_thinking_blocks).toBe(11);
    expect(blocksOf(JSON.parse(new TextDecoder().decode(later.bytes)))).toBe(2);
  });

  it('is one of thinking alone where nothing else is too much', () => {
    const heavy = stepsOf(6).map((message) =>
      message.role === 'assistant'
        ? { ...message, thinking_blocks: [{ type: 'thinking', thinking: lines(115, 'hm'), signature: 's' }] }
        : { ...message, content: 'ok' },
    );
    const { report } = view([asks('Go.'), ...heavy, { role: 'assistant', content: 'Well.' }, asks('And?')]);
    expect(report).toMatchObject({ trigger: 'token_budget', frontier: { moved: true } });
    expect(report.applied_edits.map(({ type }) => type)).toEqual(['clear_reasoning']);
    expect(report.tokens?.after).toBeLessThan(1_000);
  });

  it('takes a message along that has nothing but thinking', () => {
    const only = {
      role: 'assistant',
      content: '',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }],
    };
    const messages = [asks('Go.'), only, asks('Go on.'), ...stepsOf(11), asks('And?')];
    const viewed = view(messages);
    expect(viewed.report.frontier.moved).toBe(true);
    const sent = JSON.parse(new TextDecoder().decode(viewed.bytes));
    expect(JSON.stringify(sent)).not.toContain('Hm.');
    expect(sent.messages.slice(0, 2)).toEqual([asks('Go.'), asks('Go on.')]);
  });
});

describe('reasoning that is dropped without an error', () => {
  const BUDGET = 12_000;
  const WORKS = { numRuns: runs(3, 20), endOnFailure: true };
  /** Over this, a move does not wait for the end of a turn. */
  const LATE = 1.25 * BUDGET;

  interface Work {
    readonly turns: readonly number[];
    /** Lines of a tool's output, and of what is thought. */
    readonly output: number;
    readonly thought: number;
  }

  const work = (steps: fc.Arbitrary<number>): fc.Arbitrary<Work> =>
    fc.record({
      turns: fc.array(steps, { minLength: 3, maxLength: 8 }),
      output: fc.integer({ min: 40, max: 110 }),
      thought: fc.integer({ min: 1, max: 30 }),
    });

  /** The requests of an agent: the items of each, and where its turn begins. */
  const requestsOf = ({ turns, output, thought }: Work): { input: object[]; turn: number }[] => {
    const items: object[] = [];
    return turns.flatMap((steps, turn) => {
      items.push(
        { type: 'configuration_update', reasoning: { effort: turn % 2 === 0 ? 'high' : 'low' } },
        { role: 'user', content: `Do number ${turn}.` },
      );
      const begins = items.length;
      const requests = Array.from({ length: steps }, (_, step) => {
        const input = [...items];
        const call_id = `c${turn}_${step}`;
        items.push(
          { type: 'reasoning', summary: [], encrypted_content: btoa(lines(thought, `thought ${step}`)) },
          { type: 'function_call', call_id, name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id, output: lines(output, `row of ${call_id}`) },
        );
        return { input, turn: begins };
      });
      const last = { input: [...items], turn: begins };
      items.push({ role: 'assistant', content: 'Done.' });
      return [...requests, last];
    });
  };

  interface Asked {
    readonly report: Viewed['report'];
    /** Tokens that the view would have without a move. */
    readonly unmoved: number;
    readonly isAtTurnsEnd: boolean;
    /** Reasoning items of the open turn: in the array, and in the view. */
    readonly open: readonly [came: number, sent: number];
    readonly all: readonly [came: number, sent: number];
  }

  const asked = (done: Work): Asked[] => {
    let [before, after] = [0, 0];
    return requestsOf(done).map(({ input, turn }) => {
      const body = { model: DROPPING, input };
      const strategy = { mode: 'auto', token_budget: BUDGET } as const;
      const { report, bytes } = viewOfBody(body, 'responses', strategy, { retrieval: true });
      const sent = JSON.parse(new TextDecoder().decode(bytes)).input as { type?: string }[];
      const tokens = report.tokens ?? { before: 0, after: 0 };
      const unmoved = after + tokens.before - before;
      [before, after] = [tokens.before, tokens.after];
      const thoughts = (items: readonly { type?: string }[]) =>
        items.filter(({ type }) => type === 'reasoning').length;
      const open = input.slice(turn);
      const updates = (items: readonly { type?: string }[]) =>
        items.filter(({ type }) => type === 'configuration_update');
      expect(updates(sent)).toEqual(updates(input));
      return {
        report,
        unmoved,
        isAtTurnsEnd: input.length === turn,
        open: [thoughts(open), thoughts(sent.slice(sent.length - open.length))],
        all: [thoughts(input), thoughts(sent)],
      };
    });
  };

  it('stays while its turn is open and the view may still grow, and between two moves', () => {
    let moves = 0;
    let interrupted = 0;
    forAll(WORKS, work(fc.integer({ min: 1, max: 14 })), (done) => {
      let left = 0;
      for (const { report, unmoved, isAtTurnsEnd, open, all } of asked(done)) {
        const { moved } = report.frontier;
        if (moved && !isAtTurnsEnd && open[0] > 0) {
          interrupted++;
          expect(unmoved).toBeGreaterThan(LATE);
        }
        if (moved) {
          moves++;
          left = all[0];
        }
        // What a move takes leaves whole, and nothing else does.
        expect(all[0] - all[1]).toBe(left);
        expect(report.dropped_thinking_blocks ?? 0).toBe(left);
      }
    });
    expect(moves).toBeGreaterThan(2 * WORKS.numRuns);
    expect(interrupted).toBeGreaterThan(WORKS.numRuns / 3);
  });

  it('leaves at the ends of turns, where turns fit the budget and are alike', () => {
    let moves = 0;
    let inside = 0;
    forAll(WORKS, work(fc.integer({ min: 4, max: 6 })), (done) => {
      const alike = { ...done, turns: Array<number>(6).fill(done.turns[0] ?? 4) };
      const moved = asked(alike).filter(({ report }) => report.frontier.moved);
      moves += moved.length;
      inside += moved.filter(({ isAtTurnsEnd }) => !isAtTurnsEnd).length;
    });
    expect(moves).toBeGreaterThan(2 * WORKS.numRuns);
    // A conversation that ends with the turn would pay for the move, so a few come later.
    expect(inside).toBeLessThan(moves / 5);
  });
});
