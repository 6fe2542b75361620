import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import {
  type AutoRequest,
  autoOptions,
  autoStrategy,
  brokenConversation,
  brokenRichConversation,
  type ConversationBody,
  clearingStrategy,
  conversation,
  richConversation,
  strategy,
  withoutRepeats,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { brokenLawsIn } from '../../../support/laws/broken-laws.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { requestsOf } from '../../../support/laws/requests-of.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  messagesOf,
  stranger,
  tenant,
  type Viewed,
  type ViewOptions,
  viewOf,
} from '../../../support/laws/view-of.ts';

const RUNS = { numRuns: runs(10, 60), endOnFailure: true };

/** The input of a view. */
type Case = [body: ConversationBody, input: MemoryStrategyRequest, options: ViewOptions];

const anyConversation = fc.oneof(
  { weight: 1, arbitrary: conversation },
  { weight: 3, arbitrary: richConversation },
);

/** Laws of every mode. `auto.test.ts` has more for `auto`. */
const CASES: [modes: string, views: fc.Arbitrary<Case>, broken: fc.Arbitrary<Case>][] = [
  [
    'every mode but auto',
    fc.tuple(conversation, strategy, fc.constant({})),
    fc.tuple(brokenConversation, strategy, fc.constant({})),
  ],
  ...[false, true].map((retrieval): (typeof CASES)[number] => [
    retrieval ? 'auto with retrieval' : 'auto',
    fc.tuple(anyConversation, autoStrategy, autoOptions(retrieval)),
    fc.tuple(brokenRichConversation, autoStrategy, autoOptions(retrieval)),
  ]),
  [
    'auto that clears reasoning',
    fc.tuple(richConversation, clearingStrategy, autoOptions(false)),
    fc.tuple(brokenRichConversation, clearingStrategy, autoOptions(true)),
  ],
];

/** The refs in a text. */
const REFS = /ref_[a-z2-7]{26}/g;

/** The view of a view. */
function comesBack(body: ConversationBody, input: MemoryStrategyRequest, options: ViewOptions = {}): Viewed {
  return viewOf({ ...body, messages: messagesOf(viewOf(body, input, options)) }, input, options);
}

const bytesOf = (viewed: Viewed | undefined): string => new TextDecoder().decode(viewed?.bytes);

/** Laws of the views of a conversation, one per request point. Each returns its violations. */
const LAWS: Readonly<Record<string, (views: readonly Viewed[], ...of: Case) => readonly unknown[]>> = {
  'keeps pairs, preamble, open unit and fresh results, loses nothing and never grows': (views) =>
    views.flatMap(brokenLaws),

  'is the same for the same array': (views, body, input, options) => {
    const again = viewOf(body, input, options);
    return bytesOf(again) === bytesOf(views.at(-1)) ? [] : [bytesOf(again)];
  },

  'is the same with an archive': (views, body, input, options) => {
    const whole = views.at(-1);
    const archived = viewOf(body, { ...input, archive: true } as MemoryStrategyRequest, options);
    const isSame = bytesOf(archived) === bytesOf(whole) && isDeepStrictEqual(archived.report, whole?.report);
    return isSame ? [] : [archived.report, bytesOf(archived)];
  },

  'extends the view of the request before, unless it says that the frontier moved': (views) =>
    views.flatMap((later, index) => {
      const earlier = views[index - 1];
      return earlier ? brokenPrefix(earlier, later) : [];
    }),

  'has a frontier that never goes back as the array grows': (views) => {
    const units = views.map(({ report }) => report.frontier.unit);
    return isDeepStrictEqual(
      units,
      units.toSorted((a, b) => a - b),
    )
      ? []
      : units;
  },

  'counts its tokens as they are counted when it comes back as the array': (views, body, input, options) =>
    views.slice(-1).flatMap((viewed) => {
      const again = viewOf({ ...body, messages: messagesOf(viewed) }, input, options);
      const error = (viewed.report.tokens?.after ?? 0) - (again.report.tokens?.before ?? 0);
      // A summary at the beginning of a message may share a token with it.
      const { summary, trim } = viewed.view;
      return Math.abs(error) <= (summary?.form === 'request' || trim ? 2 : 0) ? [] : [error];
    }),
};

