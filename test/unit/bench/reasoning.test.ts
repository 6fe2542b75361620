import { beforeAll, describe, expect, it } from 'vitest';
import { createIsolate, type Isolate } from '../../../bench/pipeline.ts';
import { Conversation } from '../../../bench/replay/conversation.ts';
import { replay } from '../../../bench/replay/measure.ts';
import { native } from '../../../bench/replay/native.ts';
import { type Policy, rewriting } from '../../../bench/replay/policy.ts';
import { ITEM_TOKENS, lossesOf, reasoningFigures, withReasoning } from '../../../bench/replay/reasoning.ts';
import { termsOfSchedule } from '../../../bench/replay/schedules.ts';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { lines, type Message, step, user } from '../../support/conversations/chat.ts';

let isolate: Isolate;
beforeAll(async () => {
  isolate = createIsolate(await loadTokenize('o200k_base'));
});

const none = rewriting('none', 'none', (all) => all);
const traceOf = (steps: number, question: (at: number) => boolean = () => false) => ({
  file: 'set',
  messages: [
    user('go'),
    ...Array.from({ length: steps }, (_, at) => [
      ...step(`c${at}`, 'find', lines(40, `${at}`)),
      ...(question(at) ? [user('and then?')] : []),
    ]).flat(),
  ] as Message[],
  reuse: [],
});
const conversationOf = (...given: Parameters<typeof traceOf>) =>
  new Conversation(withReasoning(traceOf(...given)), isolate.counter);
const lossesUnder = async (policy: Policy, conversation: Conversation, room = Number.POSITIVE_INFINITY) =>
  lossesOf(conversation, (await replay(policy, conversation)).requests, room);

describe('the reasoning that moves lose', () => {
  it('is one item per model call, of the same size', () => {
    const plain = new Conversation(traceOf(3), isolate.counter);
    const added = conversationOf(3).messages.map(
      ({ tokens }, index) => tokens - (plain.messages[index]?.tokens ?? 0),
    );
    expect(added.filter((tokens) => tokens > 0)).toHaveLength(3);
    for (const tokens of added.filter((tokens) => tokens > 0))
      expect(Math.abs(tokens - ITEM_TOKENS)).toBeLessThan(10);
  });

  it('is nothing where nothing changes, and all after a message that does', async () => {
    expect(await lossesUnder(none, conversationOf(6))).toEqual({
      ...{ moves: 0, lost: 0, carried: 0, open: 0, early: 0 },
    });
    // The output of the second step is cleared before the fifth answer, and what follows it goes.
    const clears = rewriting('clears', 'peer', (all) =>
      all.map((one, index) => (all.length > 9 && index === 4 ? { ...one, content: '' } : one)),
    );
    expect(await lossesUnder(clears, conversationOf(6))).toEqual({
      ...{ moves: 1, lost: 3, carried: 0, open: 1, early: 1 },
    });
    expect(await lossesUnder(clears, conversationOf(6), 100)).toMatchObject({ open: 1, early: 0 });
    // A policy may count more than it sends.
    const { requests } = await replay(clears, conversationOf(6));
    const counted = requests.map((request) => ({ ...request, counted: 90_000 }));
    expect(lossesOf(conversationOf(6), counted, 90_000)).toMatchObject({ open: 1, early: 0 });
    expect(lossesOf(conversationOf(6), counted, 100_000)).toMatchObject({ open: 1, early: 1 });
    // Here the user has asked anew before that answer.
    const asked = conversationOf(6, (at) => at === 4);
    expect(await lossesUnder(clears, asked)).toMatchObject({ moves: 1, open: 0 });
  });

  it('is carried by a compaction of the vendor', async () => {
    const { prices } = termsOfSchedule('gpt-6');
    const conversation = conversationOf(12);
    const policy = native('native', 4_000, prices);
    const { requests } = await replay(policy, conversation);
    const losses = lossesOf(conversation, requests, 0);
    expect(losses).toMatchObject({ lost: 0, open: 0, early: 0 });
    expect(losses.moves).toBeGreaterThan(1);
    expect(losses.carried).toBeGreaterThan(losses.moves);
    const sizes = requests.map(({ messages, overhead }) =>
      messages.reduce((sum, { tokens }) => sum + tokens, overhead),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4_000);
    expect(requests.filter(({ summaries }) => summaries > 0)).toHaveLength(losses.moves);
  });

  it('is never lost by `auto` in an open turn that has room', async () => {
    const traces = new Map([['set', [traceOf(90, (at) => at % 9 === 8)]]]);
    const figures = await reasoningFigures(traces, none, 'gpt-6', isolate);
    const auto = figures.filter(({ set, policy }) => set === 'all' && policy.startsWith('auto'));
    expect(auto).toHaveLength(3);
    expect(auto.map(({ early }) => early)).toEqual([0, 0, 0]);
    expect(auto[0]?.moves).toBeGreaterThan(0);
    const peer = figures.find(({ policy }) => policy.startsWith('clear_tool_uses, 32k'));
    expect(peer?.early).toBeGreaterThan(0);
  });
});
