import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { USUAL_PRICES } from '../../../../src/memory/models/schedules.ts';
import { explain } from '../../../../src/memory/plan/explain.ts';
import { Floor } from '../../../../src/memory/replay/floor.ts';
import { NOWHERE, type PhaseStanding } from '../../../../src/memory/replay/phase-standing.ts';
import { refusalsOf } from '../../../../src/memory/replay/phase-worth.ts';
import type { Refusal } from '../../../../src/memory/replay/reasons.ts';
import { buildEvent, type RunFacts } from '../../../../src/memory/run/build-event.ts';
import {
  outlinedMessageSchema,
  outlineOfRun,
  type RunEvent,
  runEventSchema,
} from '../../../../src/memory/run/event.ts';
import {
  autoOptions,
  autoStrategy,
  conversation,
  richConversation,
  strategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { body, lines, step, user } from '../../../support/conversations/chat.ts';
import { NOTHING_FOUND } from '../../../support/conversations/ended-runs.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

const FACTS: RunFacts = {
  request_id: 'req_1',
  created_at: 1_700_000_000_000,
  protocol: 'chat',
  kind: 'answer',
  model: 'gpt-4.1',
  stream: false,
  observed: false,
  messages: 0,
  retrieval_rounds: 0,
  ms: { plan: 1, store: null, summary: null, upstream: 5, first_byte: 6, total: 7 },
  usage: null,
  view_cached: null,
  placeholders: null,
  status: 200,
  ended: 'complete',
  error: null,
};

/** The event of a view, as it would be kept. */
function eventOf({ request, report, view, plan }: Viewed): RunEvent {
  const planned = { report, view, refused: plan.replay.refused };
  const messages = request.messages.length;
  return { ...buildEvent(planned, { ...FACTS, messages }), ...NOTHING_FOUND, n: 1 };
}

const anyView = fc.oneof(
  fc.tuple(conversation, strategy, fc.constant({})),
  fc.tuple(richConversation, autoStrategy, autoOptions(true)),
  fc.tuple(richConversation, autoStrategy, autoOptions(false)),
);

/** Asks something of the view of any request. */
const ofAnyView = (ask: (viewed: Viewed) => void, numRuns = runs(12, 100)): void =>
  forAll(numRuns, anyView, ([sent, input, options]) => ask(viewOf(sent, input, options)));

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

describe('the event of any request', () => {
  it('has the shape of events', () => {
    ofAnyView((viewed) => {
      const event = eventOf(viewed);
      expect(runEventSchema.parse(event)).toEqual(event);
    });
  });

  it('says what the report says', () => {
    ofAnyView((viewed) => {
      const { report, view } = viewed;
      const event = eventOf(viewed);
      const { trigger, frontier, warnings, tokens = null, mode, source } = report;
      expect(event).toMatchObject({ trigger, frontier, warnings, tokens, mode, source });
      const ofContents = report.applied_edits.filter(({ type }) => type !== 'summarize' && type !== 'trim');
      expect(sumOf(event.edits.map(({ freed }) => freed))).toBe(
        sumOf(ofContents.map(({ cleared_tokens }) => cleared_tokens)),
      );
      expect(sumOf(event.left_out.map(({ from, to }) => to - from + 1))).toBe(view.dropped.size);
    });
  });

  it('refuses each phase at most once, and what would have freed too little', () => {
    ofAnyView((viewed) => {
      const { refused } = eventOf(viewed);
      expect(new Set(refused.map(({ phase }) => phase)).size).toBe(refused.length);
      for (const { because, freed, least } of refused) {
        if (because === 'nothing_to_free') expect(freed).toBeLessThanOrEqual(0);
        else expect(freed).toBeGreaterThan(0);
        if (because === 'floor' || because === 'regret') expect(freed).toBeLessThan(least);
      }
    });
  });
});

describe('the outline of any view', () => {
  it('covers each message once, in order', () => {
    ofAnyView((viewed) => {
      const outline = outlineOfRun(eventOf(viewed));
      expect(outline.map(({ index }) => index)).toEqual([...viewed.request.messages.keys()]);
      for (const message of outline) expect(outlinedMessageSchema.parse(message)).toEqual(message);
    });
  });

  it('says of each message what its explanation says', () => {
    ofAnyView((viewed) => {
      const outline = outlineOfRun(eventOf(viewed));
      const explained = explain(viewed.plan, viewed.view, counter).messages;
      expect(outline.map(({ fate }) => fate)).toEqual(explained.map(({ fate }) => fate));
      const namedIn = (edits: readonly { ref?: string | null; freed: number }[] = []) =>
        edits.map(({ ref = null, freed }) => [ref, freed]);
      expect(outline.map(({ edits }) => namedIn(edits))).toEqual(
        explained.map(({ edits }) => namedIn(edits)),
      );
    });
  });
});

describe('an event', () => {
  it('cuts the names that a caller has made up', () => {
    const long = 'f'.repeat(5_000);
    const viewed = viewOf(body([user('go'), ...steps(8, long)]), { mode: 'compact', token_budget: 3_000 });
    const { edits } = eventOf(viewed);
    const model = buildEvent(
      { report: viewed.report, view: undefined, refused: [] },
      { ...FACTS, model: long },
    ).model;

    expect(edits.length).toBeGreaterThan(0);
    for (const name of [model ?? '', ...edits.map(({ tool }) => tool)]) expect(name.length).toBe(128);
  });

  it('names the transcript of trimmed messages, whatever the view', () => {
    let seen = 0;
    ofAnyView((viewed) => {
      const ref = viewed.view.trim?.kept?.ref;
      const trimmed = eventOf(viewed).left_out.filter(({ fate }) => fate === 'trimmed');
      for (const one of trimmed) expect(one.ref).toBe(ref ?? null);
      if (ref !== undefined) seen += trimmed.length;
      // Few views are trimmed, and some must be.
    }, 100);
    expect(seen).toBeGreaterThan(0);
  });
});

/** Steps whose outputs have about 600 tokens. */
const steps = (count: number, tool = 'find') =>
  Array.from({ length: count }, (_, at) => step(`c${at}`, tool, lines(60, `w${at}`))).flat();

describe('a refusal', () => {
  const refusedBy = (input: Parameters<typeof viewOf>[1], count = 8): readonly Refusal[] =>
    eventOf(viewOf(body([user('go'), ...steps(count)]), input)).refused;

  it('is the least that the caller has set', () => {
    expect(refusedBy({ mode: 'compact', token_budget: 3_000, min_reclaim_tokens: 90_000 })).toEqual([
      { phase: 'reversible', because: 'floor', freed: expect.any(Number), least: 90_000 },
    ]);
    expect(refusedBy({ mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 90_000 })).toContainEqual({
      phase: 'reversible',
      because: 'floor',
      freed: expect.any(Number),
      least: 90_000,
    });
  });

  it('comes from a view without anything to free', () => {
    const input = { mode: 'compact' as const, token_budget: 1_000, compact_exclude_tools: ['find'] };
    expect(refusedBy(input)).toEqual([
      { phase: 'reversible', because: 'nothing_to_free', freed: 0, least: 0 },
    ]);
  });

  it('is the floor, the regret, or a loss that would not be enough, in auto', () => {
    const stakes = { array: 40_000, view: 40_000, kept: 30_000, spent: 0 };
    const floor = new Floor(USUAL_PRICES, 0);
    floor.settle(20_000, 20_000, undefined, 60_000);
    const at = (freed: number, more: Partial<PhaseStanding> = {}): PhaseStanding => ({
      ...NOWHERE,
      freed,
      ...more,
    });
    const least = floor.least(stakes);
    const refusals = (freed: number, futile?: PhaseStanding) => {
      const found = [at(freed)];
      const tried = { start: NOWHERE, found, made: undefined, futile, needed: 900, isLossy: true };
      return refusalsOf(tried, () => ({ least, floor: { of: floor, stakes } }));
    };
    const nothing = { phase: 'summarize', because: 'nothing_to_free', freed: 0, least: 1 };
    const reversible = { phase: 'reversible', least: Math.ceil(least) };

    expect(least).toBeGreaterThan(20_000);
    expect(refusals(10)).toEqual([{ ...reversible, because: 'floor', freed: 10 }, nothing]);
    expect(refusals(20_000)).toEqual([{ ...reversible, because: 'regret', freed: 20_000 }, nothing]);
    expect(refusals(0, at(700, { trims: [1] }))).toEqual([
      { ...reversible, because: 'nothing_to_free', freed: 0 },
      { phase: 'trim', because: 'not_enough', freed: 700, least: 900 },
    ]);
  });

  it('is none where nothing is due, and where all that is due is done', () => {
    expect(refusedBy({ mode: 'auto' })).toEqual([]);
    expect(refusedBy({ mode: 'compact', token_budget: 3_000 })).toEqual([]);
  });

  it('is none in a slide, which has edited all that there is', () => {
    expect(refusedBy({ mode: 'compact', compact_trigger_turns: 1 })).toEqual([]);
  });
});
