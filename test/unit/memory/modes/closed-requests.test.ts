/** Requests at which the caller's choice of tools keeps the model from fetching. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  autoOptions,
  autoStrategy,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { lines, step, user } from '../../../support/conversations/chat.ts';
import { brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

const LARGE = lines(2_000);
const ASKED = [user('What does the log say?'), ...step('c1', 'read_log', LARGE)];
const STRATEGY = { mode: 'auto', token_budget: 6_000 } as const;

const shownIn = (viewed: Viewed, at: number) => String(messagesOf(viewed)[at]?.content).length;
const view = (messages: typeof ASKED, closed: readonly number[], more: object = {}) =>
  viewOf({ model: 'gpt-4.1', messages }, { ...STRATEGY, ...more }, { retrieval: true, closed });

describe('an output that the model has not seen', () => {
  it('is whole where the model can’t fetch, over the budget and over any size at sight', () => {
    expect(shownIn(view(ASKED, []), 2)).toBeLessThan(LARGE.length / 10);
    expect(shownIn(view(ASKED, [3]), 2)).toBe(LARGE.length);
    const atSight = { token_budget: 100_000, offload_fresh_tokens: 1_000 };
    expect(shownIn(view(ASKED, [], atSight), 2)).toBeLessThan(LARGE.length / 10);
    expect(shownIn(view(ASKED, [3], atSight), 2)).toBe(LARGE.length);
  });

  it('is cut where the window leaves no other way', () => {
    const small = { context_window_tokens: 8_000 };
    expect(shownIn(view(ASKED, [3], small), 2)).toBeLessThan(LARGE.length / 10);
  });

  it('stays whole in the next request, whatever that one chooses, until a move', () => {
    const atSight = { token_budget: 100_000, offload_fresh_tokens: 1_000 };
    const next = [...ASKED, ...step('c2', 'read_log', LARGE)];
    const [one, two] = [view(ASKED, [3], atSight), view(next, [3], atSight)];
    expect([shownIn(two, 2), shownIn(two, 4) < LARGE.length / 10]).toEqual([LARGE.length, true]);
    expect(brokenPrefix(one, two)).toEqual([]);
  });
});

describe('the views of a conversation with such requests', () => {
  it('extend each other, or say that the frontier has moved', () => {
    forAll(
      { numRuns: runs(8, 100), endOnFailure: true },
      richConversation,
      autoStrategy,
      autoOptions(true),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
      (body, strategy, options, choices) => {
        const { history } = viewOf(body, { mode: 'compact' }).plan;
        const points = history.requestPoints.map(({ messages }) => messages);
        const isClosed = (at: number) => choices[at % choices.length] === true;
        let before: Viewed | undefined;
        for (const [at, length] of points.entries()) {
          const closed = points.slice(0, at + 1).filter((_, index) => isClosed(index));
          const messages = body.messages.slice(0, length);
          const viewed = viewOf({ ...body, messages }, strategy, { ...options, closed });
          if (before) expect(brokenPrefix(before, viewed)).toEqual([]);
          before = viewed;
        }
      },
    );
  });
});
