/**
 * Thinking in a loop of tools: an upstream that binds each thought to all that precedes it, and
 * refuses what the API refuses, takes every next request of a client that has no thoughts.
 */
import { describe, expect, it } from 'vitest';
import { Frame } from '../../../../../src/protocol/answers/sse.ts';
import type { KeptOutput } from '../../../../../src/protocol/bridges/bridge.ts';
import { blocksIn, nextThought } from '../../../../../tools/upstream/bound-thinking.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../../../tools/upstream/message.ts';
import { violations } from '../../../../../tools/upstream/strict-messages.ts';
import { bridged, bytesOf, type Json, parsed, text } from './bridged.ts';

const MODEL = 'claude-sonnet-5-5';
const TOOLS = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }];

const call = (name: string, args = '{}') => ({ id: `toolu_${name}`, name: 'read', arguments: args });
const cited = (words: string): Json =>
  text(words, { citations: [{ type: 'char_location', cited_text: 'a', document_index: 0 }] });

/** What an answer says after its thought, by its turn. */
const SHAPES: Readonly<Record<string, (turn: number) => MessageAnswer>> = {
  'a call': (n) => ({ toolCalls: [call(`${n}`)] }),
  'words and a call': (n) => ({ content: `I look, ${n}.`, toolCalls: [call(`${n}`, '{"at": 1.0}')] }),
  'calls at once': (n) => ({ toolCalls: [call(`${n}a`), call(`${n}b`), call(`${n}c`)] }),
  'words and calls': (n) => ({ content: 'I look.', toolCalls: [call(`${n}a`), call(`${n}b`)] }),
  'words alone': (n) => ({ content: `It is ${n}.` }),
  'the same words each time': () => ({ content: 'It is.' }),
  'cited words': (n) => ({ blocks: [text(`It is ${n}`), cited(', as a says')] }),
};

/** An upstream that thinks before each answer, and a client. */
class Loop {
  readonly messages: Json[] = [
    { role: 'system', content: 'Be.' },
    { role: 'user', content: 'Go.' },
  ];
  readonly kept = new Map<number, KeptOutput>();

  asked(kept: ReadonlyMap<number, KeptOutput> = this.kept) {
    return bridged({ model: MODEL, messages: this.messages, tools: TOOLS }, {}, (at) => kept.get(at));
  }

  /** The upstream answers, and the client sends the answer back with what follows it. */
  answer(said: MessageAnswer, turn: number, streams: boolean): void {
    const { body, reader } = this.asked();
    const thinking = nextThought(body, `Thought ${turn}.`);
    const answer = { id: `${turn}`, thinking, ...said };
    const { message, kept } = streams ? streamed(reader, body, answer) : whole(reader, body, answer);
    if (kept) this.kept.set(this.messages.length, kept);
    this.messages.push({ role: 'assistant', ...message });
    const calls = (message.tool_calls ?? []) as Json[];
    for (const { id } of calls) this.messages.push({ role: 'tool', tool_call_id: id, content: 'out' });
    if (calls.length === 0) this.messages.push({ role: 'user', content: 'More.' });
  }
}

type Reader = ReturnType<Loop['asked']>['reader'];
type Answered = { readonly message: Json; readonly kept: KeptOutput | undefined };

function whole(reader: Reader, body: Json, answer: MessageAnswer): Answered {
  const { body: chat, kept } = reader.answer(bytesOf(messageOf(body, answer)));
  const { content, tool_calls } = (parsed(chat).choices as { message: Json }[])[0]?.message ?? {};
  return { message: { content, ...(tool_calls ? { tool_calls } : {}) }, kept };
}

function streamed(reader: Reader, body: Json, answer: MessageAnswer): Answered {
  const stream = reader.stream();
  const frames = [...messageEvents(body, answer)].flatMap((event) => {
    const [, data = ''] = /^data: (.*)$/m.exec(event) ?? [];
    return stream.push(Frame.of(data, String((JSON.parse(data) as Json).type)));
  });
  const chunks = frames.flatMap((frame) => {
    const [, data = '[DONE]'] = /^data: (.*)$/m.exec(Buffer.from(frame).toString()) ?? [];
    return data === '[DONE]' ? [] : [JSON.parse(data) as { choices: { delta: Json }[] }];
  });
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  const calls: Json[] = [];
  for (const { index, ...piece } of deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as Json[])) {
    const known = calls[Number(index)] as { function: Json } | undefined;
    const called = piece.function as Json;
    const args = `${known?.function.arguments ?? ''}${called.arguments ?? ''}`;
    calls[Number(index)] = {
      ...known,
      ...piece,
      function: { ...known?.function, ...called, arguments: args },
    };
  }
  const content = deltas.map((delta) => delta.content ?? '').join('');
  return { message: { content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }, kept: stream.kept };
}

describe.each(Object.entries(SHAPES))('an answer of %s', (_, saidBy) => {
  it.each([
    [1, false],
    [2, true],
    [5, false],
    [5, true],
    [8, false],
    [8, true],
  ])('is sent back with its thinking for %i turns (stream: %s)', (turns, streams) => {
    const loop = new Loop();
    for (let turn = 0; turn < turns; turn++) {
      const before = JSON.stringify(loop.asked().body.messages).slice(0, -1);
      loop.answer(saidBy(turn), turn, streams);
      const { body } = loop.asked();
      expect(violations(body, { binds: true })).toEqual([]);
      expect(blocksIn(body)).toHaveLength(turn + 1);
      expect(JSON.stringify(body.messages).startsWith(before)).toBe(true);
    }
  });

  it('loses its thinking where nothing is kept', () => {
    const loop = new Loop();
    loop.answer(saidBy(0), 0, false);
    expect(blocksIn(loop.asked(new Map()).body)).toEqual([]);
  });
});
