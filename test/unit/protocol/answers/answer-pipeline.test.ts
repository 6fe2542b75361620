import { describe, expect, it, vi } from 'vitest';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { RoundsStage } from '../../../../src/retrieval/stream.ts';
import { chunks, DONE, usageOf } from '../../../../tools/upstream/completion.ts';
import { messageEvents } from '../../../../tools/upstream/message.ts';
import { eventsOf } from '../../../../tools/upstream/response.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const answer = { content: 'Hello there, caller.' };
const CHAT = [...chunks(answer, { id: 'c1', model: 'gpt-5', usage: usageOf(1, 1) }, true), DONE];
const RESPONSES = [...eventsOf({ model: 'gpt-5' }, answer)];
const MESSAGES = [...messageEvents({ model: 'claude-sonnet-5-5' }, answer)];

const dataOf = (frame: string): string => /^data: (.*)$/m.exec(frame)?.[1] ?? '';
const DATA = new Set([...CHAT, ...RESPONSES, ...MESSAGES].map(dataOf));

/** What comes out of a pipeline, and the events that were parsed for it, in order. */
function passed(
  pipeline: Pick<AnswerPipeline, 'push' | 'end'>,
  frames: readonly string[],
): { text: string; parsed: unknown[] } {
  const parse = vi.spyOn(JSON, 'parse');
  const bytes = frames.flatMap((frame) => pipeline.push(encoder.encode(frame)));
  bytes.push(...pipeline.end().frames);
  const parsed = parse.mock.calls.map(([text]) => text).filter((text) => DATA.has(text));
  return { text: bytes.map((frame) => decoder.decode(frame)).join(''), parsed };
}

describe('an answer that nobody reads', () => {
  it('is not parsed in chat', () => {
    const text = CHAT.join('');
    expect(passed(new AnswerPipeline(chatFormat.stream(undefined)), CHAT)).toEqual({ text, parsed: [] });
  });

  it('is parsed as a message in its last two events', () => {
    const pipeline = new AnswerPipeline(messagesFormat.stream(undefined));
    const parsed = MESSAGES.slice(-2).map(dataOf);
    expect(passed(pipeline, MESSAGES)).toEqual({ text: MESSAGES.join(''), parsed });
  });

  it('is parsed as a response in the events that may be the last one', () => {
    const text = RESPONSES.join('');
    const pipeline = new AnswerPipeline(responsesFormat.stream(undefined));
    const parsed = RESPONSES.filter((frame) => frame.includes('"error":null')).map(dataOf);
    expect(passed(pipeline, RESPONSES)).toEqual({ text, parsed });
    expect(parsed).toHaveLength(3);
  });
});

describe.each([
  ['chat', chatFormat],
  ['responses', responsesFormat],
  ['messages', messagesFormat],
] as const)('a body of %s that is JSON, though its server calls it a stream', (_, format) => {
  it.each<[string, string, boolean]>([
    ['an answer', ' {"id":"a1",\n"object":"x"}\n', true],
    ['an error', '{"error":{"message":"Too busy."}}', false],
  ])('passes unchanged, and complete: %s', (__, body, isWhole) => {
    const pipeline = new AnswerPipeline(format.stream(undefined));
    const frames = [
      ...pipeline.push(encoder.encode(body.slice(0, 5))),
      ...pipeline.push(encoder.encode(body.slice(5))),
    ];
    const { complete, frames: last } = pipeline.end();
    expect([...frames, ...last].map((frame) => decoder.decode(frame)).join('')).toBe(body);
    expect([complete, pipeline.isWhole]).toEqual([true, isWhole]);
  });

  it('shows the words of a server that are no event', () => {
    const pipeline = new AnswerPipeline(format.stream(undefined));
    pipeline.push(encoder.encode('Bad gateway'));
    const { complete, frames } = pipeline.end();
    expect([complete, frames.map((frame) => decoder.decode(frame))]).toEqual([false, ['Bad gateway\n\n']]);
  });

  it('has broken off where it is not whole', () => {
    const pipeline = new AnswerPipeline(format.stream(undefined));
    pipeline.push(encoder.encode('{"id":"a1","obj'));
    expect(pipeline.end().complete).toBe(false);
  });
});

