import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { courseSums, linePoints } from '../../../inspector/read/course.ts';
import { warningsOf } from '../../../inspector/read/marks.ts';
import {
  compactedWords,
  costSentences,
  difference,
  droppedSentence,
  failureSentence,
  missedSentence,
  missSentence,
  moneySentence,
} from '../../../inspector/read/request-words.ts';
import { ALL_RULES } from '../../../inspector/read/rules.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { headline, overBudget } from '../../../src/memory/run/why.ts';
import { PAGES } from '../../../src/reference/pages.ts';
import { endedRun, NOTHING_FOUND } from '../../support/conversations/ended-runs.ts';

const edit = { kind: 'output' as const, call: -1, tool: 'f', ref: null, tokens: 900, freed: 800 };
const placeholder = (message: number) => ({ ...edit, message, reason: 'context_compaction' });

function event(fields: Partial<RunEvent>): RunEvent {
  const tokens = { before: 51_512, after: 5_910, budget: 12_000, window: 100_000 };
  const { event: unbilled } = endedRun({ mode: 'auto', messages: 60, tokens, trigger: 'token_budget' });
  return { ...unbilled, ...NOTHING_FOUND, n: 1, ...fields };
}

const told = (fields: Partial<RunEvent>): string => headline(event(fields));

describe('what was lost', () => {
  it('is said with its cause, and not where nothing was', () => {
    const cache_miss = {
      cause: 'message',
      message: 4,
      by: 'precis',
      tokens: 17_920,
      amount: 26_880_000,
    } as const;
    expect(missSentence(event({ cache_miss }))).toBe(
      '17,920 tokens were not read from the cache, which cost $0.027, because the client changed an earlier message (number 4).',
    );
    const reasoning_dropped = { blocks: 1, cause: 'tools', by: 'vendor' } as const;
    expect(droppedSentence(event({ reasoning_dropped }))).toBe(
      'The model answered without 1 earlier piece of its reasoning, because the client sent other tools, as the provider says.',
    );
    expect([missSentence(event({})), droppedSentence(event({}))]).toEqual([undefined, undefined]);
  });
});

describe('what was missed in some days', () => {
  it('is said with its price, as far as it is known, and the dearest cause', () => {
    const tools = { cause: 'tools', requests: 2, tokens: 30_000, amount: 45_000_000 } as const;
    const unpriced = { cause: 'vendor', requests: 1, tokens: 2_000, amount: null } as const;
    expect([[tools, unpriced], [tools], [unpriced], []].map(missedSentence)).toEqual([
      '32,000 tokens were not read from the cache, which cost $0.05, mostly because the client sent other tools.',
      '30,000 tokens were not read from the cache, which cost $0.05, because the client sent other tools.',
      '2,000 tokens were not read from the cache, because the provider did not use its cache.',
      undefined,
    ]);
  });

  it('is summed up by cause for a conversation, whose dearest one is named', () => {
    const missed = (cause: 'tools' | 'vendor', tokens: number, amount: number | null) =>
      ({ cause, tokens, amount }) as const;
    const vendor = [missed('vendor', 500, 20_000_000), missed('vendor', 500, 20_000_000)];

    expect(missedSentence([missed('tools', 10, 30_000_000), ...vendor])).toBe(
      '1,010 tokens were not read from the cache, which cost $0.07, mostly because the provider did not use its cache.',
    );
    expect(
      missedSentence([missed('vendor', 999, null), ...vendor.map((one) => ({ ...one, amount: null }))]),
    ).toBe('1,999 tokens were not read from the cache, because the provider did not use its cache.');
    expect(missedSentence([missed('vendor', 999, null), missed('tools', 1_000, null)])).toMatch(
      /1,999 tokens .* mostly because the client sent other tools/,
    );
  });
});

