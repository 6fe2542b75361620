/** Moves of requests that come when the upstream's cache is cold (docs/design.md#cold-returns). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freedBy } from '../../../../src/memory/edits/removal.ts';
import type { AutoStrategy } from '../../../../src/memory/modes/auto-settings.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { explain } from '../../../../src/memory/plan/explain.ts';
import type { Plan } from '../../../../src/memory/plan/plan.ts';
import {
  autoOptions,
  autoStrategy,
  type ConversationBody,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, lines, type Message, step, user } from '../../../support/conversations/chat.ts';
import { brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, type Viewed, type ViewOptions, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

const steps = (n: number, size = 50): Message[] =>
  Array.from({ length: n }, (_, at) => step(`call_${at}`, 'search', lines(size, `row ${at}`))).flat();
const SOFT = { mode: 'auto', token_soft_budget: 4_000 } as const;
const waiting = [user('go'), ...steps(8)];
const view = (
  messages: readonly Message[],
  cold: readonly number[] | undefined,
  input: MemoryStrategyRequest = SOFT,
  options: ViewOptions = {},
): Viewed => viewOf(body(messages), input, { ...options, cold });
const textOf = ({ bytes }: Viewed): string => new TextDecoder().decode(bytes);

describe('a move that waits for its costs', () => {
  const end = waiting.length;

  it('is made by a request that comes when the cache is cold, and says so', () => {
    const [warm, cold] = [view(waiting, []), view(waiting, [end])];

    expect(warm.report).toMatchObject({ trigger: 'none', warnings: ['waiting'], applied_edits: [] });
    expect(warm.plan.replay.waited).toContain(end);
    expect(cold.report).toMatchObject({ trigger: 'cold_return', frontier: { moved: true }, warnings: [] });
    expect(cold.plan.replay.waited).not.toContain(end);
    const { moves } = explain(cold.plan, cold.view, counter);
    expect(moves).toMatchObject([{ trigger: 'cold_return', messages: end }]);
  });

  it('stops at the goal of the budget', () => {
    const cold = view(waiting, [end]).plan.replay;
    const one = counter.text(lines(50, 'row 1'));

    expect(cold.after).toBeLessThanOrEqual(0.6 * 4_000);
    expect(cold.after).toBeGreaterThan(0.6 * 4_000 - one);
  });

  it('keeps its bytes in all longer arrays, and without the fact the array is unchanged', () => {
    const longer = [...waiting, ...steps(1), assistant('done'), user('and now?')];
    const [before, after] = [view(waiting, [end]), view(longer, [end])];

    expect(brokenPrefix(before, after)).toEqual([]);
    expect(after.report.frontier.moved).toBe(false);
    expect(view(longer, []).report.applied_edits).toEqual([]);
  });

  it('is not made at a length that is not the one of a request, nor where nothing waits', () => {
    expect(view(waiting, [end - 1, end + 2]).report.applied_edits).toEqual([]);
    const small = waiting.slice(0, 5);
    expect(textOf(view(small, [small.length]))).toBe(textOf(view(small, [])));
  });

  it('keeps to a minimum that the caller has set', () => {
    const input = { ...SOFT, min_reclaim_tokens: 100_000 } as const;
    expect(view(waiting, [end], input).report).toMatchObject({ warnings: ['waiting'], applied_edits: [] });
  });
});

describe('a summary at a cold return', () => {
  const messages = Array.from({ length: 20 }, (_, at) => [
    user(lines(30, `${at}`)),
    assistant(lines(30, 'so')),
  ]).flat();
  const input = { mode: 'auto', token_budget: 8_000, summary_max_tokens: 100 } as const;
  const at = (output: number): Viewed =>
    view([...messages, user('and now?')], [messages.length + 1], input, {
      prices: { cached: 0.1, written: 1, output },
    });

  it('covers no more than brings the view to the goal of the budget', () => {
    const { report, plan } = at(5);
    const turn = 2 * counter.text(lines(30, 'so')) + 50;

    expect(report).toMatchObject({ trigger: 'cold_return', applied_edits: [{ type: 'summarize' }] });
    expect(plan.replay.after).toBeLessThanOrEqual(0.6 * 8_000);
    expect(plan.replay.after).toBeGreaterThan(0.6 * 8_000 - turn);
  });

  it('still has to pay for what the summarizer reads and writes', () => {
    expect(at(500).report).toMatchObject({ warnings: ['waiting'], applied_edits: [] });
  });
});

describe('thinking that is bound', () => {
  const model = 'anthropic/claude-fable-5.2';
  const details = [{ type: 'reasoning.text', text: lines(9, 'maybe'), signature: 'c2ln' }];
  const thought = waiting.map((message) =>
    message.role === 'assistant' ? { ...message, reasoning_details: details } : message,
  );
  const viewed = (messages: readonly Message[], cold: readonly number[]): Viewed =>
    viewOf({ ...body(messages), model }, SOFT, { cold });

  it('is not lost to a cold return in the middle of a turn, and is at its end', () => {
    const { report, plan } = viewed(thought, [thought.length]);
    expect(report.applied_edits).toEqual([]);
    expect(plan.replay.waited).toEqual([]);

    const ended = [...thought, assistant('done'), user('and now?')];
    const warm = viewed(ended, []);
    expect(warm.report).toMatchObject({ applied_edits: [], warnings: ['waiting'] });
    expect(viewed(ended, [ended.length]).report).toMatchObject({
      trigger: 'cold_return',
      dropped_thinking_blocks: 8,
    });
  });
});

/** Only the floor decides, which nothing overrides. */
const floored = autoStrategy.map(({ min_reclaim_tokens: _, ...input }) => input);
const longConversation = fc
  .array(richConversation, { minLength: 1, maxLength: 2 })
  .map((parts) => ({ model: 'gpt-4.1', messages: parts.flatMap(({ messages }) => messages) }));