describe.each([
  ['chat', chatFormat, CHAT],
  ['responses', responsesFormat, RESPONSES],
  ['messages', messagesFormat, MESSAGES],
] as const)('an answer of %s whose events have no blank lines between them', (_, format, frames) => {
  it.each(['\n', '\r\n', '\r'])('gets them, and each event as soon as it is known: %j', (end) => {
    const lines = frames.map((frame) => frame.replace('\n\n', '\n').replaceAll('\n', end));
    const whole = frames.map((frame) => frame.replaceAll('\n', end));
    const seen = (pieces: readonly string[]): string[] => {
      const pipeline = new AnswerPipeline(format.stream(undefined));
      const shown = pieces.map((piece) => pipeline.push(encoder.encode(piece)));
      expect(pipeline.end()).toEqual({ complete: true, frames: [] });
      return shown.map((bytes) => bytes.map((each) => decoder.decode(each)).join(''));
    };
    const [first = '', second = '', ...more] = whole;

    expect(seen(lines)).toEqual(['', first + second, ...more]);
    expect(
      seen([...lines.join('')])
        .join('')
        .replaceAll('\r\r\n', '\r\n\r\n'),
    ).toBe(whole.join(''));
    expect(seen([lines.join('')])).toEqual([whole.join('')]);
  });
});

describe('a comment that keeps a stream alive', () => {
  const withId = `id: 1\n${CHAT[0]}`;

  it.each([
    ['has a blank line', false, CHAT[0], ': keepalive\n\n'],
    ['has none for a client to which it would be an event', true, CHAT[0], ': keepalive\n'],
    ['has none after an event with an id', false, withId, ': keepalive\n'],
  ])('%s', (_, readsBlanks, event = '', comment) => {
    const pipeline = new AnswerPipeline(chatFormat.stream(undefined), { readsBlanks });
    pipeline.push(encoder.encode(event));
    expect(decoder.decode(pipeline.keepalive())).toBe(comment);
  });
});

