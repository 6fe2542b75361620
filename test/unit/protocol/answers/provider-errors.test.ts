/** Errors that a provider sends in the middle of an answer, also in a call that Precis answers. */
import { describe, expect, it } from 'vitest';
import type { AnswerFormat } from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';

type Json = Record<string, unknown>;

const OURS = new Set(['retrieve_ref']);
const ERROR = { code: 502, message: 'Provider disconnected' };

interface Reported {
  readonly data: readonly string[];
  readonly asksAgain: boolean;
  readonly isWhole: boolean;
  /** Whether the stream has ended as it should, be it with an error. */
  readonly isComplete: boolean;
  readonly isSaid: boolean;
}

/** What the caller gets of a stream. @param isJson whether it is to be JSON */
function reported(format: AnswerFormat, events: readonly string[], isJson: boolean): Reported {
  const joined = format.joinStreams(OURS, () => true, { isJson });
  const stream = format.stream(undefined);
  const shown: Frame[] = [];
  for (const event of events) {
    const frames = joined.isThrough ? [] : joined.take(Frame.of(event));
    shown.push(...frames.flatMap((frame) => stream.push(frame)));
  }
  joined.end();
  const { complete } = stream.end();
  return {
    data: shown.map(({ data = '' }) => data),
    asksAgain: joined.isThrough,
    isWhole: stream.isWhole,
    isComplete: complete,
    isSaid: joined.said !== undefined,
  };
}

const base = { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
const json = (fields: object): string => JSON.stringify(fields);
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  json({ ...base, choices: [{ index: 0, delta, finish_reason, ...more }] });
const piece = (args: string, name = 'retrieve_ref'): string =>
  chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: args } }] });
const rest = chunk({ tool_calls: [{ index: 0, function: { arguments: '"r"}' } }] });

const SHAPES: Readonly<Record<string, string>> = {
  'beside no choices': json({ ...base, choices: [], error: ERROR }),
  'before no choices': json({ error: ERROR, ...base, choices: [] }),
  alone: json({ error: ERROR }),
  'as a text': json({ error: ERROR.message }),
  'as an object of its own': json({ object: 'error', ...ERROR }),
  'with its finish reason': json({
    ...base,
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    error: ERROR,
  }),
  'in a choice': chunk({ content: '' }, null, { error: ERROR }),
  'with a piece of the call': json({ ...JSON.parse(rest), error: ERROR }),
};
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  'in a text': [chunk({ content: 'par' })],
  'in a call of ours': [piece('{"ref":')],
  'after a call of ours': [piece('{"ref":'), rest],
  'in a name': [piece('', 'retrie')],
  'in a text after a call of ours': [piece('{}'), chunk({ content: 'par' })],
};
const AFTER: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  '[DONE]': ['[DONE]'],
  'finish and [DONE]': [chunk({}, 'tool_calls'), '[DONE]'],
};
const STREAMS = Object.keys(SHAPES).flatMap((shape) =>
  Object.keys(BEFORE).flatMap((where) =>
    Object.keys(AFTER).flatMap((after) =>
      [false, true].map((isJson): [string, string, string, boolean] => [shape, where, after, isJson]),
    ),
  ),
);

describe('an error of the provider in a chat stream', () => {
  it.each(STREAMS)('%s, %s, then %s, ends it (JSON: %s)', (shape, where, after, isJson) => {
    const opens = chunk({ role: 'assistant', content: '' });
    const events = [opens, ...(BEFORE[where] ?? []), SHAPES[shape] ?? '', ...(AFTER[after] ?? [])];
    const { data, ...ends } = reported(chatFormat, events, isJson);
    expect(ends).toEqual({ asksAgain: false, isWhole: false, isComplete: true, isSaid: false });
    expect(data.at(-1)).toContain(ERROR.message);
    expect(data.join()).not.toMatch(/DONE|tool_calls|"stop"/);
    if (where === 'in a text') expect(data.join()).toContain('"par"');
  });

  it('has the id of the stream in a later answer', () => {
    const joined = chatFormat.joinStreams(OURS, () => true);
    for (const event of [piece('{}'), chunk({}, 'tool_calls'), '[DONE]']) joined.take(Frame.of(event));
    joined.end();
    joined.begin();
    const [frame] = joined.take(Frame.of(json({ ...base, id: 'gen-2', choices: [], error: ERROR })));
    expect(frame?.json).toEqual({ ...base, choices: [], error: ERROR });
  });

  it.each([null, {}, ''])('is none where the member is %j', (error) => {
    const events = [json({ ...base, choices: [{ index: 0, delta: { content: 'a "error"' } }], error })];
    const { isWhole } = reported(chatFormat, [...events, chunk({}, 'stop'), '[DONE]'], false);
    expect(isWhole).toBe(true);
  });
});

