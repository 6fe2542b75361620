import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headOf, tailOf } from '../../../../src/memory/edits/offload.ts';
import { assistant, body, calls, lines, result, step, user } from '../../../support/conversations/chat.ts';
import { brokenLaws } from '../../../support/laws/laws.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, messagesOf, tenant, type ViewOptions, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const HEAD = 60;
const TAIL = 40;
const head = (text: string, tokens = HEAD): string => headOf(text, tokens, counter);
const tail = (text: string, tokens = TAIL): string => tailOf(text, tokens, counter);

/** Texts that are hard to cut, each longer than head and tail. */
const TEXTS: [what: string, text: string][] = [
  ['lines', lines(200)],
  ['lines that end in CRLF', lines(200).replaceAll('\n', '\r\n')],
  ['one line', lines(200).replaceAll('\n', ' ')],
  ['base64', Buffer.from(lines(200)).toString('base64')],
  ['one letter', 'a'.repeat(5_000)],
  ['white space', ' \n\t'.repeat(2_000)],
  ['emoji', '😀'.repeat(2_000)],
  ['families of emoji', '👩‍👩‍👧‍👦'.repeat(800)],
  ['flags', '🇩🇪🇫🇷'.repeat(800)],
  ['combining marks', 'e\u0301\u0323'.repeat(2_000)],
  ['another script', '転置行列の固有値を求める。'.repeat(300)],
];

describe.each(TEXTS)('head and tail of %s', (_, text) => {
  it('are its beginning and its end, and no longer than they may be', () => {
    expect(text.startsWith(head(text)) && text.endsWith(tail(text))).toBe(true);
    expect(head(text).length).toBeGreaterThan(0);
    expect(tail(text).length).toBeGreaterThan(0);
    expect(counter.text(head(text))).toBeLessThanOrEqual(HEAD);
    expect(counter.text(tail(text))).toBeLessThanOrEqual(TAIL);
  });

  it('cut no character in half, wherever the cut would fall', () => {
    for (let shift = 0; shift < 12; shift++) {
      const shifted = `${'x'.repeat(shift)}${text}${'x'.repeat(shift)}`;
      expect(head(shifted).isWellFormed() && tail(shifted).isWellFormed()).toBe(true);
    }
  });

  it('fill most of their room, unless a line ends there', () => {
    const least = (part: string): boolean =>
      part.endsWith('\n') || part.startsWith('line') || part.trim() === '';
    if (!least(head(text))) expect(counter.text(head(text))).toBeGreaterThan(0.4 * HEAD);
    if (!least(tail(text))) expect(counter.text(tail(text))).toBeGreaterThan(0.4 * TAIL);
  });
});

describe('head and tail', () => {
  it('are whole lines where lines are short', () => {
    const text = lines(200);
    expect(head(text)).toMatch(/^(line \d+: value \d+\n)+$/);
    expect(tail(text)).toMatch(/^(line \d+: value \d+\n)*line \d+: value \d+$/);
  });

  it('are cut inside a line that is longer than half of them', () => {
    const text = `a\n${'word '.repeat(500)}\nz`;
    expect(head(text)).toMatch(/^a\n(word )+/);
    expect(tail(text)).toMatch(/(word )+\nz$/);
    expect(counter.text(head(text))).toBeGreaterThan(0.8 * HEAD);
    expect(counter.text(tail(text))).toBeGreaterThan(0.8 * TAIL);
  });

  it('are all of a text that is short', () => {
    for (const text of ['', 'a', '😀', 'two\nlines']) expect([head(text), tail(text)]).toEqual([text, text]);
  });

  it('never keep more than they may, nor half a character, of any text', () => {
    forAll(
      { numRuns: runs(15, 300), endOnFailure: true },
      fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\r\n', '😀', ' ')), {
        maxLength: 60,
      }),
      fc.integer({ min: 4, max: 40 }),
      (pieces, tokens) => {
        const text = pieces.join('');
        const [first, last] = [head(text, tokens), tail(text, tokens)];
        expect(text.startsWith(first) && text.endsWith(last)).toBe(true);
        expect(first.isWellFormed() && last.isWellFormed()).toBe(true);
        expect(Math.max(counter.text(first), counter.text(last))).toBeLessThanOrEqual(tokens);
      },
    );
  });
});

const INPUT = { mode: 'auto', offload_min_tokens: 1_000, offload_fresh_tokens: 1_000 } as const;
const RETRIEVAL = { retrieval: true } as const;
const LARGE = lines(200);

const sent = (messages: Message[], more: object = {}, options: ViewOptions = RETRIEVAL): Message[] =>
  messagesOf(viewOf(body(messages), { ...INPUT, ...more }, options));