describe.each([
  ['chat', chatFormat, CHAT],
  ['responses', responsesFormat, RESPONSES],
  ['messages', messagesFormat, MESSAGES],
] as const)('an answer of %s that is joined, gathered and reported', (_, format, frames) => {
  it('is parsed once, frame by frame, except for plain text', () => {
    const gathered = format.gather();
    const complete = vi.fn();
    const listener = { push: gathered.push.bind(gathered), complete };
    const joined = format.joinStreams(new Set(['retrieve_ref']), () => true);
    const stream = format.stream(() => ({ mode: 'none' }) as never);
    const join = new RoundsStage(joined, {} as never, (coming) => coming);
    const pipeline = new AnswerPipeline(stream, { join, gather: listener });
    const { text, parsed } = passed(pipeline, frames);
    expect(parsed).toEqual(
      frames.map(dataOf).filter((data) => !/"delta":\{"(?:content":|type":"text_delta")/.test(data)),
    );
    expect(text).toContain('"memory":{"mode":"none"}');
    expect(gathered.text()).toBe(answer.content);
    expect(complete).toHaveBeenCalledOnce();
  });
});

describe.each([
  ['chat', chatFormat, CHAT],
  ['responses', responsesFormat, RESPONSES],
  ['messages', messagesFormat, MESSAGES],
] as const)('a stream of %s that ends early', (_, format, frames) => {
  /** @param isJoined whether text waits until it is known whose call follows it */
  const seen = (events: readonly string[], isJoined: boolean) => {
    const joined = format.joinStreams(new Set(['retrieve_ref']), () => true, { isJson: true });
    const join = isJoined ? new RoundsStage(joined, {} as never, (coming) => coming) : undefined;
    const pipeline = new AnswerPipeline(format.stream(undefined), { join });
    const shown = events.flatMap((event) => pipeline.push(encoder.encode(event)));
    const { complete, frames: last } = pipeline.end();
    const fault = { message: 'It broke off.', type: 'server_error', param: null, code: null };
    const all = [...shown, ...last, ...(complete ? [] : [pipeline.error(fault)])];
    // The number of half an event may be known.
    return decoder.decode(Buffer.concat(all)).replace(/"sequence_number":\d+/g, '');
  };
  const begun = frames.slice(0, -3);

  it.each([false, true])('shows nothing of half a frame, joined: %s', (isJoined) => {
    const next = frames.at(-3) ?? '';
    for (const half of [next.slice(0, -9), next.slice(0, next.indexOf('data: ') + 9)])
      expect(seen([...begun, half], isJoined)).toBe(seen(begun, isJoined));
  });

  it.each([false, true])('has one error where an event is one by its name alone, joined: %s', (isJoined) => {
    for (const [data, words] of [
      ['{"message":"Overloaded.","code":529}', 'Overloaded.'],
      ['{"type":"overloaded_error","message":"Overloaded."}', 'Overloaded.'],
      ['{"type":"error","message":"Overloaded."}', 'Overloaded.'],
    ] as const) {
      const text = seen([...begun, `event: error\ndata: ${data}\n\n`], isJoined);
      expect(text.match(/^data: .*"error"(?::\{|,)/gm)).toHaveLength(1);
      expect(text).toContain(words);
      expect(text).not.toContain('It broke off.');
    }
  });
});

describe('an answer that is too long to be read', () => {
  const PIECE = 'x'.repeat(64 * 1024);
  const deltas = {
    chat: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: PIECE }, finish_reason: null }] })}\n\n`,
    messages: `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PIECE } })}\n\n`,
  };

  it.each([
    ['chat', chatFormat, CHAT.slice(0, 1), CHAT.slice(1)],
    ['messages', messagesFormat, MESSAGES.slice(0, 2), MESSAGES.slice(2)],
  ] as const)('passes unchanged in %s, and is no longer held', (name, format, first, rest) => {
    const gathered = format.gather();
    const forget = vi.fn();
    const complete = vi.fn();
    const listener = { push: gathered.push.bind(gathered), complete, forget };
    const joined = format.joinStreams(new Set(['retrieve_ref']), () => true);
    const join = new RoundsStage(joined, { end: () => undefined } as never, (coming) => coming);
    const pipeline = new AnswerPipeline(format.stream(undefined), { join, gather: listener });
    const long = Array.from({ length: 80 }, () => deltas[name]);
    const { text } = passed(pipeline, [...first, ...long, ...rest]);
    expect(text).toBe([...first, ...long, ...rest].join(''));
    expect(pipeline.isTooLong).toBe(true);
    expect(pipeline.isWhole).toBe(true);
    expect(joined.said).toBeUndefined();
    expect(forget).toHaveBeenCalledOnce();
    expect(complete).toHaveBeenCalledOnce();
  });

  it('shows what waited until the answer was known to be JSON', () => {
    const joined = chatFormat.joinStreams(new Set(['retrieve_ref']), () => true, { isJson: true });
    const join = new RoundsStage(joined, {} as never, (coming) => coming);
    const pipeline = new AnswerPipeline(chatFormat.stream(undefined), { join });
    const frames = [...CHAT.slice(0, 1), ...Array.from({ length: 80 }, () => deltas.chat), ...CHAT.slice(1)];
    expect(passed(pipeline, frames).text).toBe(frames.join(''));
  });

  it('is not measured where nothing of it is gathered', () => {
    const pipeline = new AnswerPipeline(chatFormat.stream(undefined));
    passed(pipeline, [
      ...CHAT.slice(0, 1),
      ...Array.from({ length: 80 }, () => deltas.chat),
      ...CHAT.slice(1),
    ]);
    expect(pipeline.isTooLong).toBe(false);
  });
});
