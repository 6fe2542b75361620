import { describe, expect, it } from 'vitest';
import type { Schedule } from '../../../../src/memory/models/schedule.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { courseOf, explain } from '../../../../src/memory/plan/explain.ts';
import type { Course } from '../../../../src/memory/plan/explanation-schema.ts';
import { ANSWER_OVERHEAD, toolTokens } from '../../../../src/memory/tokens/tokens.ts';
import {
  type ConversationBody,
  conversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, step, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, viewOf } from '../../../support/laws/view-of.ts';

const SCHEDULE: Schedule = {
  family: 'a-model',
  fresh: 2,
  cached: 0.5,
  written: 2,
  output: 8,
  hits: 'prefix-128',
  lifetimeMs: 300_000,
};

function courseUnder(
  sent: object,
  input: MemoryStrategyRequest,
  schedule: Schedule | null = SCHEDULE,
): Course {
  const { plan, view, report, request } = viewOf(sent, input);
  const { history } = plan;
  const tools = toolTokens(request.tools, counter) + ANSWER_OVERHEAD;
  return courseOf({ ...explain(plan, view, counter), history, tokens: report.tokens, tools, schedule });
}

const upTo = (sent: ConversationBody, end: number): ConversationBody => ({
  ...sent,
  messages: sent.messages.slice(0, end),
});

describe('the course of a conversation', () => {
  it('has the arrays and the last view of its requests, in order', () => {
    forAll(runs(6, 30), conversation, strategy, (sent, input) => {
      const requests = courseUnder(sent, input);
      const { report, plan } = viewOf(sent, input);
      expect(requests.map(({ messages }) => messages)).toEqual(
        plan.history.requestPoints.map(({ messages }) => messages),
      );
      expect(requests.at(-1)).toMatchObject({ before: report.tokens?.before, after: report.tokens?.after });
      for (const { messages, before } of requests)
        expect(before).toBe(viewOf(upTo(sent, messages), input).report.tokens?.before);
    });
  });

  it('has the very views that its requests had, where no summary is written', () => {
    forAll(
      runs(6, 60),
      conversation,
      strategy.filter(({ mode }) => mode === 'compact'),
      (sent, input) => {
        for (const { messages, after, moved } of courseUnder(sent, input)) {
          const { report } = viewOf(upTo(sent, messages), input);
          expect([after, moved]).toEqual([report.tokens?.after, report.frontier.moved]);
        }
      },
    );
  });

  const files = Array.from({ length: 12 }, (_, at) => step(`c${at}`, 'read', `line ${at}\n`.repeat(400)));
  const sent = body([user('Read.'), ...files.flat(), assistant('Done.'), user('Thanks.')]);

  const price = (course: Course, of: 'price_before' | 'price_after'): number =>
    course.reduce((sum, request) => sum + (request[of] ?? Number.NaN), 0);

  it('costs what its requests cost, read from the cache as far as they had been sent', () => {
    const course = courseUnder(sent, { mode: 'compact', token_budget: 8_000 });
    expect(course.filter(({ moved }) => moved).length).toBeGreaterThan(0);
    expect(price(course, 'price_after')).toBeLessThan(price(course, 'price_before'));
    const { messages } = viewOf(sent, { mode: 'compact' }).request;
    const before = course.map(({ messages: end, before: tokens }, index) => {
      const earlier = course[index - 1]?.before ?? 0;
      const cached = earlier < 1_024 ? 0 : earlier - (earlier % 128);
      const answer = messages[end];
      return (tokens - cached) * 2_000 + cached * 500 + (answer ? counter.message(answer) * 8_000 : 0);
    });
    expect(course.map(({ price_before: one }) => one)).toEqual(before);
  });

  it('costs the same as the arrays where nothing is edited', () => {
    const course = courseUnder(sent, { mode: 'compact', token_budget: 1_000_000 });
    expect(course.length).toBeGreaterThan(10);
    for (const { before, after, moved, price_before, price_after } of course)
      expect([after, moved, price_after]).toEqual([before, false, price_before]);
  });

  it('has no price where the model has none', () => {
    const course = courseUnder(sent, { mode: 'compact' }, null);
    expect(course[0]).toMatchObject({ messages: 1, price_before: null, price_after: null });
  });
});
