/**
 * Which output is sent in place of a message. Clients' arrays have equal answers, so an output is
 * found by the place of its answer in the array, wherever a view leaves that.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { type AnswerOutputs, outputsIn, shownOutput } from '../../../../src/protocol/bridges/kept-outputs.ts';
import { shownAnswers } from '../../../../src/protocol/chat/shown-answers.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { calls, lines, type Message, result, system, user } from '../../../support/conversations/chat.ts';
import { roundOf } from '../../../support/laws/kept-rounds.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, viewOf } from '../../../support/laws/view-of.ts';

/** One step of a conversation. Ids and texts are of few kinds: answers are often equal. */
interface Step {
  readonly id: string;
  readonly text: string;
  /** Whether the client sends text and call as two messages. */
  readonly isSplit: boolean;
  readonly endsTurn: boolean;
  readonly isKept: boolean;
  readonly hasRounds: boolean;
  /** Whether the client has edited the answer since. */
  readonly isEdited: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    id: fc.constantFrom('call_a', 'call_b'),
    text: fc.constantFrom('', 'Yes.', 'No.'),
    isSplit: fc.boolean(),
    endsTurn: fc.boolean(),
    isKept: fc.boolean(),
    hasRounds: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
    isEdited: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
  }),
  { minLength: 1, maxLength: 14 },
);

const strategies: fc.Arbitrary<MemoryStrategyRequest | undefined> = fc.constantFrom<
  MemoryStrategyRequest | undefined
>(
  undefined,
  { mode: 'auto', token_budget: 1_500 },
  { mode: 'compact', token_budget: 900, min_reclaim_tokens: 0 },
  { mode: 'trim', token_budget: 900, keep_last_n_turns: 1 },
  { mode: 'summarize', token_budget: 900, keep_last_n_turns: 1 },
);

/** The messages of a step, which say in a field of their own where they are. */
function answered({ id, text, isSplit, endsTurn }: Step, at: number): Message[] {
  if (endsTurn) return [{ role: 'assistant', content: text || 'Done.' }, user(`Go on, ${at}.`)];
  const { role, ...called } = calls([id, 'find']);
  const split = [
    { role, content: text },
    { role, ...called },
  ];
  const answer = isSplit && text !== '' ? split : [{ role, ...called, content: text || null }];
  return [...answer, result(id, lines(at % 3 === 0 ? 60 : 3, `word${at}`))];
}

/** The array of a client, with the first message of each step. */
function conversationOf(all: readonly Step[]) {
  const messages: Message[] = [system('You find things.'), user('Find them.')];
  const firsts = all.map((step, at) => {
    messages.push(...answered(step, at));
    return messages.length - answered(step, at).length;
  });
  const named = messages.map((message, index) =>
    message.role === 'assistant' ? { ...message, name: `m${index}` } : message,
  );
  return { messages: named, firsts };
}

/** The index of the message after an answer. */
function endOf(messages: readonly Message[], first: number): number {
  const next = messages.findIndex(({ role }, index) => index >= first && role !== 'assistant');
  return next < 0 ? messages.length : next;
}

function kept(said: Message | Message[], name: string) {
  const [first, ...others] = [said].flat();
  const whole: Message = Object.assign({}, first, ...others, { content: first?.content });
  return shownOutput({ api: 'responses', json: name, message: whole }, sha256Hex);
}

