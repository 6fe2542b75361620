/**
 * Late results (docs/design.md#2-words-use-these-in-code-docs-and-tests): removed messages do not
 * return to a view, and calls stay with their results.
 */

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { lruOf } from '../../../../src/lib/lru.ts';
import { messagesOf as messagesIn, readHistory } from '../../../../src/memory/conversation/history.ts';
import { termsOf } from '../../../../src/memory/models/terms.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { planView } from '../../../../src/memory/plan/plan.ts';
import { BELIEFS } from '../../../../src/request/beliefs.ts';
import {
  type AutoRequest,
  autoOptions,
  autoStrategy,
  type ConversationBody,
  lateConversation,
  lateRichConversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  read as readMessages,
  result,
  step,
  user,
} from '../../../support/conversations/chat.ts';
import { brokenLawsIn } from '../../../support/laws/broken-laws.ts';
import { brokenLaws, brokenPrefix, callersOf } from '../../../support/laws/laws.ts';
import { runs } from '../../../support/laws/runs.ts';
import {
  counter,
  messagesOf,
  strategyOf,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewsOf,
} from '../../../support/laws/view-of.ts';

const RUNS = { numRuns: runs(8, 60), endOnFailure: true };

type Case = [body: ConversationBody, input: MemoryStrategyRequest, options: ViewOptions];

const CASES: [modes: string, views: fc.Arbitrary<Case>][] = [
  ['every mode but auto', fc.tuple(lateConversation, strategy, fc.constant({}))],
  ...[false, true].map((retrieval): (typeof CASES)[number] => [
    retrieval ? 'auto with retrieval' : 'auto',
    fc.tuple(fc.oneof(lateConversation, lateRichConversation), autoStrategy, autoOptions(retrieval)),
  ]),
];

/**
 * Messages that may return to the view: those with a call that got another result since an earlier
 * request, all results of their calls, and all other messages of these units.
 */
function recalled(earlier: Viewed, later: Viewed): ReadonlySet<number> {
  const { history } = later.plan;
  const { callers } = callersOf(history);
  const before = callersOf(earlier.plan.history);
  const called = new Set(
    [...callers].flatMap(([message, call]) =>
      message >= earlier.request.messages.length && !before.open.has(call) ? [call] : [],
    ),
  );
  const results = [...callers].flatMap(([message, call]) => (called.has(call) ? [message] : []));
  const back = new Set([...called, ...results]);
  return new Set(
    history.units
      .map((unit) => messagesIn(history, unit))
      .filter((messages) => messages.some((message) => back.has(message)))
      .flat(),
  );
}

/** Errors: messages that return in the later of two views. */
function returned(earlier: Viewed, later: Viewed): string[] {
  const expected = recalled(earlier, later);
  // Without those messages, the summary may be no shorter than its own. Then all of them return.
  const recalls = [...expected].some((message) => earlier.view.dropped.has(message));
  if (recalls && later.report.frontier.moved && !later.view.summary) return [];
  return [...earlier.view.dropped].flatMap((message) => {
    if (later.view.dropped.has(message)) return [];
    if (expected.has(message) && later.report.frontier.moved) return [];
    return [`message ${message} was left out, and is shown again`];
  });
}

const pairsOf = (views: readonly Viewed[]): [earlier: Viewed, later: Viewed][] =>
  views.slice(1).flatMap((later, index) => {
    const earlier = views[index];
    return earlier ? [[earlier, later]] : [];
  });

/** Laws of the views of a conversation, one per request. Each returns its violations. */
const LAWS: Readonly<Record<string, (views: readonly Viewed[], ...of: Case) => readonly unknown[]>> = {
  'F25: keep all laws at every request': (views) => views.flatMap(brokenLaws),

  'F25: extend the view of the request before, unless the frontier moved, and never move it back': (views) =>
    pairsOf(views).flatMap(([earlier, later]) => {
      const [before, after] = [earlier.report.frontier.unit, later.report.frontier.unit];
      return [
        ...brokenPrefix(earlier, later),
        ...(after >= before ? [] : [`from unit ${before} to ${after}`]),
      ];
    }),

  'F25: have their tokens counted as they are when the view comes back': (views, body, _, options) =>
    views.slice(-1).flatMap((viewed) => {
      const again = viewOf({ ...body, messages: messagesOf(viewed) }, { mode: 'compact' }, options);
      const error = (viewed.report.tokens?.after ?? 0) - (again.report.tokens?.before ?? 0);
      const { summary, trim } = viewed.view;
      return Math.abs(error) <= (summary?.form === 'request' || trim ? 2 : 0) ? [] : [error];
    }),
};

const FOR_GOOD = 'F25: leave out for good what a view once left out';

describe.each(CASES)('late results in %s', (_, planned) => {
  let found: ReadonlyMap<string, unknown>;
  let leftOut = 0;

  beforeAll(() => {
    found = brokenLawsIn(planned, RUNS, (given) => {
      const [body, input, options] = given;
      const views = viewsOf(...given);
      // A view over the window may move its frontier at the last request point alone, and such a
      // move is not repeated by later requests. So there is no window here.
      const { context_window_tokens: window, ...roomy } = input as AutoRequest;
      const lasting = window === undefined ? views : viewsOf(body, roomy, options);
      leftOut += lasting.filter(
        ({ view, plan }) => view.dropped.size > 0 && plan.history.bonds.length > 0,
      ).length;
      return {
        ...Object.fromEntries(Object.entries(LAWS).map(([law, ask]) => [law, ask(views, ...given)])),
        [FOR_GOOD]: pairsOf(lasting).flatMap((pair) => returned(...pair)),
      };
    });
  });

  it.each(Object.keys(LAWS))('%s', (law) => {
    expect(found.get(law)).toBeUndefined();
  });

  it(FOR_GOOD, () => {
    expect(found.get(FOR_GOOD)).toBeUndefined();
    expect(leftOut).toBeGreaterThan(RUNS.numRuns / 3);
  });
});

