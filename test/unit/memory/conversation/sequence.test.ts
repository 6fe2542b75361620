import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Boundaries } from '../../../../src/memory/conversation/boundaries.ts';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { roundsOf, sequenceNumbers, windowStart } from '../../../../src/memory/conversation/sequence.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { brokenConversation, conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, calls, read, result, step, system, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';

const historyOf = (messages: Record<string, unknown>[]) => readHistory(read(messages));
const rounds = (...messages: Record<string, unknown>[]) => roundsOf(historyOf(messages));
const numbers = (...messages: Record<string, unknown>[]) => {
  const history = historyOf(messages);
  return [...sequenceNumbers(history, roundsOf(history))];
};

describe('a round of a conversation', () => {
  it('is a user message and all that follows it up to the next, closed by an answer that calls nothing', () => {
    expect(rounds(user('a'), ...step('1', 'f', 'x'), assistant('done'), user('b'), assistant('yes'))).toEqual(
      [
        { first: 0, end: 4, answer: 3 },
        { first: 4, end: 6, answer: 5 },
      ],
    );
  });

  it('is not answered while its steps go on', () => {
    expect(rounds(user('a'), ...step('1', 'f', 'x'))).toEqual([{ first: 0, end: 3, answer: undefined }]);
    expect(rounds(user('a'), assistant('I look.'), ...step('1', 'f', 'x'))[0]?.answer).toBeUndefined();
    expect(rounds(user('a'), calls(['1', 'f']))[0]?.answer).toBeUndefined();
  });

  it('has only its last assistant message as its answer', () => {
    expect(rounds(user('a'), assistant('first'), assistant('second'))[0]?.answer).toBe(2);
  });

  it('holds whatever precedes the first user message', () => {
    expect(rounds(system('s'), assistant('Hello!'), user('a'), assistant('b'))).toEqual([
      { first: 0, end: 4, answer: 3 },
    ]);
  });

  it('is answered although a system message follows its answer, or is in its middle', () => {
    expect(
      rounds(user('a'), system('be brief'), assistant('b'), system('be kind'), user('c')).map(
        ({ end, answer }) => [end, answer],
      ),
    ).toEqual([
      [4, 2],
      [5, undefined],
    ]);
  });

  it('does not begin at a text observation', () => {
    const messages = [user('a'), assistant('ls'), user('Observation: x'), assistant('done')];
    expect(roundsOf(readHistory(read(messages), ['Observation:']))).toEqual([
      { first: 0, end: 4, answer: 3 },
    ]);
  });

  it('there is none of without a user message', () => {
    const history = historyOf([system('s'), assistant('Hello!')]);
    expect(roundsOf(history)).toEqual([]);
    expect([...sequenceNumbers(history, [])]).toEqual([-1, -1, -1]);
  });
});

describe('the sequence numbers of messages', () => {
  it('count user messages and closing answers, and no steps', () => {
    expect(
      numbers(user('a'), ...step('1', 'f', 'x'), assistant('done'), user('b'), assistant('yes')),
    ).toEqual([-1, 0, 0, 0, 1, 2, 3]);
  });

  it('pass over the preamble, wherever it is', () => {
    expect(numbers(system('s'), user('a'), system('t'), assistant('b'), system('u'), user('c'))).toEqual([
      -1, -1, 0, 0, 1, 1, 2,
    ]);
  });

  it('give a round that another follows both its numbers, answered or not', () => {
    expect(numbers(user('a'), user('b'), assistant('c'))).toEqual([-1, 1, 2, 3]);
    expect(numbers(user('a'), ...step('1', 'f', 'x'), user('b'))).toEqual([-1, 0, 0, 1, 2]);
  });

  it('end with the answer’s, or the question’s while there is none', () => {
    expect(numbers(user('a')).at(-1)).toBe(0);
    expect(numbers(user('a'), assistant('b')).at(-1)).toBe(1);
    expect(numbers(user('a'), assistant('b'), user('c'), calls(['1', 'f'])).at(-1)).toBe(2);
  });

  it('never fall, and are two for each round that is over', () => {
    forAll({ endOnFailure: true }, fc.oneof(conversation, brokenConversation), ({ messages }) => {
      const history = historyOf(messages);
      const over = roundsOf(history);
      const all = [...sequenceNumbers(history, over)];
      expect(all).toEqual(all.toSorted((a, b) => a - b));
      for (const [index, { end }] of over.slice(0, -1).entries()) expect(all[end]).toBe(2 * index + 1);
    });
  });

  it('do not change as the conversation grows, except for a round that ends without an answer', () => {
    forAll({ endOnFailure: true }, conversation, fc.nat(), ({ messages }, cut) => {
      const history = historyOf(messages);
      const whole = sequenceNumbers(history, roundsOf(history));
      const starts = roundsOf(history).map(({ end }) => end);
      const end = starts[cut % starts.length] ?? 0;
      const shorter = historyOf(messages.slice(0, end));
      const part = sequenceNumbers(shorter, roundsOf(shorter));
      expect([...part].slice(0, -1)).toEqual([...whole].slice(0, end));
    });
  });
});

