import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DIGEST_TOKENS } from '../../../../src/memory/edits/output-digest.ts';
import { parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import {
  autoStrategy,
  lateRichConversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  result,
  user,
} from '../../../support/conversations/chat.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, type Viewed, type ViewOptions, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

const OUTPUT = lines(200);
/** Without a preview, head and tail are shorter than a digest may be. */
const DIGESTED = {
  mode: 'auto',
  offload_min_tokens: 1_000,
  offload_fresh_tokens: 1_000,
  compact_preview_tokens: 0,
  offload_digest: 'model',
} as const;
const PREVIEWED = { ...DIGESTED, offload_digest: 'preview' } as const;
const FRESH: Message[] = [user('Which is the last?'), calls(['call_1', 'logs']), result('call_1', OUTPUT)];

/** A view in which the model can fetch. */
const view = (messages: readonly Message[], words?: string, strategy: MemoryStrategyRequest = DIGESTED) =>
  viewOf(body(messages), strategy, { retrieval: true, digestOf: () => words });
const shownIn = (viewed: Viewed): string =>
  String(messagesOf(viewed).find(({ role }) => role === 'tool')?.content);
/** Tokens of the body that is sent. */
const counted = (viewed: Viewed): number | undefined =>
  viewOf(viewed.bytes, { mode: 'compact', token_budget: 100_000 }).report.tokens?.before;

describe('a digest of an offloaded output', () => {
  it('is below the marker instead of head, preview and tail', () => {
    const viewed = view(FRESH, 'The last is line 199.\nThere are 200.');

    expect(shownIn(viewed)).toMatch(
      /^⟦removed: tool output for logs \(call_id=call_1\); reason=offloaded; ref=ref_\w+; tokens=\d+⟧\ndigest: The last is line 199\.\nThere are 200\.$/,
    );
    expect(viewed.report.applied_edits).toMatchObject([{ type: 'offload', digests: 1 }]);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('leaves the same preview as without digests where there is none', () => {
    const viewed = view(FRESH);

    expect(shownIn(viewed)).toBe(shownIn(view(FRESH, undefined, PREVIEWED)));
    expect(viewed.report.applied_edits).toEqual(view(FRESH, undefined, PREVIEWED).report.applied_edits);
  });

  it('changes nothing but its placeholder, and nothing where previews are asked for', () => {
    const more = [...FRESH, assistant('It is 199.'), user('And the first?')];

    expect(messagesOf(view(more, 'Words.')).filter(({ role }) => role !== 'tool')).toEqual(
      messagesOf(view(more)).filter(({ role }) => role !== 'tool'),
    );
    expect(shownIn(view(more, 'Words.', PREVIEWED))).toBe(shownIn(view(more)));
  });

  it.each([
    ['has more tokens than it may', ' words'.repeat(DIGEST_TOKENS + 1)],
    ['has more characters than the output', 'antidisestablishmentarianism '.repeat(60)],
  ])('that %s leaves the preview', (_, words) => {
    // Many tokens in few characters.
    const dense = Array.from({ length: 1_100 }, (__, at) => String.fromCodePoint(0x10000 + at * 7)).join('');
    const messages = [...FRESH.slice(0, 2), result('call_1', words.startsWith('anti') ? dense : OUTPUT)];

    expect(shownIn(view(messages, words))).toBe(shownIn(view(messages)));
  });

  it.each([
    ['as short as possible', 'a'],
    ['as long as allowed', ' words'.repeat(DIGEST_TOKENS - 1).trim()],
    ['missing', undefined],
  ])('that is %s is counted in the view as it is', (_, words) => {
    const viewed = view(FRESH, words);

    expect(viewed.report.tokens?.after).toBe(counted(viewed));
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is counted by the plan at its longest, whatever its words are', () => {
    const plans = [undefined, 'a', ' words'.repeat(DIGEST_TOKENS - 1).trim()].map((words) => {
      const { plan } = view(FRESH, words);
      return { ...plan.replay, dropped: plan.dropped };
    });
    const longest = view(FRESH, ' words'.repeat(DIGEST_TOKENS - 1).trim());

    expect(plans[1]).toEqual(plans[0]);
    expect(plans[2]).toEqual(plans[0]);
    expect(longest.view.tokens).toBeLessThanOrEqual(longest.plan.replay.after);
    expect(longest.plan.replay.after - longest.view.tokens).toBeLessThan(10);
  });

  it('is left as it is when it comes back', () => {
    const back = [...FRESH.slice(0, 2), result('call_1', shownIn(view(FRESH, 'a word '.repeat(100))))];

    expect(messagesOf(view(back, 'Other words.'))).toEqual(back);
  });
});

describe('an output that no earlier request can have offloaded', () => {
  const newIn = (
    messages: readonly Message[],
    options: ViewOptions = { retrieval: true },
    more: object = {},
  ) => [...(viewOf(body(messages), { ...DIGESTED, ...more }, options).plan.newlyOffloaded ?? [])];
  const answered = [...FRESH, assistant('It is 199.'), user('And the first?')];

  it('comes after the last answer, where the model can fetch', () => {
    expect(newIn(FRESH)).toEqual([2]);
    expect(newIn(answered)).toEqual([]);
    expect(newIn([...answered, calls(['call_2', 'logs']), result('call_2', lines(210))])).toEqual([6]);
  });

  it('is one that the frontier has just passed, where it cannot', () => {
    const soft = { token_soft_budget: 3_000, compact_keep: 1, min_reclaim_tokens: 0 };
    const grown = [...answered, assistant(lines(200, 'first'))];

    expect(newIn(FRESH, {}, soft)).toEqual([]);
    expect(newIn([...answered.slice(0, 4), user(lines(150, 'look'))], {}, soft)).toEqual([2]);
    expect(newIn([...grown, user('Well?')], {}, soft)).toEqual([2]);
    expect(newIn([...grown, user('Well?'), assistant('Yes.'), user('And?')], {}, soft)).toEqual([]);
  });
});

describe('views with digests', () => {
  it('keep the laws, and stay as they are while the frontier does', () => {
    forAll(runs(5, 60), richConversation, autoStrategy, fc.boolean(), (conversation, given, retrieval) => {
      const compact_offload = true;
      const strategy = { ...given, compact_offload, offload_digest: 'model' as const };
      const views = viewsOf(conversation, strategy, { retrieval });

      expect(views.flatMap(brokenLaws)).toEqual([]);
      for (const [at, later] of views.entries()) {
        const earlier = views[at - 1];
        expect(earlier ? brokenPrefix(earlier, later) : []).toEqual([]);
      }
    });
  });
});

describe('a strategy', () => {
  it('asks for previews by default', () => {
    expect(parseStrategy('auto')).toMatchObject({ ok: true, value: { offload_digest: 'preview' } });
  });

  it('cannot ask for digests of outputs that are not offloaded', () => {
    const refused = parseStrategy({ mode: 'auto', offload_digest: 'model', compact_offload: false });

    expect(refused).toMatchObject({ ok: false, reason: { field: 'offload_digest' } });
  });
});

describe('a digest of an output that has left the view', () => {
  it('no longer needs to be known: the view is the same without it', () => {
    const numRuns = runs(20, 300);
    let covered = 0;
    forAll(
      numRuns,
      richConversation,
      autoStrategy,
      fc.constantFrom('w', 'w '.repeat(90)),
      (given, input, words) => {
        const strategy = { ...input, offload_digest: 'model', compact_offload: true } as const;
        const known = viewOf(given, strategy, { retrieval: true, digestOf: () => words });
        const { dropped } = known.view;
        const places = known.plan.segments.flat().filter(({ digest }) => digest);
        covered += places.some(({ message }) => dropped.has(message)) ? 1 : 0;
        const forgotten = viewOf(given, strategy, {
          retrieval: true,
          digestOf: ({ message }) => (dropped.has(message) ? undefined : words),
        });

        expect(new TextDecoder().decode(forgotten.bytes)).toBe(new TextDecoder().decode(known.bytes));
      },
    );
    expect(covered).toBeGreaterThan(numRuns / 30);
  });
});

describe('a summary of outputs with digests', () => {
  it('is shown wherever the plan counts on it, with or without their texts', () => {
    const numRuns = runs(20, 400);
    let covering = 0;
    const conversation = fc.oneof(lateRichConversation, richConversation);
    forAll(
      { numRuns, endOnFailure: true },
      conversation,
      autoStrategy,
      fc.boolean(),
      fc.boolean(),
      (given, input, retrieval, known) => {
        const strategy = { ...input, offload_digest: 'model', compact_offload: true } as const;
        const digestOf = () => (known ? 'w' : undefined);
        const { plan, view } = viewOf(given, strategy, { retrieval, digestOf });
        const { end = 0 } = plan.prefix ?? {};
        covering += plan.segments.flat().some(({ digest, message }) => digest && message < end) ? 1 : 0;

        expect({ ...plan.prefix, isShown: view.summary !== undefined }).toEqual({
          ...plan.prefix,
          isShown: plan.prefix !== undefined,
        });
      },
    );
    expect(covering).toBeGreaterThan(numRuns / 20);
  });
});
