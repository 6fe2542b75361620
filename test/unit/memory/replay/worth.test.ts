/** Whether the report says so where the moves of `compact` cost more than they save. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { assistant, lines, step, user } from '../../../support/conversations/chat.ts';
import {
  counter,
  messagesOf,
  type Viewed,
  type ViewOptions,
  viewsOf,
} from '../../../support/laws/view-of.ts';

/** A conversation of many short turns, as with customer service. */
const conversation = (turns: number, rows: number, words = 8) => ({
  model: 'gpt-4.1',
  messages: [
    { role: 'system', content: lines(120, 'rule') },
    ...Array.from({ length: turns }, (_, at) => [
      user(`Question ${at}: ${lines(words, 'word')}`),
      ...step(`c${at}`, 'lookup', lines(rows, `row of ${at}`)),
      assistant(`Answer ${at}: ${lines(words, 'word')}`),
    ]).flat(),
    user('Thanks.'),
  ],
});

const PRICES = { cached: 0.1, written: 1 };
const SLIDE = { mode: 'compact', compact_trigger_turns: 2, compact_keep: 1 } as const;

const saysSo = ({ report }: Viewed) => report.warnings.includes('dearer');
const views = (
  body: ReturnType<typeof conversation>,
  strategy: MemoryStrategyRequest,
  more: ViewOptions = {},
) => viewsOf(body, strategy, { prices: PRICES, ...more });

/** What requests cost that are read from a cache as far as they begin with the request before. */
function costOf(requests: readonly (readonly object[])[]): number {
  let before: string[] = [];
  let cost = 0;
  for (const request of requests) {
    const texts = request.map((message) => JSON.stringify(message));
    const differs = texts.findIndex((text, at) => text !== before[at]);
    const same = differs < 0 ? texts.length : differs;
    for (const [at, text] of texts.entries()) cost += counter.text(text) * (at < same ? PRICES.cached : 1);
    before = texts;
  }
  return cost;
}

describe('moves that cost more than they save', () => {
  it.each([
    ['long words and small outputs', 12, 120, true],
    ['few words and large outputs', 400, 8, false],
  ])('are in the report as the bill has it: %s', (_, rows, words, isDearer) => {
    const body = conversation(12, rows, words);
    const made = views(body, SLIDE);
    const edited = costOf(made.map(messagesOf));
    const bare = costOf(views(body, { mode: 'compact' }).map(messagesOf));
    const last = made.at(-1);
    expect(edited > bare).toBe(isDearer);
    expect(last && saysSo(last)).toBe(isDearer);
  });

  it('are not in the report at the first move, which pays back later, nor where nothing is billed', () => {
    const body = conversation(12, 12, 120);
    const said = views(body, SLIDE).map(saysSo);
    const moved = views(body, SLIDE).map(({ plan }) => plan.replay.moves.length);
    expect(said[moved.indexOf(1)]).toBe(false);
    expect(said.at(-1)).toBe(true);
    expect(views(body, SLIDE, { prices: { ...PRICES, free: true } }).some(saysSo)).toBe(false);
    expect(views(conversation(12, 12, 120), { mode: 'compact' }).some(saysSo)).toBe(false);
  });

  it('are the ones after the preamble where the cache is read at boundaries without Precis’s marks', () => {
    const body = conversation(12, 60);
    const at = (boundaries: 'callers' | undefined) =>
      views(body, SLIDE, { prices: { ...PRICES, ...(boundaries ? { boundaries } : {}) } }).filter(saysSo)
        .length;
    expect(at('callers')).toBeGreaterThanOrEqual(at(undefined));
  });
});
