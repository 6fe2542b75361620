import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Boundaries } from '../../../../src/memory/conversation/boundaries.ts';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import {
  type BudgetExceeded,
  dueMemory,
  planRolling,
  type RollingPlan,
} from '../../../../src/memory/plan/rolling.ts';
import { render, type ShownSummary } from '../../../../src/memory/plan/view.ts';
import { parseStrategy, type RollingStrategy } from '../../../../src/memory/strategy/strategy.ts';
import { tokenSums } from '../../../../src/memory/tokens/sums.ts';
import { readChatRequest, writeChatRequest } from '../../../../src/protocol/chat/request.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { violations } from '../../../../tools/upstream/strict-chat.ts';
import { conversation } from '../../../support/arbitrary-conversation.ts';
import { assistant, body, lines, step, system, user } from '../../../support/chat.ts';
import { counter } from '../../../support/view-of.ts';

type Message = Record<string, unknown>;

function rolling(fields: object = {}): RollingStrategy {
  const parsed = parseStrategy({ mode: 'rolling_summary', ...fields });
  if (!parsed.ok || parsed.value.mode !== 'rolling_summary') throw new Error('not a rolling strategy');
  return parsed.value;
}

/** Rounds of a question, a step and an answer; the last one is only asked. */
const rounds = (count: number, size = 10): Message[] => [
  ...Array.from({ length: count - 1 }, (_, at) => [
    user(`question ${at}`),
    ...step(`${at}`, 'f', lines(size, `out ${at}`)),
    assistant(`answer ${at}`),
  ]).flat(),
  user('the last question'),
];
/** Messages of one such round. */
const ROUND = 4;