describe.each(CASES)('every view of every conversation, %s', (_, planned, broken) => {
  let found: ReadonlyMap<string, unknown>;

  beforeAll(() => {
    found = brokenLawsIn(planned, RUNS, (given) => {
      const [body, ...how] = given;
      const views = requestsOf(body).map((request) => viewOf(request, ...how));
      return Object.fromEntries(Object.entries(LAWS).map(([law, ask]) => [law, ask(views, ...given)]));
    });
  });

  it.each(Object.keys(LAWS))('%s', (law) => {
    expect(found.get(law)).toBeUndefined();
  });

  it('names no ref that is not known to be stored', () => {
    forAll(RUNS, planned, fc.integer({ min: 1, max: 4 }), ([body, input, options], every) => {
      const isStored = (ref: string): boolean => ref.charCodeAt(8) % every === 0;
      const viewed = viewOf(body, input, { ...options, isStored });
      const text = new TextDecoder().decode(viewed.bytes);
      for (const [ref] of text.matchAll(REFS)) expect(isStored(ref)).toBe(true);
      expect(brokenLaws(viewed)).toEqual([]);
    });
  });

  it('has the breaks of a broken conversation and no other', () => {
    forAll(RUNS, broken, ([body, input, options]) => {
      expect(brokenLaws(viewOf(body, input, options))).toEqual([]);
    });
  });

  it('trusts no placeholder of another tenant, and no summary', () => {
    const all = { mode: 'compact', token_budget: 0, compact_keep: 0, compact_keep_steps: 0 } as const;
    forAll(RUNS, planned, fc.boolean(), ([body, input, options], everything) => {
      const made = viewOf(body, everything ? all : input, { ...options, tenant: stranger });
      const again = viewOf({ ...body, messages: messagesOf(made) }, input, options);
      for (const { ref, message, replacement } of again.plan.segments.flat()) {
        if (ref !== undefined) expect(tenant.refs.owns(ref)).toBe(true);
        // The beginning and end of an offloaded output are quoted, whatever they name.
        const quotable: string[] = JSON.stringify(messagesOf(made)[message]).match(REFS) ?? [];
        for (const named of replacement.match(REFS) ?? [])
          expect(tenant.refs.owns(named) || quotable.splice(quotable.indexOf(named), 1)[0] === named).toBe(
            true,
          );
      }
      expect(again.plan.history.echo).toBeUndefined();
      expect(brokenLaws(again)).toEqual([]);
    });
  });
});

describe('a view that comes back as the array', () => {
  it('is left as it is by every mode but auto', () => {
    forAll(RUNS, conversation, strategy, (body, input) => {
      // Without a floor: the tokens that a move frees depend on earlier removals, so the second
      // pass may make moves that the first did not, or the other way round.
      const settled = { ...input, min_reclaim_tokens: 0 };
      const viewed = viewOf(body, settled);
      // The request of a run that its summary covers is a turn of the view alone.
      fc.pre(!('context_limit' in settled) || !keepsRunningRequest(viewed));
      expect(messagesOf(comesBack(body, settled))).toEqual(messagesOf(viewed));
    });
  });

  /** Whether a summary is followed by the request of a running run and by the later turn's. */
  function keepsRunningRequest(viewed: Viewed): boolean {
    const messages = messagesOf(viewed);
    const summary = messages.findIndex(({ content }) => String(content).startsWith('<session_summary '));
    return summary >= 0 && [1, 2].every((after) => messages[summary + after]?.role === 'user');
  }

  const autoCase = fc.tuple(anyConversation, autoStrategy, fc.boolean().chain(autoOptions));

  /**
   * Without triggers that count: a summary is no turn and no step, so a view has fewer of them than
   * its array.
   */
  const withoutTurns = ({
    context_limit: _,
    compact_trigger_turns: __,
    compact_trigger_steps: ___,
    max_messages: ____,
    ...input
  }: AutoRequest) => input;

  it('is left as it is by auto where it fits its budgets', () => {
    let edited = 0;
    forAll(RUNS, autoCase, ([body, input, options]) => {
      const settled = withoutTurns(input);
      const viewed = viewOf(body, settled, options);
      const { hard, soft, window } = viewed.plan.budgets;
      fc.pre((viewed.report.tokens?.after ?? 0) <= Math.min(hard ?? window, soft ?? window, window));
      if (viewed.report.applied_edits.length > 0) edited++;
      expect(messagesOf(comesBack(body, settled, options))).toEqual(messagesOf(viewed));
    });
    expect(edited).toBeGreaterThan(RUNS.numRuns / 6);
  });

  it('is left as it is by the reversible edits of auto wherever the floor is off and nothing is said again', () => {
    let over = 0;
    forAll(RUNS, autoCase, ([body, input, options]) => {
      // Without repeats, offloading and summaries: a later repeat would let the second pass
      // remove an output that the first had kept, and a summary would be a message of the new
      // array.
      const {
        context_window_tokens: _,
        token_budget,
        token_soft_budget: soft,
        compact_offload: __,
        ...more
      } = withoutTurns(input);
      const settled = { ...more, token_soft_budget: soft ?? token_budget ?? 1_000, min_reclaim_tokens: 0 };
      const distinct = withoutRepeats(body);
      const viewed = viewOf(distinct, settled, options);
      if ((viewed.report.tokens?.after ?? 0) > settled.token_soft_budget) over++;
      expect(messagesOf(comesBack(distinct, settled, options))).toEqual(messagesOf(viewed));
    });
    expect(over).toBeGreaterThan(RUNS.numRuns / 6);
  });
});
