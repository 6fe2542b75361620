import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../../src/memory/run/event.ts';
import { whyOf } from '../../../../src/memory/run/why.ts';
import { endedRun, NOTHING_FOUND } from '../../../support/conversations/ended-runs.ts';

const LARGE = { before: 41_000, after: 41_000, budget: 32_000, window: 400_000 };
const refused = [{ phase: 'reversible', because: 'floor', freed: 4_669, least: 6_452 }] as const;
const edit = { kind: 'output' as const, call: -1, tool: 'f', ref: null, tokens: 900, freed: 800 };

function why(fields: Partial<RunEvent>): string {
  const { event } = endedRun({ mode: 'auto', messages: 60 });
  return whyOf({ ...event, ...NOTHING_FOUND, n: 1, ...fields });
}

describe('why a request was sent as it was', () => {
  it.each<[string, Partial<RunEvent>, string]>([
    [
      'no strategy, and a default of none',
      { mode: 'none', source: 'default' },
      '60 messages were sent unchanged: the strategy changes nothing. It named no strategy, and the deployment’s default changes nothing: send `memory_strategy`, use a base URL such as `/agents/coding/v1`, or set `DEFAULT_MEMORY_STRATEGY`.',
    ],
    [
      'none, as the request wants it',
      { mode: 'none', source: 'request' },
      '60 messages were sent unchanged: the strategy changes nothing. The request itself says so.',
    ],
    [
      'idle',
      { tokens: { ...LARGE, budget: null }, warnings: ['idle'] },
      '60 messages were sent unchanged: 41,000 tokens. The strategy has neither a budget nor a trigger: nothing is due before 80 % of the window, or the budget by the price. With a `token_budget` it acts earlier.',
    ],
    [
      'waiting',
      { tokens: LARGE, refused: [...refused], warnings: ['waiting'] },
      '60 messages were sent unchanged: 41,000 tokens, over the budget of 32,000. It is 9,000 tokens over its budget of 32,000. Waiting: placeholders would free 4,669 tokens, but that pays off from 6,452.',
    ],
    [
      'a view that nothing can make shorter',
      {
        tokens: { ...LARGE, after: 33_000, budget: 8_000 },
        refused: [{ phase: 'reversible', because: 'nothing_to_free', freed: 0, least: 1 }],
        next_edit: { tokens: 8_000, because: 'budget' },
        warnings: ['over_budget'],
        trigger: 'token_budget',
        edits: [{ ...edit, message: 3, reason: 'context_compaction' }],
      },
      '1 content is a placeholder; 41,000 → 33,000 tokens, because the budget of 8,000 was exceeded. It is 25,000 tokens over its budget of 8,000. Nothing more may be removed: what is left is recent, or always stays. The next edit is expected as soon as something older may be removed.',
    ],
    [
      'a rolling memory that could not be made',
      { tokens: { ...LARGE, budget: 50_000 }, mode: 'rolling_summary', warnings: ['summary_degraded'] },
      '60 messages were sent unchanged: 41,000 tokens, under the budget of 50,000. The summarizer failed: a digest made by code replaces its text, or nothing does yet.',
    ],
    [
      'a history that the provider stores',
      { warnings: ['upstream_state'] },
      '60 messages were sent unchanged, and nothing was planned. The provider stores the conversation or a part of it, so Precis does not have all of its messages.',
    ],
    [
      'a key under which nothing is stored',
      { tokens: LARGE, warnings: ['no_tenant'] },
      '60 messages were sent unchanged: 41,000 tokens, over the budget of 32,000. The key has fewer than 20 characters, so nothing can be stored under it: removed content has no ref, and a digest replaces a summary. It is 9,000 tokens over its budget of 32,000. Nothing more may be removed: what is left is recent, or always stays.',
    ],
    [
      'observed',
      {
        observed: true,
        tokens: { ...LARGE, after: 9_000 },
        trigger: 'token_budget',
        edits: [{ ...edit, message: 3, reason: 'context_compaction' }],
      },
      'Only observed: 41,000 tokens were sent unchanged. Otherwise 1 content would be a placeholder; 9,000 tokens would be sent, because the budget of 32,000 was exceeded.',
    ],
    [
      'an output that is very large, where nothing else was due',
      {
        tokens: { ...LARGE, after: 9_000, budget: 200_000 },
        trigger: 'none',
        edits: [{ ...edit, message: 3, reason: 'offloaded' }],
      },
      '1 large output is truncated; 41,000 → 9,000 tokens, because a single output was too large to be sent in full.',
    ],
    [
      'thinking that something before it has made invalid, where nothing was due',
      {
        tokens: { ...LARGE, after: 40_000, budget: 200_000 },
        trigger: 'none',
        edits: [{ ...edit, message: 3, kind: 'reasoning', reason: 'bound_thinking' }],
      },
      '1 message is without its reasoning; 41,000 → 40,000 tokens.',
    ],
    [
      'refused',
      { status: 429, error: 'budget_exceeded', ended: 'error', warnings: ['idle'] },
      'Refused with 429 (budget_exceeded): nothing was sent to the model.',
    ],
    [
      'shortened',
      {
        tokens: { ...LARGE, after: 9_000 },
        trigger: 'turns',
        frontier: { unit: 3, moved: true },
        left_out: [{ from: 1, to: 38, fate: 'summarized', ref: null }],
      },
      '38 messages are in a summary; 41,000 → 9,000 tokens, because there were more turns than the strategy allows.',
    ],
  ])('%s', (_, fields, paragraph) => {
    expect(why(fields)).toBe(paragraph);
  });

  it.each<[NonNullable<RunEvent['next_edit']>['because'], string]>([
    ['budget', 'where the view reaches its budget'],
    ['cost', 'where it pays, or has waited long enough'],
    ['price_step', 'where each token begins to cost more'],
    ['window', 'where the model’s window is nearly full'],
  ])('says where the next edit comes of a request within its budget too: %s', (because, where) => {
    const tokens = { ...LARGE, budget: 50_000 };
    expect(why({ tokens, next_edit: { tokens: 96_000, because } })).toBe(
      `60 messages were sent unchanged: 41,000 tokens, under the budget of 50,000. The next edit is expected at about 96,000 tokens, ${where}.`,
    );
  });

  it('says of a short one that it is short', () => {
    expect(why({ messages: 1 })).toBe('Short: 1 message was sent unchanged, well under the budget.');
  });

  it('says nothing of a budget to one without', () => {
    expect(why({ messages: 1, warnings: ['idle'] })).toMatch(
      /^Short: 1 message was sent unchanged\. The strategy has neither a budget nor a trigger: /,
    );
  });
});
