/** Kept rounds in the next request: the upstream reads what it has said, and nothing twice. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Removal } from '../../../../src/memory/edits/removal.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { goOnChat } from '../../../../src/protocol/chat/calls.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';

type Json = Record<string, unknown>;

const OURS = new Set(['retrieve_ref']);
const ASKED: Json = { role: 'user', content: 'Go.' };
const AND_NOW: Json = { role: 'user', content: 'And now?' };
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const decode = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

let ids = 0;
const call = (name: string): Json => ({
  ...{ id: `call_${++ids}`, type: 'function' },
  function: { name, arguments: '{}' },
});

interface Played {
  readonly known: readonly Json[];
  readonly next: readonly Json[];
}

/**
 * Answers with rounds, and the request after them.
 *
 * @param sent what the client makes of the answer
 */
function played(
  rounds: readonly Json[],
  last: Json,
  sent: (message: Json) => Json = (message) => message,
  edits: Partial<View> = {},
): Played {
  const joined = chatFormat.joinBodies(OURS, () => true);
  const messages = [
    ...rounds.map((round) => ({ role: 'assistant', ...round, tool_calls: [call('retrieve_ref')] })),
    { role: 'assistant', ...last },
  ];
  let body = encode({ messages: [ASKED] });
  let answer: Json = {};
  const added: string[] = [];
  for (const message of messages) {
    const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
    const taken = joined.take(encode({ id: 'c', choices: [{ index: 0, message, finish_reason }] }));
    if (taken instanceof Uint8Array) answer = decode(taken).choices[0].message;
    else {
      const results = (taken as ToolTurn).calls.map(({ id }) => `result of ${id}`);
      const longer = goOnChat(body, taken as ToolTurn, results);
      body = longer.body;
      added.push(longer.added);
    }
  }
  const read = readChatRequest(encode({ messages: [ASKED, sent(answer), AND_NOW] }));
  if (!read.ok) throw new Error(read.reason.message);
  const view: View = {
    removals: new Map(),
    dropped: new Set(),
    tokens: 0,
    incomplete: false,
    rounds: new Map([[1, { json: added.join(','), rounds: added.length, tokens: 9 }]]),
    ...edits,
  };
  const next = decode(read.value.write(view, { marks: 4 })).messages;
  expect(next.at(-1)).toEqual(AND_NOW);
  return { known: [...decode(body).messages, messages.at(-1) ?? {}], next: next.slice(0, -1) };
}

const block = (thinking: string, signature: string): Json => ({ type: 'thinking', thinking, signature });
const summary = (text: string, signature: string): Json => ({
  ...{ type: 'reasoning', summary: [{ type: 'summary_text', text, signature }] },
});
const detail = (text: string, index = 0): Json => ({ type: 'reasoning.text', text, index });