function requestOf(messages: Message[]) {
  const read = readChatRequest(new TextEncoder().encode(JSON.stringify(body(messages))));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

interface Rolled {
  readonly rolled: RollingPlan;
  readonly shown: ShownSummary | undefined;
  readonly sent: Message[];
}

/** The view of an array whose messages before `end` a memory covers. */
function outcomeOf(
  messages: Message[],
  strategy: RollingStrategy,
  end: number | undefined,
  text = 'What was.',
) {
  const request = requestOf(messages);
  const history = readHistory(request.messages, strategy.text_observation_prefixes);
  const { rounds } = new Boundaries(history, sha256Hex);
  const memory = end === undefined ? undefined : { end, text, ref: undefined, moved: false };
  const sums = tokenSums(history, 0, counter);
  const outcome = planRolling(strategy, history, rounds, 'gpt-4.1', sums, memory, counter);
  return { request, history, outcome };
}

function roll(
  messages: Message[],
  strategy: RollingStrategy,
  end: number | undefined,
  text?: string,
): Rolled {
  const { request, outcome } = outcomeOf(messages, strategy, end, text);
  if ('budget' in outcome) throw new Error('the budget is exceeded');
  const { shown } = outcome;
  const view = render(outcome.plan, () => true, shown);
  const sent = JSON.parse(new TextDecoder().decode(writeChatRequest(request, view))).messages;
  return { rolled: outcome, shown, sent };
}

describe('a memory', () => {
  const over = (count: number) =>
    Array.from({ length: count }, (_, round) => ({
      prefixHash: `${round}`,
      end: 2 * round + 2,
      sequence: 2 * round + 1,
    }));

  it.each([
    [3, 0, 5],
    [7, 0, 13],
    [8, 2, 15],
    [10, 6, 19],
  ])(
    'after %i rounds is of the sequence numbers %i to %i, when nothing is to stay verbatim',
    (count, start, end) => {
      const due = dueMemory(rolling({ full_zone_turns: 0 }), over(count));
      expect(due).toEqual({ start, boundary: over(count).at(-1) });
      expect(due?.boundary.sequence).toBe(end);
    },
  );

  it('is not due before the sequence number at which summaries begin', () => {
    expect(dueMemory(rolling({ full_zone_turns: 0 }), over(2))).toBeUndefined();
    expect(dueMemory(rolling({ full_zone_turns: 0, summarize_after_seq: 6 }), over(3))).toBeUndefined();
    expect(dueMemory(rolling({ full_zone_turns: 0, summarize_after_seq: 0 }), over(1))).toBeDefined();
    expect(dueMemory(rolling(), [])).toBeUndefined();
  });

  it('covers up to the full zone, and is not due while there is nothing before that', () => {
    expect(dueMemory(rolling({ full_zone_turns: 5 }), over(5))).toBeUndefined();
    expect(dueMemory(rolling({ full_zone_turns: 5 }), over(6))).toEqual({ start: 0, boundary: over(6)[0] });
    expect(dueMemory(rolling({ full_zone_turns: 2, rolling_window_size: 4 }), over(9))).toEqual({
      start: 10,
      boundary: over(9)[6],
    });
  });
});

describe('a rolling view', () => {
  it('is the raw messages while no memory is ready, however long they are', () => {
    const messages = rounds(40, 60);
    const { rolled, sent } = roll(
      messages,
      rolling({ total_max_tokens: 100, overflow_policy: 'error' }),
      undefined,
    );
    expect(sent).toEqual(messages);
    expect(rolled).toMatchObject({ shown: undefined, trimmed: 0, plan: { dropped: [] } });
  });

  it('is the preamble, the memory, and everything after it verbatim', () => {
    const messages = [system('s'), ...rounds(6)];
    const { sent, rolled } = roll(messages, rolling(), 1 + 2 * ROUND);
    expect(sent.map(({ role }) => role).slice(0, 4)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(sent[2]?.content).toBe('<session_summary covers="1-8">\nWhat was.\n</session_summary>');
    expect(sent.slice(3)).toEqual(messages.slice(1 + 2 * ROUND));
    expect(rolled.trimmed).toBe(0);
  });

  it('says that the frontier moved when another memory is in use than before', () => {
    const messages = rounds(6);
    const { history } = outcomeOf(messages, rolling(), undefined);
    const { rounds: over } = new Boundaries(history, sha256Hex);
    for (const moved of [true, false]) {
      const memory = { end: 2 * ROUND, text: 'What was.', ref: undefined, moved };
      const planned = planRolling(
        rolling(),
        history,
        over,
        'gpt-4.1',
        tokenSums(history, 0, counter),
        memory,
        counter,
      );
      expect('plan' in planned && planned.plan.replay.moved).toBe(moved);
    }
  });

  describe('over its budget', () => {
    const messages = [system('s'), ...rounds(8, 20)];
    const end = 1 + 2 * ROUND;
    const tight = { total_max_tokens: 700 };
    const tokens = (from: number): number =>
      requestOf(messages)
        .messages.slice(from)
        .reduce((sum, message) => sum + counter.message(message), 0);

    it('drops the oldest verbatim rounds, as few as it must', () => {
      const { sent, rolled } = roll(messages, rolling(tight), end);
      const { rolled: wider } = roll(messages, rolling({ total_max_tokens: 1_000 }), end);
      expect(rolled.trimmed % ROUND).toBe(0);
      expect(rolled.trimmed).toBeGreaterThan(wider.trimmed);
      expect(wider.trimmed).toBeGreaterThan(0);
      expect(sent.slice(3)).toEqual(messages.slice(end + rolled.trimmed));
      // One round less would have been too much.
      const memory = counter.text('What was.') + 80;
      expect(memory + tokens(end + rolled.trimmed)).toBeLessThanOrEqual(700);
      expect(memory + tokens(end + rolled.trimmed - ROUND)).toBeGreaterThan(700);
    });

    it('never drops the last round, which is being worked on', () => {
      const { sent } = roll(messages, rolling({ total_max_tokens: 0 }), end);
      expect(sent.at(-1)).toEqual(user('the last question'));
      const working = [...messages, ...step('x', 'f', lines(200))];
      const { sent: more, rolled } = roll(working, rolling({ total_max_tokens: 0 }), end);
      expect(more.slice(3)).toEqual(working.slice(-3));
      expect(rolled.trimmed).toBe(working.length - 3 - end);
    });

    it('shortens the memory to the lines that fit', () => {
      const text = Array.from({ length: 30 }, (_, at) => `- line ${at}`).join('\n');
      const strategy = rolling({ total_max_tokens: tokens(end) + 150, overflow_policy: 'truncate_summary' });
      const { rolled, sent } = roll(messages, strategy, end, text);
      expect(rolled.trimmed).toBe(0);
      expect(sent.slice(3)).toEqual(messages.slice(end));
      const held = String(sent[2]?.content).split('\n').slice(1, -1);
      expect(held.length).toBeGreaterThan(0);
      expect(held.length).toBeLessThan(30);
      expect(text.split('\n').slice(0, held.length)).toEqual(held);
    });

    it('is refused where that is asked for, with what it has and what it may have', () => {
      const { outcome } = outcomeOf(messages, rolling({ ...tight, overflow_policy: 'error' }), end);
      expect(outcome).toEqual({ tokens: expect.any(Number), budget: 700 });
      expect((outcome as BudgetExceeded).tokens).toBeGreaterThan(700);
    });

    it('counts neither the preamble nor the tools against it', () => {
      const long = [system(lines(300)), ...messages.slice(1)];
      expect(roll(long, rolling(tight), end).rolled.trimmed).toBe(
        roll(messages, rolling(tight), end).rolled.trimmed,
      );
    });

    it('keeps to a token budget too, whichever is smaller', () => {
      const strategy = rolling({ total_max_tokens: 100_000, token_budget: 800 });
      const { rolled } = roll(messages, strategy, end);
      expect(rolled.trimmed).toBeGreaterThan(0);
    });

    it('does not say that the memory covers the rounds that were dropped', () => {
      const { shown, rolled } = roll(messages, rolling(tight), end);
      expect(rolled.trimmed).toBeGreaterThan(0);
      expect(shown?.covers).toEqual([1, end - 1]);
    });

    it.each(['truncate_oldest', 'truncate_summary'] as const)(
      'says that the frontier moved when %s changes what was sent before',
      (overflow_policy) => {
        const text = Array.from({ length: 30 }, (_, at) => `- line ${at}`).join('\n');
        const strategy = rolling({ total_max_tokens: 1_500, overflow_policy });
        const all = [system('s'), ...rounds(12, 20)];
        const { history } = outcomeOf(all, strategy, undefined);
        let earlier: Message[] | undefined;
        const moves: boolean[] = [];
        for (const point of history.requestPoints) {
          if (point.messages < end) continue;
          const { sent, rolled } = roll(all.slice(0, point.messages), strategy, end, text);
          const { moved } = rolled.plan.replay;
          if (earlier && !moved) expect(sent.slice(0, earlier.length)).toEqual(earlier);
          if (earlier && moved) expect(sent.slice(0, earlier.length)).not.toEqual(earlier);
          moves.push(moved);
          earlier = sent;
        }
        expect(new Set(moves)).toEqual(new Set([true, false]));
      },
    );
  });

  it('is valid, keeps the last round and never loses preamble, whatever the memory, the budget and the policy', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.nat(),
        fc.integer({ min: 0, max: 1_500 }),
        fc.constantFrom('truncate_oldest', 'truncate_summary'),
        fc.array(fc.constantFrom('a line', 'another line, which is longer'), { minLength: 1, maxLength: 60 }),
        ({ messages }, place, total_max_tokens, overflow_policy, text) => {
          const strategy = rolling({
            total_max_tokens,
            overflow_policy,
            text_observation_prefixes: ['Observation:'],
          });
          const request = requestOf(messages);
          const history = readHistory(request.messages, strategy.text_observation_prefixes);
          const over = new Boundaries(history, sha256Hex).betweenRounds();
          const end = over[place % Math.max(1, over.length)]?.end;
          const { rolled, sent } = roll(messages, strategy, end, text.join('\n'));
          expect(violations({ model: 'm', messages: sent }, { lenientFields: true })).toEqual([]);
          const dropped = new Set(rolled.plan.dropped);
          const last = history.units[history.turns.at(-1) ?? 0]?.first ?? 0;
          // A round that is over may be covered; one that is being worked on may not.
          const open = Math.max(last, end ?? 0);
          for (const index of dropped) {
            expect(index).toBeLessThan(Math.max(open, end ?? 0));
            expect(request.messages[index]?.role).not.toBe('preamble');
          }
          const kept = messages.filter((_, index) => !dropped.has(index));
          const put = rolled.shown ? { pair: 2, alone: 1, request: 0 }[rolled.shown.form] : 0;
          expect(sent).toHaveLength(kept.length + put);
          const own = new Set(kept.map((message) => JSON.stringify(message)));
          expect(sent.filter((message) => own.has(JSON.stringify(message)))).toHaveLength(kept.length);
          // Units go whole.
          for (const unit of history.units) {
            const inside = [...dropped].filter((index) => index >= unit.first && index <= unit.last).length;
            const all = request.messages.slice(unit.first, unit.last + 1);
            expect([0, all.filter(({ role }) => role !== 'preamble').length]).toContain(inside);
          }
        },
      ),
      { numRuns: 200, endOnFailure: true },
    );
  });

  it('extends the view of the request before while the memory stays, unless it says that the frontier moved', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.nat(),
        fc.integer({ min: 0, max: 1_500 }),
        fc.constantFrom('truncate_oldest', 'truncate_summary'),
        ({ messages }, place, total_max_tokens, overflow_policy) => {
          const prefixes = ['Observation:'];
          const strategy = rolling({
            total_max_tokens,
            overflow_policy,
            text_observation_prefixes: prefixes,
          });
          const { history } = outcomeOf(messages, strategy, undefined);
          const over = new Boundaries(history, sha256Hex).betweenRounds();
          const end = over[place % Math.max(1, over.length)]?.end ?? 0;
          let earlier: Message[] | undefined;
          for (const point of history.requestPoints) {
            if (point.messages < end) continue;
            const text = 'a line of it\n'.repeat(20);
            const { sent, rolled } = roll(
              messages.slice(0, point.messages),
              strategy,
              end || undefined,
              text,
            );
            if (earlier && !rolled.plan.replay.moved) expect(sent.slice(0, earlier.length)).toEqual(earlier);
            earlier = sent;
          }
        },
      ),
      { numRuns: 300, endOnFailure: true },
    );
  });
});
