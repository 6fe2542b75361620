import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { RoundsInView } from '../../../../src/memory/replay/kept-rounds.ts';
import { NOWHERE } from '../../../../src/memory/replay/phase-standing.ts';
import { PhaseView } from '../../../../src/memory/replay/phase-view.ts';
import { tokenSums } from '../../../../src/memory/tokens/sums.ts';
import { assistant, lines, read, step, user } from '../../../support/conversations/chat.ts';
import { counter } from '../../../support/laws/view-of.ts';

describe('what is read from the cache where an output leaves', () => {
  const messages = [user('Go.'), ...step('a', 'f', lines(5)), ...step('b', 'f', lines(5)), user('On.')];
  const history = readHistory(read(messages));
  const sums = tokenSums(history, 10, counter);
  const settings = {
    shrinks: true,
    minReclaim: undefined,
    summaryTokens: 2_048,
    outputPrice: 5,
    echo: undefined,
    first: undefined,
  };
  const point = { messages: messages.length, units: history.units.length, turns: 2 };
  const size = { rounds: 1, bytes: 100 };
  const rounds = [
    { ...size, key: 'of a', message: 1, tokens: 7 },
    { ...size, key: 'of b', message: 3, tokens: 50 },
  ];

  it.each<[what: string, boundaries: 'unmarked' | undefined]>([
    ['any prefix', undefined],
    ['requests that have ended', 'unmarked'],
  ])('includes the rounds before it, and its own answer’s, with a cache of %s', (_, boundaries) => {
    const inView = new RoundsInView(history, rounds, 1_000);
    const view = new PhaseView(history, sums, { ...settings, boundaries }, inView);
    inView.arrive(messages.length, 0);
    const kept = (unit: number) => view.keptBefore(unit, point, NOWHERE);
    expect(kept(1)).toBe(sums.before(1) + 7);
    expect(kept(2)).toBe(sums.before(3) + 57);
  });
});

describe('thinking after rounds that are over a bound alone', () => {
  it('may be bound to them in each message of their answer', () => {
    const said = [assistant('I look.'), ...step('a', 'f', 'found')];
    const history = readHistory(read([user('Go.'), ...said, user('On.')]));
    const large = { key: 'of a', message: 1, rounds: 1, bytes: 100, tokens: 300 };
    expect(new RoundsInView(history, [large], 1_000).unshownBefore).toBe(3);
    expect(new RoundsInView(history, [{ ...large, tokens: 200 }], 1_000).unshownBefore).toBe(0);
  });
});