describe('the view after a completion with rounds', () => {
  it('has words and thoughts where they were said', () => {
    const { known, next } = played(
      [{ content: 'Let me "look".\n', reasoning_content: 'One.', thinking_blocks: [block('One.', 's1')] }],
      { content: 'It is 42.', reasoning_content: 'Two.', thinking_blocks: [block('Two.', 's2')] },
    );
    expect(next).toEqual(known);
    const sealed = played([{ content: 'Look.', reasoning_text: 'One.', reasoning_opaque: 's1' }], {
      ...{ content: 'It is 42.', reasoning_text: 'Two.', reasoning_opaque: 's2' },
    });
    expect(sealed.next).toEqual(sealed.known);
    const text = (said: string): Json => ({ type: 'text', text: said });
    const summed = played([{ content: [summary('One.', 's1'), text('Look.')] }], {
      content: [summary('Two.', 's2'), text('It is 42.')],
    });
    expect(summed.next).toEqual(summed.known);
  });

  it('has empty thoughts too, without which Kimi and DeepSeek refuse a message', () => {
    const { known, next } = played([{ content: 'Look.', reasoning_content: '' }], {
      ...{ content: 'It is 42.', reasoning_content: '' },
    });
    expect(known[1]).toMatchObject({ reasoning_content: '' });
    expect(next).toEqual(known);
    const later = played([{ content: 'Look.', reasoning_content: 'One.' }], {
      ...{ content: 'It is 42.', reasoning_content: '' },
    });
    expect(later.next).toEqual(later.known);
  });

  it('has the details of the last answer alone, with the indices that the caller got', () => {
    const { next } = played([{ content: 'Look.', reasoning: 'One.', reasoning_details: [detail('One.')] }], {
      ...{ content: 'It is 42.', reasoning: 'Two.' },
      reasoning_details: [detail('Two.')],
    });
    expect(next.at(-1)).toMatchObject({ content: 'It is 42.', reasoning: 'Two.' });
    expect(next.at(-1)?.reasoning_details).toEqual([detail('Two.', 1)]);
  });

  it('has nothing of fields that the last answer had not', () => {
    const lists = { reasoning_details: [detail('One.')], thinking_blocks: [block('One.', 's1')] };
    const { next } = played(
      [{ content: 'Look.', reasoning: 'One.', ...lists, provider_specific_fields: lists }],
      { content: 'It is 42.' },
    );
    expect(next.at(-1)).toEqual({
      ...{ role: 'assistant', content: 'It is 42.' },
      provider_specific_fields: { reasoning_details: lists.reasoning_details },
    });
  });

  it('keeps words that the answer says again', () => {
    const { known, next } = played([{ content: 'Look.' }, { content: 'Look.' }], { content: 'Look.' });
    expect(next).toEqual(known);
  });

  it('has a message with calls and without words', () => {
    const { next } = played([{ content: 'Let me look.' }], { content: null, tool_calls: [call('edit')] });
    expect(next.at(-1)).toMatchObject({ content: null, tool_calls: [{ function: { name: 'edit' } }] });
  });

  it('keeps the words where they are all that was said', () => {
    const { next } = played([{ content: 'Let me look.' }], { content: '' });
    expect(next.at(-1)).toEqual({ role: 'assistant', content: 'Let me look.' });
  });

  it.each<[string, (message: Json) => Json, Json]>([
    [
      'as a part',
      (message) => ({ ...message, content: [{ type: 'text', text: message.content }] }),
      { content: [{ type: 'text', text: 'It is 42.' }] },
    ],
    [
      'as several parts',
      ({ content, ...message }) => ({
        ...message,
        content: [String(content).slice(0, 5), String(content).slice(5)].map((text) => ({
          type: 'text',
          text,
        })),
      }),
      { content: [{ type: 'text', text: 'It is 42.' }] },
    ],
    [
      'without white space at its ends',
      (message) => ({ ...message, content: String(message.content).trim() }),
      { content: 'It is 42.' },
    ],
    [
      'without tagged thinking',
      (message) => ({ ...message, content: String(message.content).replace(/<think>.*<\/think>\s*/s, '') }),
      { content: 'It is 42.' },
    ],
  ])('knows words that a client sends back %s', (_, sent, left) => {
    const { next } = played(
      [{ content: '\n<think>Hm.</think>\n\nLet me look. ' }],
      { content: 'It is 42.' },
      sent,
    );
    // Tags are only cut by the client that does so.
    expect(next.at(-1)).toEqual({ role: 'assistant', ...left });
  });

  it('keeps words that the caller has not seen twice, or has changed', () => {
    const { next } = played([{ content: 'Let me look.' }], { content: 'It is 42.' }, (message) => ({
      ...message,
      content: 'Let me see. It is 42.',
    }));
    expect(next.at(-1)?.content).toBe('Let me see. It is 42.');
  });

  it('is marked after what is left of the answer', () => {
    const { next } = played([{ content: 'Let me look.' }], { content: 'It is 42.' }, undefined, {
      marks: [1],
    });
    expect(next.at(-1)?.content).toEqual([
      expect.objectContaining({ text: 'It is 42.', prompt_cache_breakpoint: { mode: 'explicit' } }),
    ]);
  });

  it('has words once where thinking has left', () => {
    const cleared = { kind: 'reasoning', message: 1, call: -1, replacement: '' } as unknown as Removal;
    const edits = { removals: new Map([[1, [cleared]]]) };
    const thought = (text: string, signature: string): Json[] => [block(text, signature)];
    const text = (said: string): Json => ({ type: 'text', text: said });
    const { next } = played(
      [{ content: [...thought('One.', 's1'), text('Look.')], reasoning_content: 'One.' }],
      { content: [...thought('Two.', 's2'), text('It is 42.')], reasoning_content: 'Two.' },
      undefined,
      edits,
    );
    expect(next.at(-1)).toEqual({ role: 'assistant', content: [text('It is 42.')] });
  });

  it('is what the upstream has asked and said, whatever it said', () => {
    let signatures = 0;
    const words = fc.oneof(
      fc.constantFrom('Let me look.', '\n\n', 'Grüße 😀 \u2028"\\ \u0007'),
      fc.string({ unit: 'binary' }),
    );
    const thinking = fc
      .option(
        words.filter((text) => text !== ''),
        { nil: undefined },
      )
      .map((text) =>
        text === undefined
          ? {}
          : { reasoning_content: text, thinking_blocks: [block(text, `sig${signatures++}`)] },
      );
    const round = fc.record({ content: words, thinking });
    const last = fc.record({ content: words.filter((text) => text.trim() !== ''), thinking });
    const ofAnswer = ({ content, thinking: thought }: { content: string; thinking: Json }): Json => ({
      content,
      ...thought,
    });
    forAll(runs(50, 300), fc.array(round, { minLength: 1, maxLength: 3 }), last, (rounds, answer) => {
      const { known, next } = played(rounds.map(ofAnswer), ofAnswer(answer));
      // Whether the last answer had thoughts can't be seen where all of them are the rounds'.
      const { reasoning_content: thought, ...rest } = next.at(-1) ?? {};
      const isUnseen =
        known.at(-1)?.reasoning_content === undefined &&
        known.slice(0, -1).some(({ reasoning_content }) => reasoning_content !== undefined);
      const isOurs = thought === '' && isUnseen;
      expect(isOurs ? [...next.slice(0, -1), rest] : next).toEqual(known);
    });
  });
});
