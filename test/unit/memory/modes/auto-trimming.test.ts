import { describe, expect, it } from 'vitest';
import { writeBlock } from '../../../../src/memory/conversation/session-summary.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { trimmedTranscript } from '../../../../src/summary/text/trimmed-transcript.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import {
  counter,
  messagesOf,
  short,
  tenant,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewsOf,
} from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;
type AutoInput = Omit<Extract<MemoryStrategyRequest, { mode: 'auto' }>, 'mode'>;

/**
 * A budget that fits little more than two turns, with placeholders for their outputs. The first
 * request goes; `first-request.test.ts` has the views that keep it.
 */
const INPUT = {
  mode: 'auto',
  token_budget: 3_000,
  summary_max_tokens: 64,
  min_reclaim_tokens: 0,
  low_watermark_pct: 0.9,
  compact_preview_tokens: 0,
  keep_first_user: false,
} as const;

const turn = (at: number): Message[] => [
  user(`What of ${at}?`),
  ...step(`call_${at}`, `tool_${at}`, lines(100, `row ${at}`)),
  assistant(`This: ${lines(40, `answer ${at}`)}`),
];
const talk = (n: number): Message[] => Array.from({ length: n }, (_, at) => turn(at)).flat();
const view = (messages: Message[], more: AutoInput = {}, options: ViewOptions = {}): Viewed =>
  viewOf(body(messages), { ...INPUT, ...more }, options);
const shown = (viewed: Viewed): string[] =>
  messagesOf(viewed).map(({ content }) => String(content).split('\n')[0] ?? '');

/**
 * Four turns after a system message, and a question: the turns of a summary, one answer that is
 * trimmed, and the tail.
 */
const MESSAGES = [system('s'), ...talk(4), user('next?')];

