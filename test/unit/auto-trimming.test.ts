import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../src/memory/strategy.ts';
import { assistant, body, lines, step, system, user } from '../support/chat.ts';
import { brokenLaws, brokenPrefix } from '../support/laws.ts';
import {
  counter,
  messagesOf,
  short,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewsOf,
} from '../support/view-of.ts';

type Message = Record<string, unknown>;
type AutoInput = Omit<Extract<MemoryStrategyRequest, { mode: 'auto' }>, 'mode'>;

/** A budget that holds little more than two turns, each of which nothing but words could shorten. */
const INPUT = {
  mode: 'auto',
  token_budget: 1_500,
  summary_max_tokens: 64,
  min_reclaim_tokens: 0,
  low_watermark_pct: 0.9,
} as const;

const turn = (at: number): Message[] => [
  user(`What of ${at}?`),
  assistant(`This: ${lines(60, `answer ${at}`)}`),
];
const talk = (n: number): Message[] => Array.from({ length: n }, (_, at) => turn(at)).flat();
const view = (messages: Message[], more: AutoInput = {}, options: ViewOptions = {}): Viewed =>
  viewOf(body(messages), { ...INPUT, ...more }, options);
const shown = (viewed: Viewed): string[] =>
  messagesOf(viewed).map(({ content }) => String(content).split('\n')[0] ?? '');

/** Five turns behind a system message: two in a summary, the next one trimmed, the tail as it is. */
const MESSAGES = [system('s'), ...talk(4), user('next?')];

describe('what auto trims', () => {
  it('is what a summary does not reach, and the line that stands for it opens the next user message', () => {
    const viewed = view(MESSAGES);
    expect(viewed.report.applied_edits).toMatchObject([
      { type: 'summarize', messages: 4 },
      { type: 'trim', messages: 2 },
    ]);
    expect(shown(viewed)).toEqual([
      's',
      'Please recall what has happened in our conversation so far.',
      expect.stringMatching(/^<session_summary ref="ref_[a-z2-7]{26}" covers="1-4">$/),
      expect.stringMatching(/^⟦removed: messages 5-6; reason=trimmed; ref=ref_[a-z2-7]{26}; tokens=\d+⟧$/),
      'This: answer 3 0: value 0',
      'next?',
    ]);
    expect(String(messagesOf(viewed)[3]?.content)).toMatch(/⟧\n\nWhat of 3\?$/);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is nothing where a summary is enough', () => {
    expect(view(MESSAGES, { token_budget: 2_000 }).view.trim).toBeUndefined();
  });

  it('is nothing between soft and hard budget', () => {
    expect(view(MESSAGES, { token_budget: 3_000, token_soft_budget: 500 }).plan.dropped).toEqual([]);
  });

  it('is named without a ref where there is no tenant', () => {
    const [, , , line] = shown(view(MESSAGES, {}, { tenant: undefined }));
    expect(line).toBe('⟦removed: messages 5-6; reason=trimmed⟧');
  });

  it('stays where it is not known to be kept, and is counted', () => {
    const viewed = view(MESSAGES, {}, { isStored: () => false });
    expect(viewed.view.trim).toBeUndefined();
    expect(shown(viewed).slice(3, 5)).toEqual(['What of 2?', 'This: answer 2 0: value 0']);
    expect(viewed.report.warnings).toEqual(['store_failed']);
    expect(viewed.report.tokens?.after).toBe(view(messagesOf(viewed)).report.tokens?.before);
  });

  it('stays where the summary before it has no words', () => {
    const viewed = view(MESSAGES, {}, { words: () => undefined });
    expect([viewed.view.dropped.size, viewed.view.trim]).toEqual([0, undefined]);
  });

  it('is kept in segments, one for each move that trims', () => {
    const views = viewsOf(body(talk(12)), { ...INPUT, token_budget: 2_100 });
    const ends = views.map(({ plan }) => plan.trimmed?.ends ?? []);
    expect(ends.flat()).not.toEqual([]);
    for (const [index, later] of ends.entries()) {
      const earlier = ends[index - 1] ?? [];
      // A summary that is made anew takes in what was trimmed.
      const isNew = views[index]?.plan.prefix?.end !== views[index - 1]?.plan.prefix?.end;
      if (!isNew) expect(later.slice(0, earlier.length)).toEqual(earlier);
    }
  });

  it('begins a turn or a step: pairs stay, and so does the request that is being worked on', () => {
    const work = [...'abcdefghij'].flatMap((name) => [
      { ...step(name, name, 'ok')[0], content: lines(40, `thought ${name}`) },
      ...step(name, name, 'ok').slice(1),
    ]);
    for (const options of [{}, { words: short }]) {
      const views = viewsOf(body([user('Mend it.'), ...work]), INPUT, options);
      expect(views.some(({ view }) => view.trim)).toBe(true);
      for (const [index, viewed] of views.entries()) {
        const earlier = views[index - 1];
        expect([...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])]).toEqual([]);
        expect(String(messagesOf(viewed)[0]?.content)).toMatch(/Mend it\.$/);
      }
    }
  });

  it('weighs as much as the report says', () => {
    const viewed = view(MESSAGES, {}, { words: short });
    const again = view(messagesOf(viewed));
    const error = (again.report.tokens?.before ?? 0) - (viewed.report.tokens?.after ?? 0);
    // Tokens of a line and of what it opens need not add up to those of both.
    expect(Math.abs(error)).toBeLessThanOrEqual(2);
    const line = viewed.view.trim?.line ?? '';
    expect(counter.text(line)).toBeLessThanOrEqual(64);
  });

  it('is named by one line when the view comes back as the array and is trimmed again', () => {
    const once = messagesOf(view(MESSAGES));
    const later = [...once, assistant('Seen.'), ...talk(4), user('again?')];
    const viewed = view(later);
    expect(viewed.view.trim).toBeDefined();
    expect(brokenLaws(viewed)).toEqual([]);
    const text = JSON.stringify(messagesOf(viewed));
    expect(text.match(/reason=trimmed/g)).toHaveLength(1);
    expect(text.match(/<session_summary/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});