describe('a rolling window', () => {
  it.each([
    [1, 0],
    [5, 0],
    [13, 0],
    [15, 2],
    [17, 4],
    [19, 6],
  ])('of 14 numbers up to %i starts at %i', (end, start) => {
    expect(windowStart(end, 14)).toBe(start);
  });

  it('starts at a user message, and never holds more than its size', () => {
    forAll({ endOnFailure: true }, fc.nat(10_000), fc.integer({ min: 2, max: 100 }), (round, size) => {
      const end = 2 * round + 1;
      const start = windowStart(end, size);
      expect(start % 2).toBe(0);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(end - start + 1).toBeLessThanOrEqual(size);
      // No earlier user message would do.
      if (start > 0) expect(end - (start - 2) + 1).toBeGreaterThan(size);
    });
  });
});

describe('the boundaries of prefixes', () => {
  const messages = [
    system('s'),
    user('a'),
    ...step('1', 'f', 'x'),
    assistant('b'),
    user('c'),
    assistant('d'),
    user('e'),
  ];
  const boundaries = new Boundaries(historyOf(messages), sha256Hex);

  it('are between units, with the last sequence number before them', () => {
    expect(boundaries.upTo(5).map(({ end, sequence }) => [end, sequence])).toEqual([
      [2, 0],
      [4, 0],
      [5, 1],
    ]);
  });

  it('are named by all that precedes them', () => {
    const hashes = boundaries.upTo(messages.length).map(({ prefixHash }) => prefixHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    const edited = messages.with(2, calls(['1', 'g']));
    const others = new Boundaries(historyOf(edited), sha256Hex).upTo(messages.length);
    expect(others.map(({ prefixHash }) => hashes.includes(prefixHash))).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('come after the rounds that are over', () => {
    expect(boundaries.betweenRounds().map(({ end, sequence }) => [end, sequence])).toEqual([
      [5, 1],
      [7, 3],
    ]);
  });

  it('are looked at wherever the frontier has been, however many there are', () => {
    const many = Array.from({ length: 1_200 }, (_, index) => [
      user(`q${index}`),
      assistant(`a${index}`),
    ]).flat();
    const all = new Boundaries(historyOf(many), sha256Hex);
    const bases = all.basesBefore(2_400, [3]);
    expect(bases).toHaveLength(1_001);
    expect(bases[0]?.end).toBe(3);
    expect(bases.at(-1)?.end).toBe(2_399);
  });
});

describe('the round of a late result', () => {
  it('F25: belongs to the round in which it comes, and leaves those before it as they were', () => {
    expect(
      rounds(user('a'), calls(['1', 'f']), user('wait'), assistant('yes'), result('1', 'x'), user('b')),
    ).toEqual([
      { first: 0, end: 2, answer: undefined },
      { first: 2, end: 5, answer: undefined },
      { first: 5, end: 6, answer: undefined },
    ]);
  });
});