describe('the outputs of earlier answers', () => {
  it('each replace their own answer, of equal ones, of forks and of edited arrays', () => {
    forAll(
      { numRuns: runs(75, 600), endOnFailure: true },
      steps,
      strategies,
      fc.boolean(),
      (all, strategy, hasOpenRound) => {
        const { messages, firsts } = conversationOf(all);
        const rounds = all.flatMap(({ hasRounds }, at) =>
          hasRounds && strategy ? [roundOf(firsts[at] ?? 0, 'A line.')] : [],
        );
        const roundsAt = new Map(rounds.map((one) => [one.message, one]));
        const answers: AnswerOutputs[] = all.flatMap(({ isKept }, at) => {
          const message = firsts[at] ?? 0;
          if (!isKept) return [];
          const end = endOf(messages, message);
          const round = roundsAt.get(message);
          const [before] = round ? (JSON.parse(`[${round.json}]`) as Message[]) : [];
          const own = kept(messages.slice(message, end), `m${message}`);
          return [{ message, end, outputs: [...(before ? [kept(before, `r${message}`)] : []), own] }];
        });
        const sent = messages.map((message, index) => {
          const isEdited = all.some((step, at) => step.isEdited && firsts[at] === index);
          return isEdited ? { ...message, content: 'Perhaps.' } : message;
        });
        const options = { rounds: rounds.toSorted((one, other) => one.message - other.message) };
        const viewed = viewOf({ model: 'gpt-6.2', messages: sent }, strategy ?? { mode: 'compact' }, options);
        const open = hasOpenRound ? [calls(['call_a', 'find']), result('call_a', 'A line.')] : [];
        const body = [...messagesOf(viewed), ...open] as Message[];
        const openRounds = open.slice(0, 1).map((said) => kept(said, 'open'));
        const shown = shownAnswers(viewed.request, viewed.view, 0);

        const found = outputsIn(body, answers, shown, openRounds, sha256Hex);

        expect(outputsIn(body, answers, shown, openRounds, sha256Hex)).toEqual(found);
        const names = shown.messages.map((index) => `m${index}`);
        expect(body.flatMap(({ name, role }) => (role === 'assistant' && name ? [name] : []))).toEqual(names);
        for (const [index, { json }] of found) {
          const { name, tool_calls } = body[index] ?? {};
          const { message, end } =
            answers.find(({ outputs }) => outputs.some((one) => one.json === json)) ?? {};
          if (json === 'open') expect(index).toBe(body.length - open.length);
          else if (json.startsWith('r'))
            expect((tool_calls as { id: string }[])[0]?.id).toBe(`fetch_${message}`);
          else if (json !== '[]') expect(name).toBe(json);
          else expect(messages.slice(0, end).some((one) => one.name === name)).toBe(true);
        }
        const replaced = [...found.keys()].flatMap((index) => body[index]?.tool_calls ?? []);
        expect([...found.values()].flatMap((one) => one.calls)).toEqual(replaced);
        // None is missed whose answer is as it was.
        const sentAs = new Map(body.map((message, index) => [message.name, { message, index }]));
        for (const { message, end } of answers) {
          const inBody = sent.slice(message, end).map(({ name }) => sentAs.get(name));
          const isWhole = inBody.every(
            (one, at) => JSON.stringify(one?.message) === JSON.stringify(messages[message + at]),
          );
          if (isWhole) expect(found.get(inBody[0]?.index ?? -1)?.json).toBe(`m${message}`);
        }
        if (hasOpenRound) expect(found.get(body.length - open.length)?.json).toBe('open');
      },
    );
  });

  it.each([
    [[{ type: 'reasoning', text: 'Hm.' }]],
    [[{ type: 'thinking', thinking: 'Hm.', text: 'Hm.' }]],
    [[]],
  ])('replace an answer that comes back in parts, after %j', (thoughts) => {
    const said: Message = { role: 'assistant', content: 'Yes.' };
    const parts: Message = { ...said, content: [...thoughts, { type: 'text', text: 'Yes.' }] };
    const messages = [user('One?'), parts, user('Two?')];
    const answers = [{ message: 1, end: 2, outputs: [kept(said, 'm1')] }];
    const { request } = viewOf({ model: 'gpt-6.2', messages }, { mode: 'compact' });
    const shown = shownAnswers(request, undefined, 0);
    // The second time its hashes are known.
    for (const hash of [sha256Hex, () => ''])
      expect(outputsIn(messages, answers, shown, [], hash).get(1)?.json).toBe('m1');
  });

  it('replace nothing else in place of a round of which none is kept', () => {
    const said: Message = { role: 'assistant', content: 'Yes.' };
    const messages = [user('One?'), said, user('Two?')];
    const answers = [{ message: 1, end: 2, outputs: [kept(said, 'm1')] }];
    const { request } = viewOf({ model: 'gpt-6.2', messages }, { mode: 'compact' });
    const shown = shownAnswers(request, undefined, 0);
    outputsIn(messages, answers, shown, [], sha256Hex);
    const fetched = ['a', 'b', 'c'].map((id) => [calls([id, 'find']), result(id, 'A line.')] as Message[]);
    const rounds = fetched.map(([call]) => kept(call ?? [], 'round'));
    const unkept = { api: 'responses', json: '[]', calls: '-', text: '-' } as const;
    const body = [...messages, ...fetched.flat()];
    const found = outputsIn(body, answers, shown, rounds.with(1, unkept), sha256Hex);
    expect([...found].map(([index, { json }]) => [index, json])).toEqual([
      [7, 'round'],
      [3, 'round'],
      [1, 'm1'],
    ]);
  });

  it('are none where an earlier answer of the same words is the one that is kept', () => {
    const said: Message = { role: 'assistant', content: 'Yes.' };
    const messages = [user('One?'), said, user('Two?'), said, user('Three?')];
    const { message, end } = { message: 1, end: 2 };
    const answers = [{ message, end, outputs: [kept(said, 'm1')] }];
    const { request } = viewOf({ model: 'gpt-6.2', messages }, { mode: 'compact' });
    const shown = shownAnswers(request, undefined, 0);
    expect([...outputsIn(messages, answers, shown, [], sha256Hex)]).toEqual([
      [1, expect.objectContaining({ json: 'm1' })],
    ]);
    const view = { ...viewOf({ model: 'gpt-6.2', messages }, { mode: 'compact' }).view };
    const without = shownAnswers(request, { ...view, dropped: new Set([0, 1]) }, 0);
    expect(outputsIn(messages.slice(2), answers, without, [], sha256Hex).size).toBe(0);
    expect(readHistory(request.messages).requestPoints).toHaveLength(3);
  });
});
