/**
 * Reasoning that is kept beside the array counts, waits and leaves like reasoning in it: an array
 * whose messages have theirs is planned as one whose reasoning is kept.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeptReasonings } from '../../../../src/memory/conversation/kept-reasoning.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { lines, type Message, step, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { type Viewed, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

/** Tokens of each thought: encrypted data has one for four characters. */
const TOKENS = 100;
const DETAILS = [{ type: 'reasoning.encrypted', data: 'x'.repeat(4 * TOKENS) }];

interface Turn {
  readonly steps: number;
  readonly lines: number;
}

const turns = fc.array(
  fc.record<Turn>({ steps: fc.integer({ min: 1, max: 6 }), lines: fc.integer({ min: 5, max: 80 }) }),
  { minLength: 1, maxLength: 5 },
);

/** An array without reasoning, and the indices of its answers. */
function talk(all: readonly Turn[]) {
  const messages: Message[] = all.flatMap((turn, at) => [
    user(`Find number ${at}.`),
    ...Array.from({ length: turn.steps }, (_, n) =>
      step(`c${at}_${n}`, 'find', lines(turn.lines, `${at}.${n} line`)),
    ).flat(),
    { role: 'assistant', content: `It is number ${at}.` },
  ]);
  const answers = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  return { messages: [...messages, user('And then?')], answers };
}

const thinking = (messages: readonly Message[]): Message[] =>
  messages.map((message) =>
    message.role === 'assistant' ? { ...message, reasoning_details: DETAILS } : message,
  );

function keptOf(answers: readonly number[], more: Partial<KeptReasonings> = {}): KeptReasonings {
  const kept = answers.map((message) => ({ message, tokens: TOKENS, bytes: 4 * TOKENS, blocks: 1 }));
  return { answers: kept, from: 0, isUnknown: false, ...more };
}

/** What a plan says, without the ways in which the two kinds of arrays are written. */
function said({ report, plan, view }: Viewed): object {
  const { frontier, trigger, tokens, dropped_thinking_blocks, warnings } = report;
  const moves = plan.replay.moves.map(({ messages }) => messages);
  const removed = [...view.removals].flatMap(([message, removals]) =>
    removals.map(({ kind, reason }) => `${message} ${kind} ${reason}`),
  );
  return {
    ...{ frontier, trigger, before: tokens?.before, dropped_thinking_blocks, warnings },
    ...{ moves, removed, thinkingFrom: view.thinkingFrom },
  };
}

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'auto', token_budget: 3_000 },
  { mode: 'compact', token_budget: 3_000, min_reclaim_tokens: 1 },
  { mode: 'auto', token_budget: 3_000, budget: 'hard' },
];

/** What the upstream takes, if it has said that. */
const LIMITS = fc.constantFrom(undefined, undefined, 2_500);

describe('reasoning that is kept beside an array', () => {
  it.each(['gpt-6.2-sol', 'claude-opus-5-5'])('is planned as if it were in it (%s)', (model) => {
    forAll(
      { numRuns: runs(30, 200), endOnFailure: true },
      turns,
      fc.constantFrom(...STRATEGIES),
      LIMITS,
      (all, strategy, limit) => {
        const { messages, answers } = talk(all);
        const options = { retrieval: true, words: () => 'What was said.', limit };
        const inArray = viewOf({ model, messages: thinking(messages) }, strategy, options);
        const beside = viewOf({ model, messages }, strategy, { ...options, reasoning: keptOf(answers) });
        expect(said(beside)).toEqual(said(inArray));
        // A transcript is named by its messages, and names have a few tokens more or less.
        const [one = 0, other = 0] = [inArray, beside].map(({ report }) => report.tokens?.after);
        expect(Math.abs(one - other)).toBeLessThan(inArray.view.summary || inArray.view.trim ? 20 : 1);
      },
    );
  });

  it('lets a move wait for the end of the turn', () => {
    const { messages, answers } = talk([
      { steps: 4, lines: 60 },
      { steps: 1, lines: 5 },
    ]);
    const body = { model: 'gpt-6.2-sol', messages };
    const strategy = { mode: 'compact', token_budget: 2_800, min_reclaim_tokens: 1 } as const;
    const movesOf = (reasoning?: KeptReasonings) =>
      viewsOf(body, strategy, { reasoning }).flatMap(({ report, request, plan }) =>
        report.frontier.moved ? [[request.messages.at(-1)?.role, plan.replay.before]] : [],
      );
    expect(movesOf()[0]?.[0]).toBe('tool');
    expect(movesOf(keptOf(answers))[0]?.[0]).toBe('user');
  });

  it('leaves a view whose earlier reasoning is kept no more, together with it', () => {
    const { messages, answers } = talk([{ steps: 5, lines: 5 }]);
    const [first = 0, second = 0] = answers;
    const lost = keptOf(answers, { from: second + 1 });
    const reasoning = {
      ...lost,
      answers: lost.answers.map((one) => (one.message === first ? { ...one, isLost: true as const } : one)),
    };
    const strategy = { mode: 'compact', token_budget: 50_000 } as const;
    const bound = viewOf({ model: 'gpt-6.2-sol', messages }, strategy, { reasoning });
    expect(bound.view.thinkingFrom).toBe(second + 1);
    expect(bound.report.dropped_thinking_blocks).toBe(2);
    const whole = viewOf({ model: 'gpt-6.2-sol', messages }, strategy, { reasoning: keptOf(answers) });
    const after = whole.report.tokens?.after ?? 0;
    expect(bound.report.tokens?.after).toBe(after - 2 * TOKENS);
    // Where none is bound, only the lost one is missing.
    const free = viewOf({ model: 'gpt-6-astra', messages }, strategy, { reasoning });
    expect(free.view.thinkingFrom).toBeUndefined();
    expect(free.report.tokens?.after).toBe(after - TOKENS);
  });

  it('makes no move, and loses what is bound, where it is not known which there is', () => {
    const { messages, answers } = talk([{ steps: 5, lines: 60 }]);
    const reasoning = keptOf(answers.slice(0, 2), { isUnknown: true });
    const body = { model: 'gpt-6.2-sol', messages };
    const { report, view } = viewOf(body, { mode: 'auto', token_budget: 2_000 }, { reasoning });
    expect(report.frontier.moved).toBe(false);
    expect(view.thinkingFrom).toBe(messages.length);
  });

  it('is cleared when it is old, where the API bills it', () => {
    const all = Array.from({ length: 5 }, () => ({ steps: 3, lines: 30 }));
    const { messages, answers } = talk(all);
    const strategy = { mode: 'auto', token_budget: 3_000, clear_reasoning: true } as const;
    const options = { retrieval: true, reasoning: keptOf(answers) };
    const { view } = viewOf({ model: 'gpt-6-astra', messages }, strategy, options);
    const cleared = [...view.removals.values()].flat().filter(({ reason }) => reason === 'old_reasoning');
    expect(cleared.length).toBeGreaterThan(0);
    expect(cleared.every(({ message, freed }) => answers.includes(message) && freed === TOKENS)).toBe(true);
  });
});
