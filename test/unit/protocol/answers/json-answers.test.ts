/**
 * Answers of several rounds to requests that ask for JSON: what the model says before it fetches is
 * no part of it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JoinedForm } from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { type Answer, chunks, completion, DONE, usageOf } from '../../../../tools/upstream/completion.ts';
import { forAll } from '../../../support/laws/runs.ts';
import * as messages from '../messages/joined.ts';
import * as responses from '../responses/joined.ts';

type Json = Record<string, unknown>;

interface Played {
  /** The texts that the caller gets, in order. */
  readonly texts: readonly string[];
  readonly calls: readonly unknown[];
  /** What the model reads again of its turns. */
  readonly turns: string;
}

interface Playing {
  readonly most?: number;
  readonly form?: JoinedForm;
}

const OURS = new Set(['retrieve_ref', 'search_memory']);
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const json = (value: unknown): Uint8Array => encode(JSON.stringify(value));
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const said = (texts: readonly unknown[]): string[] => texts.map(String).filter((text) => text !== '');

function chat(streams: boolean) {
  return (answers: readonly Answer[], { most = 3, form = {} }: Playing): Played => {
    const turns: ToolTurn[] = [];
    const frameOf = (at: number) => ({ id: `c${at}`, model: 'm', usage: usageOf(10, 2) });
    const mayAnswer = () => turns.length < most;
    const done = (message: Json): Played => ({
      texts: said([message.content ?? '']),
      calls: ((message.tool_calls ?? []) as { function: Json }[]).map(({ function: { name } }) => name),
      turns: JSON.stringify(turns),
    });
    if (!streams) {
      const joined = chatFormat.joinBodies(OURS, mayAnswer, form);
      for (;;) {
        const taken = joined.take(json(completion(answers[turns.length] ?? {}, frameOf(turns.length))));
        if (taken instanceof Uint8Array) return done(JSON.parse(decode(taken)).choices[0].message);
        turns.push(taken);
      }
    }
    const joined = chatFormat.joinStreams(OURS, mayAnswer, form);
    let text = '';
    for (;;) {
      if (turns.length > 0) joined.begin();
      const frames = [...chunks(answers[turns.length] ?? {}, frameOf(turns.length), true), DONE];
      for (const each of frames)
        for (const { bytes } of joined.take(new Frame(encode(each)))) text += decode(bytes);
      joined.end();
      if (!joined.turn) break;
      turns.push(joined.turn);
    }
    const message: { content: string; tool_calls: Json[] } = { content: '', tool_calls: [] };
    for (const [, data = ''] of text.matchAll(/^data: (\{.*)$/gm)) {
      const [{ delta = {} } = {}] = JSON.parse(data).choices;
      message.content += delta.content ?? '';
      message.tool_calls.push(...(delta.tool_calls ?? []).filter(({ id }: Json) => id));
    }
    return done(message);
  };
}

function ofResponses(streams: boolean) {
  return (answers: readonly Answer[], { most, form = {} }: Playing): Played => {
    const joined = streams
      ? responses.streamed(answers, most, undefined, form)
      : responses.whole(answers, most, form);
    const output = joined.response.output as { type: string; name: string; content: Json[] }[];
    if (streams) {
      const { events } = joined as responses.Streamed;
      const shown = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      expect(shown).toEqual(output);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    }
    return {
      texts: said(output.flatMap(({ type, content }) => (type === 'message' ? [content[0]?.text] : []))),
      calls: output.filter(({ type }) => type === 'function_call').map(({ name }) => name),
      turns: JSON.stringify(joined.turns),
    };
  };
}

function ofMessages(streams: boolean) {
  return (answers: readonly Answer[], { most = 3, form = {} }: Playing): Played => {
    const joined = (streams ? messages.streamed : messages.whole)(answers, { most, reasoning: form });
    const content = joined.message.content as Json[];
    return {
      texts: said(content.flatMap(({ type, text }) => (type === 'text' ? [text] : []))),
      calls: content.filter(({ type }) => type === 'tool_use').map(({ name }) => name),
      turns: JSON.stringify(joined.turns),
    };
  };
}

const FORMS = [
  ...[false, true].map((streams) => ({ over: 'chat', streams, play: chat(streams) })),
  ...[false, true].map((streams) => ({ over: 'responses', streams, play: ofResponses(streams) })),
  ...[false, true].map((streams) => ({ over: 'messages', streams, play: ofMessages(streams) })),
];

let ids = 0;
const call = (name: string) => ({ id: `call_${++ids}`, name, arguments: '{"ref":"r"}' });
const fetches = (content?: string): Answer => ({
  ...(content === undefined ? {} : { content }),
  toolCalls: [call('retrieve_ref')],
});
const AS_JSON: Playing = { form: { isJson: true } };

describe.each(FORMS)('over $over (stream: $streams), an answer in JSON', ({ play }) => {
  it.each(['Let me check the log first.', '{"answer":0}', '<think>the ref has it</think>', '{'])(
    'has no %j that the model has said before it fetched, and the model reads it again',
    (first) => {
      const { texts, turns } = play([fetches(first), fetches(first), { content: '{"answer":7}' }], AS_JSON);
      expect(texts).toEqual(['{"answer":7}']);
      expect(turns.split(JSON.stringify(first).slice(1, -1)).length).toBeGreaterThan(2);
    },
  );

  it('may be the first one', () => {
    expect(play([{ content: '{"answer":7}' }], AS_JSON).texts).toEqual(['{"answer":7}']);
  });

  it('has what is said with calls of the caller’s', () => {
    const own = { content: 'Now I edit.', toolCalls: [call('edit'), call('retrieve_ref')] };
    const { texts, calls } = play([fetches('Let me look.'), own], AS_JSON);
    expect(texts).toEqual(['Now I edit.']);
    expect(calls).toEqual(['edit']);
  });

  it('has what is said with a call of Precis’s tool that is answered no more', () => {
    const { texts } = play([fetches('One.'), fetches('{"answer":7}')], { ...AS_JSON, most: 1 });
    expect(texts).toEqual(['{"answer":7}']);
  });

  it('has the text of the last round alone, whatever was said', () => {
    const words = fc.option(fc.constantFrom('{"a":0}', 'Look at "it".', 'x', '\n\n y'), { nil: undefined });
    const last = fc.record({ content: fc.constantFrom('{"a":7}', '[]'), callers: fc.boolean() });
    forAll(100, fc.array(words, { maxLength: 3 }), last, (rounds, { content, callers }) => {
      const ends = { content, ...(callers ? { toolCalls: [call('edit')] } : {}) };
      const { texts, calls } = play([...rounds.map(fetches), ends], AS_JSON);
      expect(texts).toEqual([content]);
      expect(calls).toEqual(callers ? ['edit'] : []);
    });
  });
});

describe.each(FORMS)('over $over (stream: $streams), an answer in words', ({ play }) => {
  it('has what the model has said in all rounds', () => {
    const { texts } = play([fetches('Let me look. '), { content: 'It is 42.' }], {});
    expect(texts.join('')).toBe('Let me look. It is 42.');
  });
});

describe('a stream in JSON', () => {
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    Frame.of(JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason, logprobs: null }] }));
  const deltas = (frames: readonly Frame[]) =>
    frames.map(({ json: read }) => (read as { choices: { delta: Json }[] }).choices[0]?.delta);

  it('shows thoughts at once, and words when a call of the caller’s begins', () => {
    const joined = chatFormat.joinStreams(OURS, () => true, { isJson: true });
    const take = (delta: Json) => deltas(joined.take(chunk(delta)));
    expect(take({ role: 'assistant', content: '' })).toHaveLength(1);
    expect(take({ reasoning_content: 'Hm.' })).toHaveLength(1);
    expect(take({ content: '{' })).toEqual([]);
    expect(take({ reasoning_content: 'So.' })).toEqual([]);
    const edit = { index: 0, id: 'call_1', type: 'function', function: { name: 'edit', arguments: '' } };
    expect(take({ tool_calls: [edit] })).toEqual([
      { content: '{' },
      { reasoning_content: 'So.' },
      { tool_calls: [edit] },
    ]);
    expect(take({ content: '}' })).toEqual([{ content: '}' }]);
  });

  it('keeps thoughts of a turn that it answers', () => {
    const joined = chatFormat.joinStreams(OURS, () => true, { isJson: true });
    const ours = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'retrieve_ref', arguments: '{}' },
    };
    const all = [
      chunk({ role: 'assistant', content: '{', refusal: null }),
      chunk({ content: '}', reasoning_content: 'So.' }),
      chunk({ tool_calls: [ours] }),
      chunk({}, 'tool_calls'),
    ].flatMap((frame) => joined.take(frame));
    expect(deltas(all)).toEqual([{ role: 'assistant' }, { reasoning_content: 'So.' }]);
  });

  it.each(['chat', 'messages'] as const)('over %s, shows half an answer that breaks off', (over) => {
    if (over === 'chat') {
      const joined = chatFormat.joinStreams(OURS, () => true, { isJson: true });
      joined.take(chunk({ content: '{"a' }));
      expect(deltas(joined.release?.() ?? [])).toEqual([{ content: '{"a' }]);
      return;
    }
    const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    const joined = messagesFormat.joinStreams(OURS, () => true, { isJson: true });
    expect(joined.take(Frame.of(JSON.stringify(start)))).toEqual([]);
    expect(joined.take(Frame.of('{"type":"ping"}'))).toHaveLength(1);
    expect(joined.release?.()).toHaveLength(1);
  });

  it('shows words that were cut off in a call of Precis’s tool', () => {
    const joined = chatFormat.joinStreams(OURS, () => true, { isJson: true });
    const ours = { index: 0, id: 'c1', type: 'function', function: { name: 'retrieve_ref', arguments: '{' } };
    const all = [chunk({ content: '{}' }), chunk({ tool_calls: [ours] }), chunk({}, 'length')];
    expect(deltas(all.flatMap((frame) => joined.take(frame)))[0]).toEqual({ content: '{}' });
  });
});

describe('a request', () => {
  const asks =
    (read: typeof readChatRequest | typeof readMessagesRequest | typeof readResponsesRequest) =>
    (body: Json): boolean => {
      const request = read(json({ messages: [{ role: 'user', content: 'Go.' }], input: 'Go.', ...body }));
      if (!request.ok) throw new Error(request.reason.message);
      return request.value.asksForm;
    };
  const schema = { type: 'json_schema', schema: {} };
  it.each([
    ['chat', asks(readChatRequest), (format: unknown) => ({ response_format: format })],
    ['responses', asks(readResponsesRequest), (format: unknown) => ({ text: { format } })],
    ['messages', asks(readMessagesRequest), (format: unknown) => ({ output_config: { format } })],
    ['messages (beta)', asks(readMessagesRequest), (format: unknown) => ({ output_format: format })],
  ])('of %s asks for JSON by its format', (_, reads, body) => {
    expect(reads(body(schema))).toBe(true);
    expect(reads(body({ type: 'json_object' }))).toBe(true);
    expect([{ type: 'text' }, null, undefined, {}].map((format) => reads(body(format)))).toEqual([
      ...[false, false, false, false],
    ]);
    expect(reads({ text: null, output_config: { effort: 'low' } })).toBe(false);
  });
});