const turnsOf = (count: number, from = 0): Message[] =>
  Array.from({ length: count }, (_, at) => [
    user(`question ${from + at}`),
    ...step(`c_${from + at}`, 'search', lines(6, `row ${from + at}`)),
    assistant(`answer ${from + at}`),
  ]).flat();

describe('a call that waits for its result', () => {
  const early = [user('begin'), calls(['slow', 'search']), assistant('meanwhile'), ...turnsOf(8)];

  it('F25: stays in a trimmed view alone, and what is gone stays gone when the result comes', () => {
    const input = { mode: 'trim', max_turns: 4, keep_last_n_turns: 1 } as const;
    const before = viewOf(body([...early, user('last')]), input);
    const late = [...early, user('last'), assistant('yes'), result('slow', 'at last')];
    const after = viewOf(body(late), input);

    expect(messagesOf(before)).toContainEqual(calls(['slow', 'search']));
    expect(messagesOf(after)).toEqual([...messagesOf(before), ...late.slice(-2)]);
    expect(after.report.frontier).toEqual({ ...before.report.frontier, moved: false });
  });

  it.each(['jump', 'slide'] as const)(
    'F25: goes with its result once both are before the frontier, by %s',
    (frontier) => {
      const input = { mode: 'trim', max_turns: 4, keep_last_n_turns: 1, frontier } as const;
      const messages = [...early, result('slow', 'at last'), ...turnsOf(8, 8), user('last')];
      const sent = messagesOf(viewOf(body(messages), input));
      expect(sent.filter(({ tool_calls: made }) => JSON.stringify(made)?.includes('slow'))).toEqual([]);
      expect(sent.filter(({ tool_call_id: id }) => id === 'slow')).toEqual([]);
    },
  );

  it('F25: stays beside a summary', () => {
    const input = {
      mode: 'summarize',
      context_limit: 4,
      keep_last_n_turns: 1,
      summary_max_tokens: 64,
    } as const;
    const sent = messagesOf(viewOf(body([...early, user('last')]), input));
    expect(sent).toHaveLength(4);
    expect(sent[2]).toEqual(calls(['slow', 'search']));
  });

  it('F25: leaves no summary that is longer than the rest of what it covers, beside trimmed messages', () => {
    const outputs = { slow: 100, one: 3, two: 200, three: 3, four: 3 };
    const steps = Object.entries(outputs).flatMap(([id, n]) => step(id, 'search', lines(n, id)));
    const messages = [user('begin'), ...steps, result('slow', 'again'), ...step('five', 'search', 'yes')];
    const input: MemoryStrategyRequest = {
      mode: 'auto',
      token_budget: 1_500,
      compact_keep_steps: 1,
      compact_include_tools: ['none'],
      low_watermark_pct: 0,
      min_reclaim_tokens: 1,
    };
    const views = viewsOf(body(messages), input, {});

    expect(views.some(({ view }) => view.summary && view.trim)).toBe(true);
    expect(views.flatMap(brokenLaws)).toEqual([]);
  });

  it('F25: moves the frontier where its result brings back all that was summarized', () => {
    const names = ['one', 'two', 'three'];
    const messages = [
      user('begin'),
      calls(...names.map((id): [string, string] => [id, 'search'])),
      ...names.map((id) => result(id, lines(30, id))),
      calls(['four', 'search'], ['five', 'search']),
      result('four', lines(200, 'four')),
      assistant('meanwhile'),
      result('five', lines(200, 'five')),
      result('one', lines(30, 'again')),
    ];
    const input: MemoryStrategyRequest = {
      mode: 'auto',
      context_window_tokens: 500,
      compact_include_tools: ['none'],
      summary_max_tokens: 64,
      keep_last_n_turns: 0,
    };
    const [earlier, later] = viewsOf(body(messages), input, {}).slice(-2);

    expect(earlier?.report).toMatchObject({
      frontier: { moved: true },
      applied_edits: [{ type: 'summarize' }],
    });
    expect(later?.report).toMatchObject({ frontier: { moved: true }, applied_edits: [] });
    expect(later?.report.frontier.unit).toBeGreaterThanOrEqual(earlier?.report.frontier.unit ?? 0);
  });

  it.each(['trim', 'summarize', 'auto', 'rolling_summary'] as const)(
    'F25: keeps the replay of %s nearly linear in the units, however many wait',
    (mode) => {
      const asking = (count: number): Message[] =>
        Array.from({ length: count }, (_, at) => [user(`q ${at}`), calls([`open_${at}`, 'search'])]).flat();
      const reads = (count: number): number => {
        let read = 0;
        const history = readHistory(readMessages(asking(count)));
        const units = new Proxy(history.units, {
          get(target, key) {
            if (typeof key === 'string' && /^\d+$/.test(key)) read++;
            return Reflect.get(target, key);
          },
        });
        const request = {
          history: { ...history, units },
          terms: termsOf(undefined),
          answerTokens: 0,
          force: false,
        };
        planView(strategyOf({ mode, token_budget: 50 }), request, undefined, {
          counter,
          refs: undefined,
          digest: (text) => text,
          facts: lruOf(BELIEFS.facts),
          previews: lruOf(BELIEFS.previews),
        });
        return read;
      };
      expect(reads(1_600)).toBeLessThan(6 * reads(400));
    },
  );
});
