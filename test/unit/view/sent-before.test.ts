import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { editedAt, editedBefore } from '../../../src/memory/plan/edits-before.ts';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import type { Call } from '../../../src/request/call.ts';
import type { MadeView } from '../../../src/view/made-view.ts';
import { noteSent, withMoved } from '../../../src/view/sent-before.ts';
import {
  autoOptions,
  autoStrategy,
  richConversation,
} from '../../support/conversations/arbitrary-conversation.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { brokenPrefix } from '../../support/laws/laws.ts';
import { requestsOf } from '../../support/laws/requests-of.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import {
  stranger,
  strategyOf,
  tenant,
  type Viewed,
  type ViewOptions,
  viewOf,
} from '../../support/laws/view-of.ts';

const COMPACT = {
  mode: 'compact',
  token_budget: 2_000,
  low_watermark_pct: 0.5,
  min_reclaim_tokens: 0,
} as const satisfies MemoryStrategyRequest;

/** What a request has beside its view. */
interface Sending {
  readonly strategy?: MemoryStrategyRequest;
  readonly whose?: typeof tenant;
  /** Our tools. */
  readonly tools?: readonly string[];
  readonly movesInstructions?: boolean;
  readonly refused?: MadeView;
}

/** An isolate that sends views. */
function isolate() {
  const services = { memory: isolateMemory() };
  const callOf = ({ request }: Viewed, { strategy = COMPACT, whose = tenant }: Sending) =>
    ({
      request,
      chosen: { strategy: strategyOf(strategy) },
      owner: { off: [] },
      scope: { caller: { tenant: whose }, services },
    }) as unknown as Call;
  const make = (viewed: Viewed, sending: Sending = {}): MadeView => {
    const { view, report, plan } = viewed;
    const { tools, movesInstructions } = sending;
    const made = {
      view,
      report,
      movedAt: plan.replay.moves.at(-1)?.messages ?? 0,
      ...(tools ? { tools: { definitions: tools } as unknown as MadeView['tools'] } : {}),
      ...(movesInstructions === undefined ? {} : { movesInstructions }),
    };
    return withMoved(made, callOf(viewed, sending), sending.refused);
  };
  const send = (viewed: Viewed, sending: Sending = {}): boolean => {
    const made = make(viewed, sending);
    noteSent(callOf(viewed, sending), made, [], 0);
    return made.report.frontier.moved;
  };
  return { make, send };
}

/** An agent's array; the outputs from the fourth on belong to a branch. */
const array = (steps: number, branch = '') =>
  body([
    user('go'),
    ...Array.from({ length: steps }, (_, at) =>
      step(`c${at}`, 'find', `${lines(40)} ${at} ${at < 4 ? '' : branch}`),
    ).flat(),
  ]);

const planned = (steps: number, { branch = '', ...options }: ViewOptions & { branch?: string } = {}) =>
  viewOf(array(steps, branch), COMPACT, options);

/** As long as it takes for edits that the last request point has not made. */
const EDITED = (() => {
  for (let steps = 5; ; steps++) {
    const { report, view } = planned(steps);
    if (view.removals.size > 0 && !report.frontier.moved) return steps;
  }
})();

const NOTHING_STORED: ViewOptions = { isStored: () => false };

