import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import {
  autoOptions,
  autoStrategy,
  type ConversationBody,
  conversation,
  lateRichConversation,
  richConversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { brokenLawsIn } from '../../../support/laws/broken-laws.ts';
import {
  brokenContinuation,
  brokenRounds,
  roundOf,
  roundsBefore,
  withoutRounds,
} from '../../../support/laws/kept-rounds.ts';
import { brokenLaws } from '../../../support/laws/laws.ts';
import { runs } from '../../../support/laws/runs.ts';
import {
  messagesOf,
  type RoundsOfTest,
  type Viewed,
  type ViewOptions,
  viewOf,
} from '../../../support/laws/view-of.ts';

const RUNS = { numRuns: runs(10, 60), endOnFailure: true };

interface Case {
  readonly body: ConversationBody;
  readonly input: MemoryStrategyRequest;
  readonly options: ViewOptions;
  /** Of each answer of the array, in turns: the lines of what was fetched for it; 0: nothing. */
  readonly fetched: readonly number[];
}

/** The index of each answer that a request was made for. */
function answersIn(body: ConversationBody): number[] {
  const { history } = viewOf(body, { mode: 'compact' }).plan;
  return history.requestPoints.map(({ messages }) => messages).filter((at) => at < body.messages.length);
}

/** The views of all requests of a conversation, with the rounds that were kept by then. */
function viewsOf({ body, input, options, fetched }: Case): { views: Viewed[]; rounds: RoundsOfTest[] } {
  const answers = answersIn(body);
  const rounds = answers.flatMap((message, at) => {
    const size = fetched[at % fetched.length] ?? 0;
    return size > 0 ? [roundOf(message, lines(size, `line of ${message}`))] : [];
  });
  const views = [...answers, body.messages.length].map((end) =>
    viewOf({ ...body, messages: body.messages.slice(0, end) }, input, {
      ...options,
      rounds: roundsBefore(rounds, end),
    }),
  );
  return { views, rounds };
}

const fetched = fc.array(fc.constantFrom(0, 0, 1, 3, 20), { minLength: 1, maxLength: 6 });

const CASES: [modes: string, cases: fc.Arbitrary<Case>][] = [
  [
    'every mode but auto',
    fc.record({ body: conversation, input: strategy, options: fc.constant({}), fetched }),
  ],
  ['auto', fc.record({ body: richConversation, input: autoStrategy, options: autoOptions(true), fetched })],
  [
    'auto, with late results',
    fc.record({ body: lateRichConversation, input: autoStrategy, options: autoOptions(true), fetched }),
  ],
];

describe.each(CASES)('kept rounds in %s', (_, cases) => {
  const broken = brokenLawsIn(cases, RUNS, (given) => {
    const { views, rounds } = viewsOf(given);
    return {
      valid: views.flatMap((viewed) => brokenLaws(withoutRounds(viewed))),
      placed: views.flatMap(brokenRounds),
      continued: views.flatMap((viewed, at) => {
        const before = views[at - 1];
        const added = rounds.find(({ message }) => message === before?.request.messages.length);
        return before ? brokenContinuation(before, added, viewed) : [];
      }),
    };
  });

  it.each([
    ['leave all laws of views as they are', 'valid'],
    ['stand before their answer, byte for byte, within their bounds', 'placed'],
    ['continue what was sent before, unless the frontier has moved', 'continued'],
  ])('%s', (_sentence, law) => {
    expect(broken.get(law)).toBeUndefined();
  });
});

describe('kept rounds', () => {
  const BUDGET = { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0 } as const;
  const steps = (n: number) =>
    Array.from({ length: n }, (_, at) => step(`c${at}`, 'read', lines(60, `file ${at}`))).flat();
  const turns = (n: number) =>
    Array.from({ length: n }, (_, at) => [user(`Turn ${at}.`), assistant(`Answer ${at}.`)]).flat();

  it('count in the view, and not in the array', () => {
    const messages = [...turns(2), user('On.')];
    const round = roundOf(1, lines(10));
    const bare = viewOf(body(messages), BUDGET);
    const { report } = viewOf(body(messages), BUDGET, { rounds: [round] });
    expect(report.tokens?.before).toBe(bare.report.tokens?.before);
    expect(report.tokens?.after).toBe((bare.report.tokens?.after ?? 0) + round.tokens);
    expect(report.kept_rounds).toEqual({ rounds: 1, tokens: round.tokens });
    expect(report.frontier.moved).toBe(false);
  });

  it('leave whole when the frontier passes their answer', () => {
    const messages = [user('Go.'), ...steps(12)];
    const round = roundOf(3, lines(10));
    const { view, report } = viewOf(body(messages), BUDGET, { rounds: [round] });
    expect(report.frontier.unit).toBeGreaterThan(2);
    expect(view.rounds).toBeUndefined();
    const early = viewOf(body(messages.slice(0, 7)), BUDGET, { rounds: [round] });
    expect(early.view.rounds?.get(3)?.json).toBe(round.json);
  });

  it('make the frontier move sooner, since they are a part of what is sent', () => {
    const messages = [user('Go.'), ...steps(12)];
    const moves = (rounds: readonly RoundsOfTest[]) =>
      viewOf(body(messages), BUDGET, { rounds }).plan.replay.moves[0]?.messages ?? Infinity;
    const late = [3, 5].map((message) => roundOf(message, lines(30, `line of ${message}`)));
    expect(moves(late)).toBeLessThan(moves([]));
  });

  it('take at most a quarter of the budget: the oldest leave, and the report says that it moved', () => {
    const rounds = [1, 3, 5].map((message) => roundOf(message, lines(35, `line of ${message}`)));
    const messages = [...turns(3), user('On.')];
    const viewed = (n: number) =>
      viewOf(body(messages.slice(0, 2 * n + 1)), BUDGET, { rounds: rounds.slice(0, n) });
    expect([...(viewed(2).view.rounds?.keys() ?? [])]).toEqual([1, 3]);
    expect(viewed(2).report.frontier.moved).toBe(false);
    const { view, report } = viewed(3);
    expect([...(view.rounds?.keys() ?? [])]).toEqual([5]);
    expect(report.frontier.moved).toBe(true);
    expect(report.trigger).toBe('token_budget');
  });

  it('stay where the view exceeds its budget without them, and nothing fresh is shortened', () => {
    const messages = [system(lines(700)), user('Go.'), ...step('c0', 'edit', 'edited')];
    const round = roundOf(2, lines(10));
    const viewed = viewOf(body(messages), BUDGET, { retrieval: true, rounds: [round] });
    expect(viewed.report.tokens?.after).toBeGreaterThan(BUDGET.token_budget + round.tokens);
    expect(viewed.view.rounds?.get(2)?.json).toBe(round.json);
    expect(viewed.report.frontier.moved).toBe(false);
  });

  it('that exceed the bound by themselves are never shown', () => {
    const messages = [...turns(1), user('On.')];
    const { view, report } = viewOf(body(messages), BUDGET, { rounds: [roundOf(1, lines(400))] });
    expect(view.rounds).toBeUndefined();
    expect(report.frontier.moved).toBe(false);
  });

  it('that are never shown take all thinking along that may be bound to them', () => {
    const thinks = (text: string) =>
      assistant(text, { thinking_blocks: [{ type: 'thinking', thinking: text }] });
    const messages = ['a', 'b', 'c'].flatMap((text) => [user('On.'), thinks(text)]);
    const request = body([...messages, user('On.')], { model: 'claude-opus-5-5' });
    const rounds = [roundOf(3, lines(400))];
    for (const options of [{ rounds }, { rounds: [...rounds, roundOf(5, lines(2))] }]) {
      const { view, report } = viewOf(request, BUDGET, options);
      expect(view.thinkingFrom).toBe(4);
      expect(report).toMatchObject({ dropped_thinking_blocks: 2, warnings: ['thinking_dropped'] });
    }
  });

  it('are at most fifty, of which the newest half stays', () => {
    const rounds = Array.from({ length: 51 }, (_, at) => roundOf(2 * at + 1, 'x'));
    const input = { mode: 'auto', token_budget: 100_000 } as const;
    const shown = (n: number) =>
      viewOf(body([...turns(n), user('On.')]), input, { rounds: rounds.slice(0, n) }).view.rounds?.size;
    expect(shown(50)).toBe(50);
    expect(shown(51)).toBe(25);
  });

  it('are at most eight MiB, of which the newest half stays', () => {
    const bytes = 2 * 1024 * 1024;
    const rounds = Array.from({ length: 5 }, (_, at) => ({ ...roundOf(2 * at + 1, 'x'), bytes }));
    const input = { mode: 'auto', token_budget: 100_000 } as const;
    const shown = (n: number) => [
      ...(viewOf(body([...turns(n), user('On.')]), input, { rounds: rounds.slice(0, n) }).view.rounds ?? []),
    ];
    expect(shown(4)).toHaveLength(4);
    expect(shown(5).map(([message]) => message)).toEqual([7, 9]);
  });

  it('that cannot be read leave the view, nothing moves, and the report says so', () => {
    const messages = [user('Go.'), ...steps(12)];
    const moved = viewOf(body(messages), BUDGET);
    const end = moved.plan.replay.moves[0]?.messages ?? 0;
    const request = body(messages.slice(0, end));
    expect(viewOf(request, BUDGET).report.applied_edits).not.toEqual([]);
    const { report } = viewOf(request, BUDGET, { rounds: 'absent' });
    expect(report.warnings).toContain('rounds_absent');
    expect(report.frontier.moved).toBe(true);
    const before = viewOf(body(messages.slice(0, end - 2)), BUDGET);
    expect(report.applied_edits).toEqual(before.report.applied_edits);
  });

  it('that cannot be read leave for the window what may leave', () => {
    const request = body([user('Go.'), ...steps(12)]);
    const limit = 6_000;
    const { report } = viewOf(request, { mode: 'auto' }, { rounds: 'absent', limit });
    expect(report.warnings).toContain('rounds_absent');
    expect(report.tokens?.before).toBeGreaterThan(limit);
    expect(report.tokens?.after).toBeLessThanOrEqual(limit);
  });

  it.each([
    ['cannot be read', 'unread' as const, true],
    ['are kept no more', 'gone' as const, true],
    ['were reported to be kept no more', 'reported' as const, false],
  ])('that %s leave the moves of earlier requests as they were', (_, lost, isReportedNow) => {
    const rounds = [3, 5].map((message) => roundOf(message, lines(30, `line of ${message}`)));
    const messages = [user('Go.'), ...steps(12)];
    const { plan } = viewOf(body(messages), BUDGET, { rounds });
    const end = plan.replay.moves[0]?.messages ?? 0;
    const request = body(messages.slice(0, end + 2));
    const all = [...rounds, roundOf(end, lines(10))];
    const whole = viewOf(request, BUDGET, { rounds: all });
    const without = viewOf(request, BUDGET, { rounds: all.map((one) => ({ ...one, lost })) });

    const { kept_rounds: shown, tokens } = whole.report;
    expect(shown?.rounds).toBe(2);
    expect(without.view.rounds).toBeUndefined();
    expect(without.report.applied_edits).toEqual(whole.report.applied_edits);
    expect(without.report.tokens?.after).toBe((tokens?.after ?? 0) - (shown?.tokens ?? 0));
    expect(without.report.warnings.includes('rounds_absent')).toBe(isReportedNow);
    expect(without.report.frontier.moved).toBe(isReportedNow);
  });

  it('leave where the view has no room for the answer with them, and nothing else does', () => {
    const messages = [system(lines(60)), user('Go.'), assistant('Done.'), user('On.')];
    const input = { mode: 'auto', context_window_tokens: 2_000 } as const;
    const rounds = [roundOf(2, lines(10))];
    const answerOf = (more: number, all: typeof messages) =>
      viewOf(body(all, { max_tokens: 2_000 - more }), input, { rounds });
    const size = viewOf(body(messages), input, { rounds }).report.tokens?.after ?? 0;
    expect(answerOf(size, messages).view.rounds?.size).toBe(1);
    const tight = answerOf(size - 1, messages);
    expect(tight.view.rounds).toBeUndefined();
    expect(tight.report.frontier.moved).toBe(true);
  });

  it('of answers that the array lacks change nothing', () => {
    const messages = [...turns(2), user('On.')];
    const bare = viewOf(body(messages), BUDGET);
    const viewed = viewOf(body(messages), BUDGET, { rounds: [roundOf(2, 'x'), roundOf(9, 'y')] });
    expect(messagesOf(viewed)).toEqual(messagesOf(bare));
  });
});