/** The facts that requests leave which come when the cache is cold: where a move waits. */
function withReturns(
  conversation: ConversationBody,
  input: MemoryStrategyRequest,
  options: ViewOptions,
  returns: readonly boolean[],
): { readonly views: readonly Viewed[]; readonly cold: readonly number[] } {
  const cold: number[] = [];
  const views = viewsOf(conversation, input).map(({ plan }, at) => {
    const messages = conversation.messages.slice(0, plan.history.messages.length);
    const viewed = (): Viewed => viewOf({ ...conversation, messages }, input, { ...options, cold });
    const first = viewed();
    if (!returns[at % returns.length] || !first.plan.replay.waited.includes(messages.length)) return first;
    cold.push(messages.length);
    return viewed();
  });
  return { views, cold };
}

/** Tokens that the removals of one unit free at most. */
function largestRemoval({ segments, history }: Plan): number {
  const unitOf = (message: number): number => history.units.findLastIndex(({ first }) => first <= message);
  const byUnit = Map.groupBy(segments.flat(), ({ message }) => unitOf(message));
  return Math.max(0, ...[...byUnit.values()].map((removals) => freedBy(removals)));
}

/** Where moves stop, in tokens of the view; 0 if another trigger than tokens may have met. */
function goalOf({ strategy, budgets: { hard, soft, window } }: Plan): number {
  const { compact_trigger_turns, context_limit } = strategy as AutoStrategy;
  if (compact_trigger_turns !== undefined || context_limit !== undefined) return 0;
  return Math.min(hard ?? window, soft ?? window, window) * strategy.low_watermark_pct;
}

describe('conversations with cold returns', () => {
  const NUM_RUNS = runs(3, 60);
  const cases = fc.record({
    conversation: longConversation,
    input: floored,
    options: fc.boolean().chain(autoOptions),
    returns: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  });

  it('change only at moves, go no farther than their goal, and are the same from all facts', () => {
    let made = 0;
    forAll({ numRuns: NUM_RUNS, endOnFailure: true }, cases, ({ conversation, input, options, returns }) => {
      const { views, cold } = withReturns(conversation, input, options, returns);
      for (const [at, viewed] of views.entries()) {
        const { report, plan, request } = viewed;
        const end = request.messages.length;
        const before = views[at - 1];
        if (before && !report.frontier.moved) expect(brokenPrefix(before, viewed)).toEqual([]);
        // Whoever knows all facts of the conversation makes the same view.
        const messages = conversation.messages.slice(0, end);
        const known = viewOf({ ...conversation, messages }, input, { ...options, cold });
        expect(textOf(known)).toBe(textOf(viewed));
        if (!cold.includes(end) || report.trigger !== 'cold_return' || !report.frontier.moved) continue;
        made++;
        const others = cold.filter((length) => length < end);
        const warm = viewOf({ ...conversation, messages }, input, { ...options, cold: others });
        expect(warm.plan.replay.waited).toContain(end);
        // The answer's room, or a count, may demand a move at the same request.
        if (warm.report.frontier.moved) continue;
        const { after, moves } = plan.replay;
        expect(after).toBeLessThan(warm.plan.replay.after);
        expect(moves.at(-1)).toMatchObject({ trigger: 'cold_return', messages: end });
        if (plan.prefix || plan.trimmed) continue;
        // Without what has left last, the view would not be at the goal yet.
        expect(after + largestRemoval(plan)).toBeGreaterThan(goalOf(plan));
      }
    });
    expect(made).toBeGreaterThan(NUM_RUNS / 4);
  });

  it('ignore facts of requests at which nothing waits', () => {
    forAll(
      { numRuns: NUM_RUNS, endOnFailure: true },
      cases,
      fc.array(fc.nat(80)),
      ({ conversation, input, options }, lengths) => {
        const plain = viewOf(conversation, input, { ...options, cold: [] });
        const { waited } = plain.plan.replay;
        const cold = lengths.filter((length) => !waited.includes(length));
        expect(textOf(viewOf(conversation, input, { ...options, cold }))).toBe(textOf(plain));
      },
    );
  });
});