describe('what auto trims', () => {
  it('is what a summary does not reach, and the line that replaces it opens the next user message', () => {
    const viewed = view(MESSAGES);
    expect(viewed.report.applied_edits).toMatchObject([
      { type: 'compact', cleared_tool_results: 1 },
      { type: 'summarize', messages: 7 },
      { type: 'trim', messages: 1 },
    ]);
    expect(shown(viewed).slice(0, 4)).toEqual([
      's',
      'Please recall what has happened in our conversation so far.',
      expect.stringMatching(/^<session_summary ref="ref_[a-z2-7]{26}" covers="1-7">$/),
      expect.stringMatching(/^⟦removed: messages 8-8; reason=trimmed; ref=ref_[a-z2-7]{26}; tokens=\d+⟧$/),
    ]);
    expect(String(messagesOf(viewed)[3]?.content)).toMatch(/⟧\n\nWhat of 2\?$/);
    expect(messagesOf(viewed).slice(-5)).toEqual(MESSAGES.slice(-5));
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is nothing where a summary is enough', () => {
    const viewed = view(MESSAGES, { token_budget: 3_500 });
    expect(viewed.view.trim).toBeUndefined();
    expect(viewed.view.summary).toBeDefined();
  });

  it('is nothing between soft and hard budget', () => {
    expect(view(MESSAGES, { token_budget: 7_000, token_soft_budget: 500 }).plan.dropped).toEqual([]);
  });

  it('is nothing that would leave the view over its budget all the same', () => {
    for (const viewed of viewsOf(body(talk(8)), { ...INPUT, token_budget: 1_000 }))
      expect(viewed.view.trim).toBeUndefined();
  });

  it('is named without a ref where there is no tenant', () => {
    const [, , , line] = shown(view(MESSAGES, {}, { tenant: undefined }));
    expect(line).toBe('⟦removed: messages 8-8; reason=trimmed⟧');
  });

  it('is named from its first message on, the preamble left out', () => {
    const viewed = view([system('s'), ...talk(3), user('next?')]);
    expect(viewed.view.dropped).toEqual(new Set([1, 2, 3, 4]));
    expect(viewed.view.trim?.line).toMatch(/^⟦removed: messages 1-4; /);
  });

  it('stays where it is not known to be kept, and is counted', () => {
    const viewed = view(MESSAGES, {}, { isStored: () => false });
    expect(viewed.view.trim).toBeUndefined();
    expect(messagesOf(viewed).slice(2)).toEqual(MESSAGES.slice(8));
    expect(viewed.report.warnings).toEqual(['over_budget', 'store_failed']);
    const again = viewOf(body(messagesOf(viewed)), { mode: 'compact', token_budget: 1_000_000 });
    expect(viewed.report.tokens?.after).toBe(again.report.tokens?.before);
  });

  it('stays where the summary before it has no words', () => {
    const viewed = view(MESSAGES, {}, { words: () => undefined });
    expect([viewed.view.dropped.size, viewed.view.trim]).toEqual([0, undefined]);
  });

  it('keeps the laws at every request, and grows by segments until a summary takes them in', () => {
    for (const options of [{}, { words: short }]) {
      const views = viewsOf(body(talk(10)), INPUT, options);
      expect(views.filter(({ view }) => view.trim).length).toBeGreaterThan(4);
      for (const [index, later] of views.entries()) {
        const earlier = views[index - 1];
        expect([...brokenLaws(later), ...(earlier ? brokenPrefix(earlier, later) : [])]).toEqual([]);
        const ends = earlier?.plan.trimmed?.ends ?? [];
        if (later.plan.prefix?.end === earlier?.plan.prefix?.end)
          expect(later.plan.trimmed?.ends.slice(0, ends.length) ?? []).toEqual(ends);
      }
    }
  });

  it.each([
    ['follows the first request', (block: string) => [user('go'), assistant(block)]],
    ['opens a request', (block: string) => [user(`${block}\n\nWhat of pears?`), assistant('That.')]],
  ])('is kept with a summary that came back and %s, where no other one replaces it', (_, before) => {
    const [ref, trimmed] = ['covered', 'trimmed'].map((text) => tenant.refs.name(text, () => text));
    const line = `⟦removed: messages 13-20; reason=trimmed; ref=${trimmed}; tokens=9⟧`;
    const block = `${writeBlock('Pears weigh 12 grams.', ref, [1, 12])}\n\n${line}`;
    const steps = [1, 2, 3].map((at) => step(`call_${at}`, 'find', at < 3 ? 'ok' : lines(200)));
    const messages = [system('s'), ...before(block), user('What next?'), ...steps.flat()];
    const more = { token_budget: 1_000, summary_max_tokens: 4_000, keep_first_user: true };
    const { plan, view: shows } = view(messages, { ...more, keep_last_n_turns: 0 }, { force: true });

    expect([shows.summary, plan.trimmed?.from]).toEqual([undefined, 1]);
    if (!plan.trimmed) return;
    const { segments } = trimmedTranscript(plan.history, plan.trimmed, tenant, undefined, counter);
    expect(segments.map(({ text }) => text()).join()).toContain(block);
  });

  it('weighs as much as the report says', () => {
    const viewed = view(MESSAGES, {}, { words: short });
    const again = view(messagesOf(viewed));
    const error = (again.report.tokens?.before ?? 0) - (viewed.report.tokens?.after ?? 0);
    // Tokens of a line and of the text after it need not add up to the tokens of both together.
    expect(Math.abs(error)).toBeLessThanOrEqual(2);
    const line = viewed.view.trim?.line ?? '';
    expect(counter.text(line)).toBeLessThanOrEqual(64);
  });

  it('is named by one line when the view comes back as the array and is trimmed again', () => {
    const once = messagesOf(view(MESSAGES));
    const viewed = view([...once, assistant('Seen.'), ...talk(4), user('again?')]);
    expect(viewed.view.trim).toBeDefined();
    expect(brokenLaws(viewed)).toEqual([]);
    const text = JSON.stringify(messagesOf(viewed));
    expect(text.match(/reason=trimmed/g)).toHaveLength(1);
    expect(text.match(/<session_summary/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});