describe('the record of what was sent', () => {
  it('finds the request before at each point of the array where one can have been', () => {
    const { make, send } = isolate();
    send(planned(EDITED - 1));
    const { before } = make(planned(EDITED));
    expect(before).toMatchObject({ messages: planned(EDITED - 1).request.messages.length, isNext: true });
    expect(make(planned(EDITED + 2)).before).toMatchObject({ messages: before?.messages, isNext: false });
  });

  it('finds none of another branch, another caller or another isolate', () => {
    const { make, send } = isolate();
    send(planned(EDITED, { branch: 'one' }));
    expect(make(planned(EDITED + 1, { branch: 'other' })).before).toBeUndefined();
    expect(make(planned(EDITED + 1, { branch: 'one' }), { whose: stranger }).before).toBeUndefined();
    expect(isolate().make(planned(EDITED + 1, { branch: 'one' })).before).toBeUndefined();
    expect(make(planned(EDITED + 1, { branch: 'one' })).before).toBeDefined();
  });

  it('says that a view with other edits has moved, and so has the one that has them back', () => {
    const { send } = isolate();
    const moved = [
      send(planned(EDITED)),
      send(planned(EDITED)),
      send(planned(EDITED, NOTHING_STORED)),
      send(planned(EDITED, NOTHING_STORED)),
      send(planned(EDITED)),
    ];
    expect(moved).toEqual([false, false, true, false, true]);
  });

  it('leaves a move after a gap to the plan and the events, and sees all else', () => {
    const { send } = isolate();
    send(planned(4));
    const later = planned(EDITED);
    expect(later.plan.replay.moves.at(-1)?.messages).toBeGreaterThan(planned(4).request.messages.length);
    expect(send(later)).toBe(false);
    expect(send(planned(EDITED + 1), { movesInstructions: true })).toBe(true);
  });

  it('compares no edits of another strategy, but what changes without one', () => {
    const { send } = isolate();
    const other = { ...COMPACT, token_budget: 1_900 };
    send(planned(EDITED, NOTHING_STORED));
    expect(send(planned(EDITED), { strategy: other })).toBe(false);
    expect(send(planned(EDITED), { strategy: other, movesInstructions: true })).toBe(true);
  });

  it('sees other tools of Precis', () => {
    const { send } = isolate();
    send(planned(EDITED), { tools: ['one'] });
    expect(send(planned(EDITED), { tools: ['one'] })).toBe(false);
    expect(send(planned(EDITED), { tools: ['one', 'another'] })).toBe(true);
  });

  it('takes a refused view for the one before where that is not known, and asks once for both', () => {
    const { make, send } = isolate();
    const refused = make(planned(EDITED));
    const first = planned(EDITED).request.messages.length;
    send(planned(EDITED + 1));
    const again = make(planned(EDITED, NOTHING_STORED), { refused });
    expect([again.before, again.report.frontier.moved]).toEqual([undefined, true]);
    expect(make(planned(EDITED), { refused }).report.frontier.moved).toBe(false);
    expect(make(planned(EDITED + 1)).before?.messages).toBeGreaterThan(first);
  });
});

describe('a report of a view in an isolate that has sent the one before', () => {
  it('says that the frontier moved exactly where the view does not extend that one', () => {
    const found = { byRecord: 0, byPlan: 0 };
    forAll(
      { numRuns: runs(6, 100), endOnFailure: true },
      richConversation,
      autoStrategy,
      autoOptions(true),
      fc.constantFrom(0, 200, 1_000),
      fc.array(fc.constantFrom({}, {}, NOTHING_STORED, { limit: 3_000 }, { limit: 1_500 }), {
        minLength: 1,
        maxLength: 4,
      }),
      (conversation, strategy, options, max_tokens, changes) => {
        const { make, send } = isolate();
        let before: Viewed | undefined;
        for (const [at, request] of requestsOf(conversation).entries()) {
          const changed = { ...options, ...changes[at % changes.length] };
          const viewed = viewOf({ ...request, max_tokens }, strategy, changed);
          const { report } = make(viewed, { strategy });
          const { moved } = report.frontier;
          if (before) {
            const end = before.request.messages.length;
            const [now, was] = [viewed, before].map((one) => {
              const edited = editedAt(one.view, one.request.messages.length);
              return editedBefore(edited, end);
            });
            expect([now, was]).not.toContain(undefined);
            const isSame = now?.edits === was?.edits && now?.rounds === was?.rounds;
            const unreported = { ...report, frontier: { ...report.frontier, moved: false } };
            const isExtended = brokenPrefix(before, { ...viewed, report: unreported }).length === 0;
            expect([isSame, moved]).toEqual([isExtended, !isExtended]);
            if (moved && !viewed.report.frontier.moved) found.byRecord++;
            if (!moved && viewed.report.frontier.moved) found.byPlan++;
          }
          send(viewed, { strategy });
          before = viewed;
        }
      },
    );
    expect(found.byRecord).toBeGreaterThan(0);
  });
});
