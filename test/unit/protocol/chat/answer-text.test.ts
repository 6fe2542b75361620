import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { answerText, StreamedAnswer } from '../../../../src/protocol/chat/format.ts';
import { ChatStream } from '../../../../src/protocol/chat/stream.ts';
import { forAll } from '../../../support/laws/runs.ts';

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** A choice of one body. A stream sends the same in deltas. */
interface Said {
  readonly index?: number;
  readonly content?: string | null;
  readonly refusal?: string;
  readonly tool_calls?: readonly unknown[];
  readonly function_call?: unknown;
  readonly finish?: string | null;
}

const bodyOf = (...choices: Said[]) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: choices.map(({ index = 0, finish = 'stop', ...message }) => ({
    index,
    message: { role: 'assistant', ...message },
    finish_reason: finish,
  })),
});

/**
 * The events of a stream with the same choices: text in pieces of one to three characters, choices
 * in turn.
 */
function eventsOf(...choices: Said[]): string[] {
  const chunk = (index: number, delta: object, finish: string | null = null): string =>
    JSON.stringify({ id: '1', choices: [{ index, delta, finish_reason: finish }] });
  const parts = choices.map(({ index = 0, finish = 'stop', content, ...rest }) => [
    chunk(index, { role: 'assistant', content: '' }),
    ...((content ?? '').match(/.{1,3}/gsu)?.map((text) => chunk(index, { content: text })) ?? []),
    ...(Object.keys(rest).length > 0 ? [chunk(index, rest)] : []),
    ...(finish === null ? [] : [chunk(index, {}, finish)]),
  ]);
  const longest = Math.max(...parts.map((part) => part.length));
  const mixed = Array.from({ length: longest }, (_, at) => parts.flatMap((part) => part[at] ?? [])).flat();
  return [...mixed, '{"id":"1","choices":[],"usage":{"total_tokens":9}}'];
}

function streamed(events: readonly string[]): string | undefined {
  const answer = new StreamedAnswer();
  for (const event of events) answer.push(Frame.of(event));
  return answer.text();
}

const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };

// The first is Snowflake's (`tests/models/cassettes/test_snowflake` of
// https://github.com/pydantic/pydantic-ai).
it.each(['', 'eos', 'end_turn'])(
  'an answer closes a round whatever its server says at its end: %j',
  (finish) => {
    const none = { function_call: { arguments: '', name: '' } };
    expect(answerText(encode(bodyOf({ content: 'Seven', finish, ...none })))).toBe('Seven');
    const choices = (delta: object, finish_reason: string): string =>
      JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] });
    const events = [choices({ content: 'Se' }, ''), choices({ content: 'ven', ...none }, finish)];
    expect(streamed([...events, '[DONE]'])).toBe('Seven');
  },
);

it('an answer in parts has the text of its text parts, whole and streamed', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
  const content = [thought, { type: 'text', text: 'Seven' }];
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  expect(answerText(encode({ choices }))).toBe('Seven');
  const pieces = [[thought], [{ type: 'text', text: 'Sev' }], 'en'];
  const events = pieces.map((piece) =>
    JSON.stringify({ choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] }),
  );
  const end = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  expect(streamed([...events, end])).toBe('Seven');
});

describe('the text of an answer', () => {
  it.each<[string, Said[], string | undefined]>([
    ['is what it says', [{ content: 'Hello, wörld 😀' }], 'Hello, wörld 😀'],
    ['is whole although the limit cut it off', [{ content: 'Hel', finish: 'length' }], 'Hel'],
    [
      'is none when tools are called',
      [{ content: 'I look.', tool_calls: [call], finish: 'tool_calls' }],
      undefined,
    ],
    [
      'is none when tools are called and the reason says stop',
      [{ content: 'I look.', tool_calls: [call] }],
      undefined,
    ],
    ['is none when a function is called', [{ content: 'I look.', function_call: { name: 'f' } }], undefined],
    [
      'is there beside an empty list of calls',
      [{ content: 'Hi', tool_calls: [], function_call: null }],
      'Hi',
    ],
    ['is none when a filter cut it off', [{ content: 'Hel', finish: 'content_filter' }], undefined],
    ['is none while it has no reason to end', [{ content: 'Hel', finish: null }], undefined],
    ['is none of a refusal', [{ content: null, refusal: 'No.' }], undefined],
    ['is none when nothing is said', [{ content: '' }], undefined],
    [
      'is that of the first of several choices',
      [
        { index: 0, content: 'one' },
        { index: 1, content: 'two' },
      ],
      'one',
    ],
    [
      'is that of choice 0, wherever it stands',
      [
        { index: 1, content: 'two' },
        { index: 0, content: 'one' },
      ],
      'one',
    ],
    [
      'is none when choice 0 calls tools',
      [
        { index: 1, content: 'two' },
        { tool_calls: [call], finish: 'tool_calls' },
      ],
      undefined,
    ],
  ])('%s', (_, choices, expected) => {
    expect(answerText(encode(bodyOf(...choices)))).toBe(expected);
    expect(streamed(eventsOf(...choices))).toBe(expected);
  });

  it.each([
    '',
    '{"choices":',
    'null',
    '5',
    '[]',
    '{}',
    '{"choices":{}}',
    '{"choices":[null]}',
    '{"choices":[5]}',
    '{"choices":[{"message":null,"finish_reason":"stop"}]}',
    '{"choices":[{"message":{"content":["a"]},"finish_reason":"stop"}]}',
    '{"error":{"message":"no"}}',
  ])('is none in %j', (text) => {
    expect(answerText(new TextEncoder().encode(text))).toBeUndefined();
    expect(streamed([text])).toBeUndefined();
  });

  it('survives an event in between that is no chunk', () => {
    const [first = '', ...others] = eventsOf({ content: 'Hello' });
    expect(streamed([first, 'not json', '{"choices":null}', ...others])).toBe('Hello');
  });

  it('is the same however a stream is split into bytes', () => {
    forAll(
      { endOnFailure: true },
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      fc.constantFrom('\n', '\r\n'),
      (content, sizes, end) => {
        const events = [...eventsOf({ content }), '[DONE]'];
        const bytes = new TextEncoder().encode(events.map((data) => `data: ${data}${end}${end}`).join(''));
        const answer = new StreamedAnswer();
        let complete = 0;
        const stream = new AnswerPipeline(new ChatStream(undefined), {
          gather: { push: (frame) => answer.push(frame), complete: () => complete++ },
        });
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          stream.push(bytes.subarray(at, at + size));
          at += size;
        }
        stream.end();
        expect(answer.text()).toBe(content);
        expect(complete).toBe(1);
      },
    );
  });
});