describe('an error of the provider in other streams', () => {
  const item = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'retrieve_ref', arguments: '{}' };
  const opened = { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } };
  const completed = {
    type: 'response.completed',
    response: { id: 'r', status: 'completed', output: [item] },
  };
  it.each([
    ['an event', { type: 'error', ...ERROR }],
    ['an error without a type', { error: ERROR }],
  ])('ends a response, as %s', (_, error) => {
    const added = { type: 'response.output_item.added', output_index: 0, item };
    for (const isJson of [false, true]) {
      const { data, ...ends } = reported(
        responsesFormat,
        [opened, added, error, completed].map(json),
        isJson,
      );
      expect(ends).toEqual({ asksAgain: false, isWhole: false, isComplete: true, isSaid: false });
      expect(data.map((each) => JSON.parse(each).type)).toEqual([opened.type, (error as Json).type]);
    }
  });

  it.each([
    ['an event', { type: 'error', error: ERROR }],
    ['an error without a type', { error: ERROR }],
  ])('ends a message, as %s', (_, error) => {
    const start = { type: 'message_start', message: { id: 'm', content: [], usage: {} } };
    const text = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    const use = { type: 'tool_use', id: 't1', name: 'retrieve_ref', input: {} };
    const call = { type: 'content_block_start', index: 1, content_block: use };
    const stop = { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} };
    const all = [start, text, call, error, stop, { type: 'message_stop' }];
    for (const isJson of [false, true]) {
      const { data, ...ends } = reported(messagesFormat, all.map(json), isJson);
      expect(ends).toEqual({ asksAgain: false, isWhole: false, isComplete: true, isSaid: false });
      expect(data.at(-1)).toBe(json(error));
    }
  });
});

describe('an error of the provider in a whole answer', () => {
  const body = (fields: object): Uint8Array => new TextEncoder().encode(json(fields));
  const call = { id: 'c1', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } };
  const choice = {
    index: 0,
    message: { content: '"error"', tool_calls: [call] },
    finish_reason: 'tool_calls',
  };

  it.each<[string, AnswerFormat, object, boolean]>([
    ['chat, alone', chatFormat, { error: ERROR }, true],
    ['chat, beside no choices', chatFormat, { ...base, choices: [], error: ERROR }, true],
    ['chat, in a choice', chatFormat, { choices: [{ ...choice, error: ERROR }] }, true],
    ['chat, as a finish reason', chatFormat, { choices: [{ ...choice, finish_reason: 'error' }] }, true],
    ['chat, none', chatFormat, { choices: [choice], error: null }, false],
    ['responses, failed', responsesFormat, { status: 'failed', error: ERROR, output: [] }, true],
    ['responses, alone', responsesFormat, { error: ERROR }, true],
    ['responses, none', responsesFormat, { status: 'completed', error: null, output: [] }, false],
    ['messages, alone', messagesFormat, { type: 'error', error: ERROR }, true],
    ['messages, none', messagesFormat, { type: 'message', content: [] }, false],
  ])('is known: %s', (_, format, answer, hasFailed) => {
    expect(format.hasFailed(body(answer))).toBe(hasFailed);
  });

  it('is no turn that is answered, and none that is kept', () => {
    const joined = chatFormat.joinBodies(OURS, () => true);
    const taken = joined.take(body({ ...base, choices: [choice], error: ERROR }));
    if (!(taken instanceof Uint8Array)) throw new Error('the upstream is asked again');
    expect(JSON.parse(new TextDecoder().decode(taken)).error).toEqual(ERROR);
    expect(joined.said).toBeUndefined();
  });
});
