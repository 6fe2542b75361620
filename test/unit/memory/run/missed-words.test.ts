/** What the view of an observed request would have lacked of the words that its answer took. */
import { describe, expect, it } from 'vitest';
import { type ChatJson, Conversation } from '../../../../bench/replay/conversation.ts';
import { recording } from '../../../../fixtures/recording.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import { missedWords } from '../../../../src/memory/run/missed-words.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { calls, result } from '../../../support/conversations/chat.ts';
import { counter, viewsOf } from '../../../support/laws/view-of.ts';

const user = (content: string): ChatJson => ({ role: 'user', content });
const assistant = (content: string): ChatJson => ({ role: 'assistant', content });
const call = (id: string, input: object = {}): ChatJson => calls([id, 'run', JSON.stringify(input)]);
const output = (id: string, content: string): ChatJson => result(id, content);

function messagesOf(messages: readonly object[]) {
  const body = new TextEncoder().encode(JSON.stringify({ model: 'gpt-4.1', messages }));
  const read = readChatRequest(body);
  if (!read.ok) throw new Error(read.reason.message);
  return read.value.messages;
}

const LOOKED = [user('Look.'), call('a'), output('a', `ord-471147 ${'x '.repeat(400)} ord-471148`)];
const ANSWERED = [...LOOKED, assistant('It is ord-471147, not ord-471148.'), user('And?')];

/** A view in which a text replaces the output. */
const replaced = (replacement: string): View =>
  ({ removals: new Map([[2, [{ kind: 'output', replacement }]]]), dropped: new Set() }) as never;

const measured = (messages: readonly object[], view?: View, movedAt: number | undefined = 0) =>
  missedWords(messagesOf(messages), view, movedAt);

describe('the words that an answer took', () => {
  it('are in an unchanged array, and in what replaces an output as far as it has them', () => {
    expect(measured(ANSWERED)).toEqual({ words: 2, missed: 0 });
    expect(measured(ANSWERED, replaced('⟦removed: …⟧'))).toEqual({ words: 2, missed: 2 });
    expect(measured(ANSWERED, replaced('⟦removed: ord-471147 …⟧'))).toEqual({ words: 2, missed: 1 });
  });

  it('are missed with a message that leaves, unless the summary has them', () => {
    const dropped = { removals: new Map(), dropped: new Set([2]) } as never as View;
    expect(measured(ANSWERED, dropped)).toEqual({ words: 2, missed: 2 });
    const summary = { block: 'the order ord-471148' } as never as NonNullable<View['summary']>;
    expect(measured(ANSWERED, { ...dropped, summary })).toEqual({ words: 2, missed: 1 });
  });

  it('are not looked at where the view of then is not known, nor without an answer', () => {
    expect(measured(ANSWERED, replaced(''), 3)).toEqual({ words: 2, missed: 2 });
    expect(measured(ANSWERED, replaced(''), 4)).toBeUndefined();
    expect(missedWords(messagesOf(ANSWERED), replaced(''), undefined)).toBeUndefined();
    expect(measured([user('Look.')])).toBeUndefined();
  });

  it('are not looked at where that would take long', () => {
    const large = output('a', 'ord-471147 '.repeat(100_000));
    const answer = (words: number) =>
      assistant(Array.from({ length: words }, (_, at) => `ord-471147-${at}`).join(' '));
    expect(measured([user('Look.'), call('a'), large, answer(10), user('And?')])).toBeDefined();
    expect(measured([user('Look.'), call('a'), large, answer(100), user('And?')])).toBeUndefined();
  });

  it('are those that the benchmark counts, at each request of a recording', () => {
    const messages = recording.messages as readonly ChatJson[];
    const { nearUse } = new Conversation({ file: 'test', messages, reuse: [] }, counter);
    const counted = new Map<number, number>();
    for (const { used } of nearUse) counted.set(used, (counted.get(used) ?? 0) + 1);
    let words = 0;
    messages.forEach(({ role }, at) => {
      if (role !== 'assistant' || messages[at - 1]?.role === 'assistant') return;
      const found = measured(messages.slice(0, at + 1));
      expect(found?.words, `message ${at}`).toBe(counted.get(at) ?? 0);
      words += found?.words ?? 0;
    });
    expect(words).toBeGreaterThan(0);
  });
});

describe('the view of the request before', () => {
  it('follows from the next one’s, as long as the frontier has not moved', () => {
    const { model, tools, messages } = recording;
    const strategy = { mode: 'compact', token_budget: 6_000, compact_keep: 0 } as const;
    const views = viewsOf({ model, tools, messages } as never, strategy);
    let [known, missed] = [0, 0];
    views.forEach(({ view, plan, request }, at) => {
      const before = views[at - 1];
      if (!before) return;
      const movedAt = plan.replay.moves.at(-1)?.messages ?? 0;
      const found = missedWords(request.messages, view, movedAt);
      if (!found) return;
      known++;
      missed += found.missed;
      expect(found).toEqual(missedWords(request.messages, before.view, 0));
    });
    expect(known).toBeGreaterThan(5);
    expect(missed).toBeGreaterThan(0);
  });
});