describe('a request in a sentence', () => {
  const edited: Partial<RunEvent> = {
    edits: [40, 42, 44, 46, 48].map(placeholder),
    left_out: [{ from: 1, to: 38, fate: 'summarized', ref: null }],
  };

  it('says what was done, to what size, and because of what', () => {
    expect(told(edited)).toBe(
      '38 messages are in a summary, 5 contents are placeholders; 51,512 → 5,910 tokens, because the budget of 12,000 was exceeded.',
    );
    expect(told({ edits: [placeholder(3)], trigger: 'force' })).toBe(
      '1 content is a placeholder; 51,512 → 5,910 tokens, because the request asked for it.',
    );
  });

  it('says of an observed one what would have been done', () => {
    expect(told({ ...edited, observed: true })).toBe(
      'Only observed: 51,512 tokens were sent unchanged. Otherwise 38 messages would be in a summary, 5 contents would be placeholders; 5,910 tokens would be sent, because the budget of 12,000 was exceeded.',
    );
  });

  it('says that one was sent unchanged, and why', () => {
    const tokens = { before: 8_000, after: 8_000, budget: 12_000, window: 100_000 };
    expect(told({ tokens })).toBe(
      '60 messages were sent unchanged: 8,000 tokens, under the budget of 12,000.',
    );
    expect(told({ tokens: null })).toMatch(
      /^Short: 60 messages were sent unchanged, well under the budget\.$/,
    );
    expect(told({ tokens: null, warnings: ['upstream_state'] })).toMatch(/nothing was planned\.$/);
    expect(told({ tokens: null, mode: 'none', messages: 1 })).toMatch(
      /^1 message was sent unchanged: .* changes nothing\.$/,
    );
  });

  it.each([
    [
      { status: 429, error: 'rate_limited' },
      'Refused with 429 (rate_limited): nothing was sent to the model.',
    ],
    [
      { status: 403, error: 'model_not_allowed' },
      'Refused with 403 (model_not_allowed): nothing was sent to the model.',
    ],
    [
      { status: 503, error: 'store_failed' },
      'Refused with 503 (store_failed): nothing was sent to the model.',
    ],
  ])('says of one that Precis has refused that nothing was sent: %j', (fields, words) => {
    for (const tokens of [null, { before: 394_000, after: 394_000, budget: 12_000, window: 400_000 }]) {
      const refused = { ...fields, ended: 'error' as const, tokens };
      expect(told(refused)).toBe(words);
      expect(failureSentence(event(refused))).toBeUndefined();
    }
  });

  it('says of none that nothing was sent where the error is about an observed plan, or its own fault', () => {
    const failed = { status: 500, ended: 'error' as const, tokens: null, error: 'internal_error' };
    expect(told({ ...failed, observed: true })).toMatch(/were sent unchanged/);
    expect(told(failed)).toMatch(/were sent unchanged/);
    expect(failureSentence(event(failed))).toBe(
      'Failed with 500 (internal_error): the model gave no answer.',
    );
  });

  it.each([
    [{ status: 500, ended: 'error' as const }, 'The upstream answered with the error 500.'],
    [{ status: 404, ended: 'error' as const }, 'The upstream answered with the error 404.'],
    [
      { status: 502, ended: 'error' as const, error: 'upstream_unreachable' },
      'Failed with 502 (upstream_unreachable): the model gave no answer.',
    ],
    [{ ended: 'error' as const }, 'The answer ended with an error.'],
    [
      { ended: 'error' as const, error: 'upstream_timeout' },
      'The answer ended with an error (upstream_timeout).',
    ],
    [{ ended: 'upstream_broke' as const }, 'The model’s answer was cut off.'],
    [{ ended: 'caller_left' as const }, 'The client hung up before the end of the answer.'],
    [{ ended: 'complete' as const }, undefined],
    [{ ended: 'window_full' as const }, undefined],
  ])('says how one failed that was sent: %j', (fields, words) => {
    expect(failureSentence(event(fields))).toBe(words);
    expect(told({ ...fields, tokens: null })).toMatch(
      !('status' in fields) ? /^Short: / : /^60 messages were sent unchanged\.$/,
    );
  });

  it('says why it waits in words that hold where nothing was compacted before', () => {
    const refused = [{ phase: 'summarize', because: 'regret', freed: 28_849, least: 0 }] as const;
    const tokens = { before: 40_000, after: 40_000, budget: 12_000, window: 100_000 };
    expect(overBudget(event({ tokens, refused: [...refused] })).join(' ')).toContain(
      'Waiting: a summary would free 28,849 tokens, but after five more requests it could still cost over 3 % more than it saves.',
    );
  });

  it('says what it saved, and nothing if nobody knows', () => {
    const bill = (net: number) =>
      ({ unit: 'nanodollars', actual: 10_000_000 - net, would_be: { amount: 10_000_000 }, net }) as never;
    expect(moneySentence(event({ bill: bill(2_700_000) }))).toBe(
      'Paid $0.0073; without Precis $0.0100: 27 % less.',
    );
    expect(moneySentence(event({ bill: bill(-100_000) }))).toBe(
      'Paid $0.0101; without Precis $0.0100: 1.0 % more.',
    );
    expect(moneySentence(event({ bill: bill(0) }))).toBe('Paid $0.010, the same as without Precis.');
    expect(moneySentence(event({ bill: null }))).toBeUndefined();
    expect(moneySentence(event({ observed: true }))).toBeUndefined();
    expect(difference(0, 0)).toBe('the same');
  });

  it('names what fetches and a lost cache have cost, and what Precis has added', () => {
    const usage = { input: 29_963, cached: 23_519, cache_writes: 0, output: 336 };
    const bill = (gross: number, fetch_rounds: number, broken_cache: number) =>
      ({
        unit: 'nanodollars',
        debits: { summarizer: 0, fetch_rounds, broken_cache },
        gross: { tokens: gross },
      }) as never;
    const fetched = event({ usage, retrieval_rounds: 3, bill: bill(44_665, 3_854_000, 964_200) });
    expect(costSentences(fetched)).toEqual([
      'The model fetched removed contents in 3 further calls; all 4 calls together had 29,963 tokens of input.',
      'In the price: $0.0039 for what the model fetched, $0.00096 for cache read again.',
    ]);
    expect(costSentences(event({ bill: bill(-471, 0, 0) }))).toEqual([
      'Precis added its fetch tool: 471 tokens more than without it.',
    ]);
    expect(costSentences(event({ bill: null }))).toEqual([]);
    expect(costSentences({ ...fetched, observed: true })).toEqual([]);
  });

  it.each([
    ['in 2 requests', [true, true, false], 3],
    ['in 1 request', [false, true], 3],
    ['before these requests', [false, false], 3],
    ['never', [false, false], 0],
  ])('says when messages were shortened: %s', (words, moves, unit) => {
    expect(compactedWords(moves.map((moved) => event({ frontier: { unit, moved } })))).toBe(words);
    expect(compactedWords([event({ observed: true, frontier: { unit: 3, moved: true } })])).toBe('never');
  });

  it('says why it is over its budget', () => {
    const tokens = { before: 51_512, after: 12_345, budget: 12_000, window: 100_000 };
    const refused = [{ phase: 'reversible' as const, because: 'floor' as const, freed: 10, least: 2_000 }];
    expect(overBudget(event({ tokens, refused }))).toEqual([
      'It is 345 tokens over its budget of 12,000.',
      'Waiting: placeholders would free 10 tokens, but that pays off from 2,000.',
    ]);
    const phase = (phase: 'summarize' | 'reversible' | 'trim', because: 'floor' | 'not_enough') => {
      return { phase, because, freed: 6_887, least: 11_180 };
    };
    const three = [phase('summarize', 'floor'), phase('reversible', 'floor'), phase('trim', 'not_enough')];
    expect(overBudget(event({ tokens, refused: three })).slice(1)).toEqual([
      'Waiting: a summary would free 6,887 tokens, but that pays off from 11,180.',
      'The same holds for placeholders (6,887 of 11,180).',
      'Waiting: leaving messages out would free 6,887 tokens, but the request would still be over its budget.',
    ]);
    expect(overBudget(event({ tokens, warnings: ['waiting'] }))[1]).toMatch(/waits until it pays/);
    expect(overBudget(event({ tokens, warnings: ['over_budget'] }))[1]).toMatch(
      /^Nothing more may be removed/,
    );
    expect(overBudget(event({}))).toEqual([]);
    // It was compacted, and is within its budget: nothing is left to wait for.
    const compacted = { warnings: ['waiting'], refused, frontier: { unit: 3, moved: true } };
    expect(overBudget(event(compacted))).toEqual([]);
    expect(overBudget(event({ ...compacted, warnings: [] }))).toEqual([]);
    expect(warningsOf(event(compacted))).toEqual([]);
    expect(warningsOf(event({ ...compacted, tokens }))).toEqual(['waiting']);
  });
});

