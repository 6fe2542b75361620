import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Boundaries } from '../../../../src/memory/conversation/boundaries.ts';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import type { ShownSummary } from '../../../../src/memory/edits/shown-summary.ts';
import type { RollingStrategy } from '../../../../src/memory/modes/rolling-summary.ts';
import { parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import { dueMemory } from '../../../../src/memory/plan/due-memory.ts';
import type { Plan } from '../../../../src/memory/plan/plan.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { violations } from '../../../../tools/upstream/strict-chat.ts';
import { conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { bodyOf, counter, messagesOf, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

function rolling(fields: object = {}): RollingStrategy {
  const parsed = parseStrategy({ mode: 'rolling_summary', ...fields });
  if (!parsed.ok || parsed.value.mode !== 'rolling_summary') throw new Error('not a rolling strategy');
  return parsed.value;
}

/** Rounds of a question, a step and an answer. The last one has only a question. */
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
  readonly plan: Plan;
  readonly view: View;
  readonly shown: ShownSummary | undefined;
  /** Messages of the oldest verbatim rounds that have left the view. */
  readonly trimmed: number;
  /** Without the line that names them, which opens the next round. */
  readonly sent: Message[];
}

/** The view of an array with a memory of the messages before `end`. */
function viewedOf(
  messages: Message[],
  strategy: RollingStrategy,
  end: number | undefined,
  text = 'What was.',
  moved = false,
): Viewed {
  const memory = end === undefined ? undefined : { end, text, ref: undefined, moved };
  return viewOf(body(messages), strategy, { memory });
}

function roll(
  messages: Message[],
  strategy: RollingStrategy,
  end: number | undefined,
  text?: string,
): Rolled {
  const viewed = viewedOf(messages, strategy, end, text);
  const { plan, view, report } = viewed;
  const trim = report.applied_edits.find(({ type }) => type === 'trim');
  const trimmed = trim?.type === 'trim' ? trim.messages : 0;
  expect([view.trim?.request?.message, view.trim?.line]).toEqual(
    trimmed > 0
      ? [expect.any(Number), expect.stringMatching(/^⟦removed: messages \d+-\d+; reason=trimmed; ref=ref_/)]
      : [undefined, undefined],
  );
  // The report says what is sent.
  expect(report.tokens?.after).toBe(viewOf(bodyOf(viewed.bytes), { mode: 'compact' }).report.tokens?.before);
  const sent = messagesOf(viewed).map((message) => withoutLine(message, view.trim?.line));
  return { plan, view, shown: view.summary, trimmed, sent };
}

function withoutLine(message: Message, line = ''): Message {
  const { content } = message;
  const text = JSON.stringify(content) ?? '';
  if (line === '' || !text.includes(JSON.stringify(line).slice(1, -1))) return message;
  return {
    ...message,
    content: Array.isArray(content) ? content.slice(1) : String(content).slice(line.length + 2),
  };
}

describe('a rolling memory', () => {
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

  it('is due by default from the third round on, as the sequence number says', () => {
    expect(dueMemory(rolling(), over(2))).toBeUndefined();
    expect(dueMemory(rolling(), over(3))).toEqual({ start: 0, boundary: over(3)[0] });
    expect(dueMemory(rolling({ summarize_after_seq: 6 }), over(3))).toBeUndefined();
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
  describe('while no memory is ready', () => {
    const messages = [system('s'), ...rounds(40, 20)];
    const tokens = (sent: readonly Message[]): number =>
      requestOf([...sent])
        .messages.slice(1)
        .reduce((sum, message) => sum + counter.message(message), 0);
    const whole = tokens(messages);
    const policies = ['truncate_oldest', 'truncate_summary'] as const;

    it.each([...policies, 'error'] as const)('is the raw messages that fit to the token (%s)', (policy) => {
      const strategy = rolling({ total_max_tokens: whole, overflow_policy: policy });
      const rolled = roll(messages, strategy, undefined);
      expect(rolled.sent).toEqual(messages);
      expect(rolled).toMatchObject({ shown: undefined, trimmed: 0, plan: { dropped: [] } });
      expect(rolled.plan.exceeded).toBeUndefined();
    });

    it.each(policies)('is without the oldest rounds, whole, over its budget (%s)', (policy) => {
      const strategy = rolling({ total_max_tokens: 3_000, overflow_policy: policy });
      const { sent, trimmed, plan } = roll(messages, strategy, undefined);
      expect(trimmed % ROUND).toBe(0);
      expect(sent).toEqual([messages[0], ...messages.slice(1 + trimmed)]);
      // With one round fewer it would not have fit.
      expect(tokens(sent)).toBeLessThanOrEqual(3_000);
      expect(tokens(messages) - tokens(messages.slice(0, 1 + trimmed - ROUND))).toBeGreaterThan(3_000);
      expect(plan.replay.trigger).toBe('token_budget');
    });

    it('keeps rounds whose transcript is not known to be stored', () => {
      const strategy = rolling({ total_max_tokens: 3_000 });
      for (const end of [undefined, 1 + ROUND]) {
        const memory =
          end === undefined ? undefined : { end, text: 'What was.', ref: undefined, moved: false };
        const { view, report, bytes } = viewOf(body(messages), strategy, { memory, isStored: () => false });
        expect(messagesOf({ bytes }).slice(1 - messages.length + ROUND)).toEqual(messages.slice(1 + ROUND));
        expect([...view.dropped]).toEqual(end === undefined ? [] : [1, 2, 3, 4]);
        expect(report.warnings).toEqual(['over_budget', 'store_failed']);
        expect(report.tokens?.after).toBe(viewOf(bodyOf(bytes), { mode: 'compact' }).report.tokens?.before);
      }
    });

    it('is refused over its budget where that is asked for', () => {
      const strategy = rolling({ total_max_tokens: whole - 1, overflow_policy: 'error' });
      const { plan } = viewedOf(messages, strategy, undefined);
      expect(plan.exceeded).toEqual({ tokens: whole, budget: whole - 1 });
      expect(plan.dropped).toEqual([]);
    });

    it.each(policies)('is bounded too by a memory that is longer than what it covers (%s)', (policy) => {
      const strategy = rolling({ total_max_tokens: 3_000, overflow_policy: policy });
      const { sent, shown } = roll(messages, strategy, 1 + ROUND, 'a long line\n'.repeat(400));
      expect(shown).toBeUndefined();
      expect(tokens(sent)).toBeLessThanOrEqual(3_000);
    });
  });

  it('is the preamble, the memory, and everything after it verbatim', () => {
    const messages = [system('s'), ...rounds(6)];
    const { sent, trimmed } = roll(messages, rolling(), 1 + 2 * ROUND);
    expect(sent.map(({ role }) => role).slice(0, 4)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(sent[2]?.content).toBe('<session_summary covers="1-8">\nWhat was.\n</session_summary>');
    expect(sent.slice(3)).toEqual(messages.slice(1 + 2 * ROUND));
    expect(trimmed).toBe(0);
  });

  it('says that the frontier moved when another memory is in use than before', () => {
    const messages = rounds(6);
    for (const moved of [true, false])
      expect(viewedOf(messages, rolling(), 2 * ROUND, undefined, moved).plan.replay.moved).toBe(moved);
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
      const { sent, trimmed } = roll(messages, rolling(tight), end);
      const wider = roll(messages, rolling({ total_max_tokens: 1_000 }), end);
      expect(trimmed % ROUND).toBe(0);
      expect(trimmed).toBeGreaterThan(wider.trimmed);
      expect(wider.trimmed).toBeGreaterThan(0);
      expect(sent.slice(3)).toEqual(messages.slice(end + trimmed));
      // With one round fewer it would not have fit.
      const memory = counter.text('What was.') + 80;
      expect(memory + tokens(end + trimmed)).toBeLessThanOrEqual(700);
      expect(memory + tokens(end + trimmed - ROUND)).toBeGreaterThan(700);
    });

    it('never drops the last round, which is being worked on', () => {
      const { sent } = roll(messages, rolling({ total_max_tokens: 0 }), end);
      expect(sent.at(-1)).toEqual(user('the last question'));
      const working = [...messages, ...step('x', 'f', lines(200))];
      const { sent: more, trimmed } = roll(working, rolling({ total_max_tokens: 0 }), end);
      expect(more.slice(3)).toEqual(working.slice(-3));
      expect(trimmed).toBe(working.length - 3 - end);
    });

    it('shortens the memory to the lines that fit', () => {
      const text = Array.from({ length: 30 }, (_, at) => `- line ${at}`).join('\n');
      const strategy = rolling({ total_max_tokens: tokens(end) + 150, overflow_policy: 'truncate_summary' });
      const { trimmed, sent } = roll(messages, strategy, end, text);
      expect(trimmed).toBe(0);
      expect(sent.slice(3)).toEqual(messages.slice(end));
      const held = String(sent[2]?.content).split('\n').slice(1, -1);
      expect(held.length).toBeGreaterThan(0);
      expect(held.length).toBeLessThan(30);
      expect(text.split('\n').slice(0, held.length)).toEqual(held);
    });

    it('shortens the memory to nothing, and then drops rounds as few as it must', () => {
      const text = Array.from({ length: 30 }, (_, at) => `- line ${at}`).join('\n');
      const strategy = rolling({ ...tight, overflow_policy: 'truncate_summary' });
      const { sent, trimmed } = roll(messages, strategy, end, text);
      expect(sent[2]?.content).toContain('\n(none)\n');
      expect(trimmed).toBe(roll(messages, rolling(tight), end, '(none)').trimmed);
      expect(trimmed).toBeGreaterThan(0);
    });

    it('drops all rounds but the last, and then shortens the memory to the lines that fit', () => {
      const text = Array.from({ length: 200 }, (_, at) => `- line ${at}`).join('\n');
      const long = [system('s'), ...rounds(8, 60)];
      const strategy = rolling({ total_max_tokens: 400 });
      const { sent, plan } = roll(long, strategy, end, text);
      expect(sent).toHaveLength(4);
      const kept = String(sent[2]?.content).split('\n').slice(1, -1);
      expect(kept.length).toBeGreaterThan(10);
      expect(text.split('\n').slice(0, kept.length)).toEqual(kept);
      const view = requestOf(sent).messages.slice(1);
      expect(view.reduce((sum, message) => sum + counter.message(message), 0)).toBeLessThanOrEqual(400);
      expect(plan.exceeded).toBeUndefined();
    });

    it('is refused where that is asked for, with what it has and what it may have', () => {
      const { exceeded } = viewedOf(messages, rolling({ ...tight, overflow_policy: 'error' }), end).plan;
      expect(exceeded).toEqual({ tokens: expect.any(Number), budget: 700 });
      expect(exceeded?.tokens).toBeGreaterThan(700);
    });

    it('counts neither the preamble nor the tools against it', () => {
      const long = [system(lines(300)), ...messages.slice(1)];
      expect(roll(long, rolling(tight), end).trimmed).toBe(roll(messages, rolling(tight), end).trimmed);
    });

    it('keeps to a token budget too, whichever is smaller', () => {
      const strategy = rolling({ total_max_tokens: 100_000, token_budget: 800 });
      const { trimmed } = roll(messages, strategy, end);
      expect(trimmed).toBeGreaterThan(0);
    });

    it('does not say that the memory covers the rounds that were dropped', () => {
      const { shown, trimmed } = roll(messages, rolling(tight), end);
      expect(trimmed).toBeGreaterThan(0);
      expect(shown?.covers).toEqual([1, end - 1]);
    });

    it.each(['truncate_oldest', 'truncate_summary'] as const)(
      'says that the frontier moved when %s changes what was sent before',
      (overflow_policy) => {
        const text = Array.from({ length: 30 }, (_, at) => `- line ${at}`).join('\n');
        const strategy = rolling({ total_max_tokens: 1_500, overflow_policy });
        const all = [system('s'), ...rounds(12, 20)];
        const { history } = viewedOf(all, strategy, undefined).plan;
        let earlier: Message[] | undefined;
        const moves: boolean[] = [];
        for (const point of history.requestPoints) {
          if (point.messages < end) continue;
          const { sent, plan } = roll(all.slice(0, point.messages), strategy, end, text);
          const { moved } = plan.replay;
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
    forAll(
      { numRuns: runs(12, 200), endOnFailure: true },
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
        const { view, shown, sent } = roll(messages, strategy, end, text.join('\n'));
        expect(violations({ model: 'm', messages: sent }, { lenientFields: true })).toEqual([]);
        const { dropped } = view;
        const last = history.units[history.turns.at(-1) ?? 0]?.first ?? 0;
        // A memory may cover a round that is over, but not one in progress.
        const open = Math.max(last, end ?? 0);
        for (const index of dropped) {
          expect(index).toBeLessThan(Math.max(open, end ?? 0));
          expect(request.messages[index]?.role).not.toBe('preamble');
        }
        const kept = messages.filter((_, index) => !dropped.has(index));
        const put = shown ? { pair: 2, alone: 1, request: 0, recap: 0, signed: 1 }[shown.form] : 0;
        expect(sent).toHaveLength(kept.length + put);
        const own = new Set(kept.map((message) => JSON.stringify(message)));
        expect(sent.filter((message) => own.has(JSON.stringify(message)))).toHaveLength(kept.length);
        // Units leave as a whole.
        for (const unit of history.units) {
          const inside = [...dropped].filter((index) => index >= unit.first && index <= unit.last).length;
          const all = request.messages.slice(unit.first, unit.last + 1);
          expect([0, all.filter(({ role }) => role !== 'preamble').length]).toContain(inside);
        }
      },
    );
  });

  it.each(['/help', '\n\n/help', ' ', '?'])('counts the line before a text: %j', (text) => {
    const rounds = Array.from({ length: 4 }, (_, n) => [user(lines(300, `q${n}`)), assistant('Yes.')]);
    const { trimmed } = roll([...rounds.flat(), user(text)], rolling({ total_max_tokens: 200 }), undefined);

    expect(trimmed).toBe(8);
  });

  it('extends the view of the request before while the memory stays, unless it says that the frontier moved', () => {
    forAll(
      { numRuns: runs(8, 300), endOnFailure: true },
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
        const { history } = viewedOf(messages, strategy, undefined).plan;
        const over = new Boundaries(history, sha256Hex).betweenRounds();
        const end = over[place % Math.max(1, over.length)]?.end ?? 0;
        let earlier: Message[] | undefined;
        for (const point of history.requestPoints) {
          if (point.messages < end) continue;
          const text = 'a line of it\n'.repeat(20);
          const { sent, plan } = roll(messages.slice(0, point.messages), strategy, end || undefined, text);
          if (earlier && !plan.replay.moved) expect(sent.slice(0, earlier.length)).toEqual(earlier);
          earlier = sent;
        }
      },
    );
  });
});