const contentsOf = (messages: Message[]): string[] => messages.map(({ content }) => String(content));
const offloaded = (output: unknown, more: object = {}): string =>
  contentsOf(sent([user('go'), ...step('call_1', 'search', output)], more))[2] ?? '';

describe('an offloaded output', () => {
  it('is its head, a line with its ref and its size, a preview, and its tail', () => {
    const ref = tenant.refs.name(LARGE, () => LARGE);
    const shown = offloaded(LARGE).split('\n');
    const at = shown.indexOf(
      `⟦removed: tool output for search (call_id=call_1); reason=offloaded; ref=${ref}; tokens=${counter.text(LARGE)}⟧`,
    );
    expect(at).toBeGreaterThan(5);
    expect(shown.slice(0, at)).toEqual(LARGE.split('\n').slice(0, at));
    expect(shown[at + 1]).toBe('200 lines');
    expect(shown[at + 2]).toMatch(/^held: /);
    const rest = shown.slice(at + 3);
    expect(rest.length).toBeGreaterThan(2);
    expect(rest).toEqual(LARGE.split('\n').slice(-rest.length));
  });

  it('names in its preview nothing that head or tail show', () => {
    const [, held = ''] = /\nheld: (.*)/.exec(offloaded(LARGE)) ?? [];
    const around = offloaded(LARGE).replace(/\nheld: .*/, '');
    const words = new Set(around.split(/\s+/));
    expect(held.split(' ').length).toBeGreaterThan(3);
    expect(held.split(' ').filter((word) => words.has(word))).toEqual([]);
  });

  it('has no preview where none is asked for', () => {
    const shown = offloaded(LARGE, { compact_preview_tokens: 0 }).split('\n');
    expect(shown.filter((line) => !LARGE.includes(line))).toEqual([expect.stringMatching(/^⟦removed: .*⟧$/)]);
  });

  it.each(TEXTS)('keeps the laws where it is %s', (_, text) => {
    const viewed = viewOf(body([user('go'), ...step('1', 'f', text.repeat(3))]), INPUT, RETRIEVAL);
    expect(viewed.report.applied_edits).toMatchObject([{ type: 'offload', cleared_tool_results: 1 }]);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('may be one line of a megabyte', () => {
    const text = Buffer.from(lines(60_000)).toString('base64').slice(0, 1_000_000);
    const shown = offloaded(text);
    expect(counter.text(shown)).toBeLessThan(700);
    expect(shown.split('\n')[0]).toBe(text.slice(0, shown.indexOf('\n')));
    expect(text.endsWith(shown.slice(shown.lastIndexOf('\n') + 1))).toBe(true);
  });

  it('stays an array of parts, with its cache breakpoint', () => {
    const parts = [
      { type: 'text', text: LARGE },
      { type: 'text', text: 'the end', cache_control: { type: 'ephemeral' } },
    ];
    const [, , message] = sent([user('go'), calls(['1', 'f']), result('1', parts)]);
    const [part, ...others] = (message?.content ?? []) as Message[];
    expect(others).toEqual([]);
    expect(part).toMatchObject({ type: 'text', cache_control: { type: 'ephemeral' } });
    expect(part?.text).toMatch(/^line 0: value 0\n[\s\S]*reason=offloaded[\s\S]*\nthe end$/);
  });

  it('is a text observation like any other output', () => {
    const messages = [user('go'), assistant('ls'), user(`Observation: ${LARGE}`)];
    expect(contentsOf(sent(messages))[2]).toMatch(
      /^Observation: line 0: value 0\n[\s\S]*⟦removed: observation; reason=offloaded; /,
    );
  });
});

describe('what is offloaded', () => {
  const isOffloaded = (output: unknown, more: object = {}, options: ViewOptions = RETRIEVAL): boolean =>
    contentsOf(sent([user('go'), ...step('1', 'f', output)], more, options)).some((content) =>
      content.includes('reason=offloaded'),
    );

  it('is larger than offload_fresh_tokens, if no answer has followed it', () => {
    const tokens = counter.text(LARGE);
    expect(isOffloaded(LARGE, { offload_fresh_tokens: tokens })).toBe(false);
    expect(isOffloaded(LARGE, { offload_fresh_tokens: tokens - 1 })).toBe(true);
  });

  it('is nothing without a tenant, nor where nothing is to be kept', () => {
    expect(isOffloaded(LARGE, {}, { ...RETRIEVAL, tenant: undefined })).toBe(false);
    expect(isOffloaded(LARGE, { compact_offload: false })).toBe(false);
  });

  it('is nothing of a tool that is excluded, or not among the included ones', () => {
    expect(isOffloaded(LARGE, { compact_exclude_tools: ['f'] })).toBe(false);
    expect(isOffloaded(LARGE, { compact_include_tools: ['g'] })).toBe(false);
    expect(isOffloaded(LARGE, { compact_include_tools: ['f'], compact_exclude_tools: ['f'] })).toBe(true);
  });

  it('is nothing that holds an image, nor what UTF-8 can’t hold', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    expect(isOffloaded([{ type: 'text', text: LARGE }, image])).toBe(false);
    expect(isOffloaded(`${LARGE}\ud83d`)).toBe(false);
  });

  it('is nothing that a model without retrieval has yet to see', () => {
    expect(isOffloaded(LARGE, { token_budget: 100, min_reclaim_tokens: 0 }, {})).toBe(false);
  });

  it('is never what a user or the model has said', () => {
    const messages = [user(LARGE), assistant(LARGE), ...step('1', 'f', 'ok')];
    expect(sent(messages)).toEqual(messages);
  });
});

describe('offloading with retrieval', () => {
  it('is done at first sight, wherever the output is, and stays', () => {
    const messages = [user('go'), ...step('1', 'f', LARGE), ...step('2', 'f', 'ok'), ...step('3', 'f', 'ok')];
    const first = contentsOf(sent(messages.slice(0, 3)))[2];
    expect(first).toContain('reason=offloaded');
    expect(contentsOf(sent(messages))[2]).toBe(first);
    expect(viewOf(body(messages), INPUT, RETRIEVAL).report).toMatchObject({
      trigger: 'none',
      frontier: { unit: 0, moved: false },
      applied_edits: [{ type: 'offload', cleared_tool_results: 1 }],
    });
  });

  it('is done in an open unit', () => {
    const open = [user('go'), calls(['1', 'f'], ['2', 'f']), result('1', LARGE)];
    expect(contentsOf(sent(open))[2]).toContain('reason=offloaded');
  });

  it('counts in the view that is measured against the budget', () => {
    const messages = [user('go'), ...step('1', 'f', LARGE), ...step('2', 'f', lines(60)), user('next')];
    const more = { token_budget: 2_000, compact_keep: 0, compact_keep_steps: 0, min_reclaim_tokens: 0 };
    const { tokens, applied_edits } = viewOf(body(messages), { ...INPUT, ...more }, RETRIEVAL).report;
    expect(tokens?.before).toBeGreaterThan(2_000);
    expect(tokens?.after).toBeLessThan(2_000);
    expect(applied_edits).toMatchObject([{ type: 'offload' }]);
  });

  it('leaves in full what is not known to be stored', () => {
    const isStored = (): boolean => false;
    const messages = [user('go'), ...step('1', 'f', LARGE)];
    const { report, bytes, request } = viewOf(body(messages), INPUT, { ...RETRIEVAL, isStored });
    expect(bytes).toEqual(request.bytes);
    expect(report.warnings).toContain('store_failed');
    expect(report.tokens?.after).toBe(report.tokens?.before);
  });
});

describe('a large output that the model first sees', () => {
  const FRESH = { offload_fresh_tokens: counter.text(LARGE) } as const;
  const before = [user('go'), ...step('1', 'f', LARGE)];
  const later = [...before, ...step('2', 'f', 'ok'), ...step('3', 'f', 'ok'), ...step('4', 'f', 'ok')];

  it('is whole up to offload_fresh_tokens, also in the requests after it', () => {
    for (const messages of [before, later]) {
      expect(sent(messages, FRESH)).toEqual(messages);
      expect(viewOf(body(messages), { ...INPUT, ...FRESH }, RETRIEVAL).report).toMatchObject({
        frontier: { unit: 0, moved: false },
        applied_edits: [],
      });
    }
  });

  it('is whole at any fill of the budget, if it has at most half of it', () => {
    const more = { ...FRESH, token_budget: 2 * counter.text(LARGE) + 20, min_reclaim_tokens: 0 };
    const said = [user('go'), assistant(lines(900, 'said')), user('and now'), ...step('1', 'f', LARGE)];
    const viewed = viewOf(body(said), { ...INPUT, ...more, compact_keep: 9 }, RETRIEVAL);
    expect(viewed.report.warnings).toContain('over_budget');
    expect(messagesOf(viewed)).toEqual(said);
  });

  it('is cut over offload_fresh_tokens, and stays so', () => {
    const more = { offload_fresh_tokens: counter.text(LARGE) - 1 };
    const [, , first] = contentsOf(sent(before, more));
    expect(first).toContain('reason=offloaded');
    expect(contentsOf(sent(later, more))[2]).toBe(first);
  });

  it('is cut as one that was seen when the frontier passes it', () => {
    const more = {
      ...FRESH,
      token_soft_budget: 600,
      compact_keep: 0,
      compact_keep_steps: 1,
      min_reclaim_tokens: 0,
    };
    expect(contentsOf(sent(later, more))[2]).toContain('reason=offloaded');
    expect(sent(before, more)).toEqual(before);
  });

  it('is cut over offload_fresh_tokens alone, if that is less than offload_min_tokens', () => {
    const less = { offload_min_tokens: 50_000, offload_fresh_tokens: counter.text(LARGE) - 1 };
    const [, , first] = contentsOf(sent(before, less));
    expect(first).toContain('reason=offloaded');
    expect(contentsOf(sent(later, less))[2]).toBe(first);
  });

  it('is whole up to offload_min_tokens, if that is more and offload_fresh_tokens is absent', () => {
    const text = lines(4_000);
    const messages = [user('go'), ...step('1', 'f', text)];
    const of = (offload_min_tokens: number) =>
      contentsOf(messagesOf(viewOf(body(messages), { mode: 'auto', offload_min_tokens }, RETRIEVAL)))[2];
    expect(of(counter.text(text))).toBe(text);
    expect(of(counter.text(text) - 1)).toContain('reason=offloaded');
  });

  it('is whole up to 25,000 tokens by default', () => {
    const text = lines(2_200);
    expect(counter.text(text)).toBeGreaterThan(20_000);
    expect(counter.text(text)).toBeLessThan(25_000);
    const shown = (content: string): string =>
      contentsOf(
        messagesOf(viewOf(body([user('go'), ...step('1', 'f', content)]), { mode: 'auto' }, RETRIEVAL)),
      )[2] ?? '';
    expect(shown(text)).toBe(text);
    const longer = lines(4_000);
    expect(counter.text(longer)).toBeGreaterThan(25_000);
    expect(shown(longer)).toContain('reason=offloaded');
  });

  it('is whole up to half of the window', () => {
    const window = { ...FRESH, context_window_tokens: 2 * counter.text(LARGE) };
    const small = { ...FRESH, context_window_tokens: 2 * counter.text(LARGE) - 1 };
    expect(sent(before, window)).toEqual(before);
    expect(contentsOf(sent(before, small))[2]).toContain('reason=offloaded');
  });
});

describe('outputs that the model first sees, and a budget that they exceed', () => {
  const size = counter.text(LARGE);
  const larger = lines(300);
  const two = [user('go'), calls(['1', 'f'], ['2', 'g']), result('1', LARGE), result('2', larger)];
  /** Tokens of the array with these two alone. */
  const all = viewOf(body(two), { ...INPUT, offload_fresh_tokens: 9_000, token_budget: 9_000 }).report.tokens
    ?.before as number;
  const view = (
    messages: Message[],
    token_budget: number,
    more: object = {},
    options: ViewOptions = RETRIEVAL,
  ) => viewOf(body(messages), { ...INPUT, offload_fresh_tokens: 9_000, token_budget, ...more }, options);
  const short = (messages: Message[], budget: number, more: object = {}, options?: ViewOptions): number[] =>
    contentsOf(messagesOf(view(messages, budget, more, options))).flatMap((content, index) =>
      content.includes('reason=offloaded') ? [index] : [],
    );

  it('are whole where they fit it', () => {
    expect(short(two, all)).toEqual([]);
  });

  it('are shortened, the largest first and no more than needed', () => {
    expect(short(two, all - 1)).toEqual([3]);
    expect(short(two, size + 700)).toEqual([3]);
    expect(short(two, size)).toEqual([2, 3]);
  });

  it('are whole if they have at most half of it', () => {
    const small = { compact_keep: 9, keep_first_user: false };
    const said = [user('go'), assistant(lines(900, 'said')), user('and now'), ...step('1', 'f', LARGE)];
    expect(short(said, 2 * size + 20, small)).toEqual([]);
    expect(short(said, 2 * size, small)).toEqual([]);
    expect(short(said, 2 * size - 1, small)).toEqual([4]);
    expect(short(said, 2 * size - 2, small)).toEqual([4]);
  });

  it('are shortened at any share of the window that they exceed', () => {
    const window = (context_window_tokens: number) => ({
      context_window_tokens,
      token_budget: undefined,
      offload_fresh_tokens: size,
    });
    const said = [user('go'), assistant(lines(900, 'said')), user('and now'), ...step('1', 'f', LARGE)];
    const given = (tokens: number) => JSON.parse(JSON.stringify({ ...window(tokens), compact_keep: 9 }));
    const views = (tokens: number) => viewOf(body(said), { ...INPUT, ...given(tokens) }, RETRIEVAL);
    const whole = views(90_000).report.tokens?.before as number;
    expect(messagesOf(views(whole))).toEqual(said);
    expect(contentsOf(messagesOf(views(whole - 1)))[4]).toContain('reason=offloaded');
  });

  it('are whole where older messages may leave in their place', () => {
    const older = [user('old'), ...step('0', 'f', lines(400, 'old')), assistant('done'), user('more')];
    const more = { compact_keep: 1, min_reclaim_tokens: 0 };
    expect(short([...older, ...two], all + 40, more)).not.toContain(8);
    expect(messagesOf(view([...older, ...two], all + 40, more)).slice(-2)).toEqual(two.slice(-2));
  });

  it('stay short when there is room again, and move no frontier', () => {
    const later = [...two, ...step('3', 'f', 'ok'), ...step('4', 'f', 'ok')];
    const first = messagesOf(view(two, size + 700));
    expect(messagesOf(view(later, size + 700)).slice(0, 4)).toEqual(first);
    expect(view(two, size + 700).report).toMatchObject({
      trigger: 'none',
      frontier: { unit: 0, moved: false },
      applied_edits: [{ type: 'offload', cleared_tool_results: 1, fresh: 1 }],
    });
    expect(view(later, size + 700).report).toMatchObject({
      frontier: { unit: 0, moved: false },
      applied_edits: [{ type: 'offload', cleared_tool_results: 1 }],
    });
    expect(view(later, size + 700).report.applied_edits[0]).not.toHaveProperty('fresh');
  });

  it('are whole over a soft budget', () => {
    expect(short(two, 9_000, { token_soft_budget: 100 })).toEqual([]);
  });

  it('are whole where the model can’t fetch them', () => {
    expect(short(two, size, {}, {})).toEqual([]);
  });

  it('are observations of agents without calls, too', () => {
    const messages = [user('go'), assistant('ls'), user(`Observation: ${LARGE}`)];
    expect(short(messages, 9_000)).toEqual([]);
    expect(short(messages, size)).toEqual([2]);
  });
});

describe('an offloaded output that comes back', () => {
  /** Every edit is made. An output of a few hundred tokens is large enough for one. */
  const ALL = {
    token_budget: 0,
    compact_keep: 0,
    compact_keep_steps: 0,
    compact_min_tokens: 0,
    min_reclaim_tokens: 0,
  };
  const again = (content: string, more: object = {}): string | undefined => {
    const messages = [user('go'), ...step('call_1', 'search', content), assistant('done'), user('next')];
    const soft = { ...ALL, token_budget: undefined, token_soft_budget: 0, ...more };
    const given = Object.fromEntries(Object.entries(soft).filter(([, value]) => value !== undefined));
    return contentsOf(sent(messages, given))[2];
  };

  it('is left as it is, whatever it held', () => {
    for (const [, text] of TEXTS) {
      const shown = offloaded(text.repeat(3));
      expect(again(shown)).toBe(shown);
    }
  });

  it('is ordinary content under another call', () => {
    const shown = offloaded(LARGE).replace('call_id=call_1', 'call_id=call_2');
    expect(again(shown)).toMatch(
      /^⟦removed: tool output for search \(call_id=call_1\); reason=context_compaction; /,
    );
  });

  it('is ordinary content when its ref is of nobody, or of another tenant', () => {
    const shown = offloaded(LARGE).replace(/ref=ref_.{26}/, `ref=ref_${'a'.repeat(26)}`);
    expect(again(shown)).toMatch(/^⟦removed: .*; reason=context_compaction; /);
  });

  it('is ordinary content when much more has been written around it', () => {
    expect(again(`${lines(900)}\n${offloaded(LARGE)}`)).not.toContain('line 100: ');
  });

  it('is left as it is when its head shows another marker', () => {
    const quoted = '⟦removed: tool output for search (call_id=call_9); reason=context_compaction⟧';
    const shown = offloaded(`log:\n${quoted}\n${LARGE}`);
    expect(shown).toContain('reason=offloaded');
    expect(again(shown)).toBe(shown);
  });

  it('is left as it is when the longest preview was asked for', () => {
    const text = Array.from({ length: 3_000 }, (_, at) => `/srv/${at * 7919}/file-${at}.ts`).join('\n');
    const more = { compact_preview_tokens: 1_000 };
    const shown = offloaded(text, more);
    expect(shown).toContain('reason=offloaded');
    expect(again(shown, more)).toBe(shown);
  });
});