describe('the pages with the rules', () => {
  it.each(ALL_RULES)('are served, and have the section ($page, $section)', async (rule) => {
    const { section } = rule;
    const page = `${rule.page}.md`;
    expect([...PAGES.keys()]).toContain(page);
    const text = await readFile(join(import.meta.dirname, '../../../docs', page), 'utf8');
    const sections = [...text.matchAll(/^#+ (.+)$/gm)].map(([, name = '']) => name.replaceAll('`', ''));
    expect(sections).toContain(section);
  });
});

describe('a course', () => {
  it('has sums, and no price if one of a request is missing', () => {
    const one = {
      messages: 1,
      before: 10,
      after: 6,
      moved: true,
      price_before: 2_000_000,
      price_after: 1_000_000,
    };
    expect(courseSums([one, one])).toEqual({
      requests: 2,
      came: 20,
      sent: 12,
      moves: 2,
      without: 0.004,
      price: 0.002,
    });
    expect(courseSums([one, { ...one, price_after: null }]).price).toBeUndefined();
  });

  it('is a line that fills its box', () => {
    expect(linePoints([0, 5, 10], 10)).toBe('0.00,40.00 50.00,20.00 100.00,0.00');
    expect(linePoints([5], 10)).toBe('0,20.00 100,20.00');
  });
});
