import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../../src/lib/json.ts';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { eventFrame, Frame } from '../../../../src/protocol/answers/sse.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { MessagesStream } from '../../../../src/protocol/messages/stream.ts';
import { readTooLong, readTooLongEvent } from '../../../../src/upstream/too-long.ts';
import { messageEvents } from '../../../../tools/upstream/message.ts';
import { eventsIn, messageFrom } from '../../../support/conversations/message-stream.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { call, encoder, type Json, request, thinking } from './joined.ts';

const report = idleReport('none', 'default');
const FRAMES = [...messageEvents(request, { thinking, content: 'Grüße 😀', toolCalls: [call('edit')] })];
const WHOLE = FRAMES.join('');

/** A text cut at these places, as bytes. A cut may lie inside a character. */
const cutAt = (bytes: Uint8Array, places: readonly number[]): Uint8Array[] => {
  const sorted = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  const cuts = [0, ...sorted, bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
};

function run(stream: MessagesStream, pieces: readonly Uint8Array[]) {
  const pipeline = new AnswerPipeline(stream);
  const frames = pieces.flatMap((piece) => pipeline.push(piece));
  const { isOver } = pipeline;
  const end = pipeline.end();
  const text = Buffer.concat([...frames, ...end.frames]).toString('utf8');
  return { text, complete: end.complete, isOver, isWhole: pipeline.isWhole };
}

const whole = (text: string): Uint8Array[] => [encoder.encode(text)];
const pushed = (stream: MessagesStream, event: object): Json[] =>
  stream
    .push(new Frame(eventFrame(String((event as Json).type), JSON.stringify(event))))
    .flatMap(({ bytes }) => eventsIn(Buffer.from(bytes).toString()));
const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

describe('a stream of Messages', () => {
  it('passes every byte on when no report is asked for, wherever it is cut', () => {
    forAll(fc.array(fc.nat()), (places) => {
      const { text, complete } = run(new MessagesStream(undefined), cutAt(encoder.encode(WHOLE), places));
      expect({ text, complete }).toEqual({ text: WHOLE, complete: true });
    });
  });

  it('gets the report in its last message_delta, wherever it is cut, and all else stays', () => {
    const reported = `,"memory":${JSON.stringify(report)}`;
    forAll(fc.array(fc.nat()), (places) => {
      const { text, isWhole } = run(new MessagesStream(() => report), cutAt(encoder.encode(WHOLE), places));
      expect(text).toContain(reported);
      expect(text.replace(reported, '')).toBe(WHOLE);
      expect(eventsIn(text).filter(({ memory }) => memory)).toMatchObject([{ type: 'message_delta' }]);
      expect(isWhole).toBe(true);
    });
  });

  it.each([undefined, () => report])('never ends as a complete one where its end is cut off', (reports) => {
    const bytes = encoder.encode(WHOLE);
    for (let length = 0; length < bytes.lastIndexOf('}'.charCodeAt(0)); length++) {
      const { text, ...end } = run(new MessagesStream(reports), [bytes.subarray(0, length)]);
      expect(end).toEqual({ complete: false, isOver: false, isWhole: false });
      expect(WHOLE.startsWith(text)).toBe(true);
      expect(text).not.toContain('message_stop');
    }
  });

  it.each([undefined, () => report])(
    'that breaks off anywhere has passed every whole event on before its error',
    (reports) => {
      const bytes = encoder.encode(WHOLE);
      const fault = { message: 'It broke off.', type: 'server_error', param: null, code: null };
      for (let length = 0; length < bytes.lastIndexOf('}'.charCodeAt(0)); length++) {
        const came = Buffer.from(bytes.subarray(0, length)).toString();
        const events = [...came.matchAll(/^data: (.*)$/gm)].flatMap(
          ([, json]) => parseJson(json ?? '') ?? [],
        );
        const pipeline = new AnswerPipeline(new MessagesStream(reports));
        const shown = [...pipeline.push(bytes.subarray(0, length)), ...pipeline.end().frames];
        const text = Buffer.concat([...shown, pipeline.error(fault)]).toString();
        expect(eventsIn(text)).toEqual([...events, { type: 'error', error: expect.anything() }]);
      }
    },
  );

  it('reports an end with the report only once the end has come', () => {
    const stream = new MessagesStream(() => report);
    const delta = (stop_reason: string | null): Json => ({ type: 'message_delta', delta: { stop_reason } });
    const ping = { type: 'ping' };
    const block = { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } };
    expect(pushed(stream, delta(null))).toEqual([]);
    expect(pushed(stream, ping)).toEqual([ping]);
    expect(pushed(stream, block)).toEqual([delta(null), block]);
    expect(pushed(stream, delta(null))).toEqual([]);
    expect(pushed(stream, delta('end_turn'))).toEqual([delta(null)]);
    const stop = { type: 'message_stop' };
    expect(pushed(stream, stop)).toEqual([{ ...delta('end_turn'), memory: report }, stop]);
  });

  it('has the report in message_stop where no message_delta came', () => {
    expect(pushed(new MessagesStream(() => report), { type: 'message_stop' })).toEqual([
      { type: 'message_stop', memory: report },
    ]);
  });

  it('ends with the upstream’s own error if that came last, and is not whole', () => {
    const error = `event: error\ndata: ${JSON.stringify(OVERLOADED)}\n\n`;
    const text = FRAMES.slice(0, -1).join('') + error;
    const ended = run(new MessagesStream(() => report), whole(text));
    expect(ended).toEqual({ text, complete: true, isOver: true, isWhole: false });
    const bare = 'data: {"error":{"message":"overloaded"}}\n\n';
    expect(run(new MessagesStream(undefined), whole(bare))).toMatchObject({ isOver: true, isWhole: false });
  });

  it('takes no word of a text for its end', () => {
    const said = [...messageEvents(request, { content: '"message_stop" "error" event: error' })];
    expect(run(new MessagesStream(undefined), whole(said.slice(0, -1).join('')))).toMatchObject({
      complete: false,
    });
  });

  it('gives Precis’s errors the shape of the API', () => {
    const fault = { message: 'It broke off.', type: 'server_error', param: null };
    const errorOf = (code: string | null, more: object = {}) => {
      const stream = new MessagesStream(undefined);
      return eventsIn(Buffer.from(stream.error({ ...fault, code, ...more })).toString());
    };
    expect(errorOf('upstream_unreachable')).toEqual([
      { type: 'error', error: { ...fault, type: 'api_error', code: 'upstream_unreachable' } },
    ]);
    expect(errorOf('upstream_timeout')).toMatchObject([{ error: { type: 'timeout_error' } }]);
    expect(errorOf(null, { status: 413 })).toMatchObject([{ error: { type: 'request_too_large' } }]);
    expect(errorOf(null, { type: 'overloaded_error' })).toMatchObject([
      { error: { type: 'overloaded_error' } },
    ]);
  });

  it('rewords an error of the upstream, in the same shape', () => {
    const reword = () => ({ message: 'No.', type: 'server_error', param: null, code: null });
    expect(pushed(new MessagesStream(undefined, reword), OVERLOADED)).toMatchObject([
      { type: 'error', error: { type: 'api_error', message: 'No.' } },
    ]);
  });

  it('is kept alive by a ping, which is no part of the message', () => {
    const pipeline = new AnswerPipeline(new MessagesStream(undefined));
    const alive = (): string => Buffer.from(pipeline.keepalive() ?? []).toString();
    expect(eventsIn(alive())).toEqual([{ type: 'ping' }]);
    const [start = '', ...rest] = FRAMES;
    pipeline.push(encoder.encode(start));
    const text = start + alive() + rest.join('');
    expect(messageFrom(eventsIn(text))).toEqual(messageFrom(eventsIn(WHOLE)));
    pipeline.push(encoder.encode(rest.join('')));
    expect(alive()).toBe('');
  });
});

describe('how a stream begins', () => {
  const begun = (...events: object[]): { readonly isKnown: boolean; readonly error: string | undefined } => {
    const beginning = messagesFormat.begin();
    const known = events.map((event) =>
      beginning.push(eventFrame(String((event as Json).type), JSON.stringify(event))),
    );
    return { isKnown: known.includes(true), error: beginning.error };
  };
  const start = { type: 'message_start', message: {} };
  const ping = { type: 'ping' };
  const tooLong = {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    request_id: 'req_1',
  };

  it('is not known before a block begins, or an error comes', () => {
    expect(begun(start, ping)).toEqual({ isKnown: false, error: undefined });
    expect(begun(start, { type: 'content_block_start' })).toEqual({ isKnown: true, error: undefined });
    expect(begun(start, ping, OVERLOADED).error).toBe(JSON.stringify(OVERLOADED));
  });

  it('says that the prompt is too long, as a status does', () => {
    const json = begun(start, tooLong).error ?? '';
    const read = { limit: 200_000, prompt: 210_000, withAnswer: true };
    expect(readTooLongEvent(json)).toEqual(read);
    expect(readTooLong(400, json)).toEqual(read);
    expect(readTooLongEvent(JSON.stringify(OVERLOADED))).toBeUndefined();
  });

  /** @see https://developers.cloudflare.com/workers-ai/platform/errors/ */
  it.each([
    [400, true],
    [5021, true],
    [0, true],
    [429, false],
    [401, false],
  ])('whatever else a number in it means: %s', (code, isTooLong) => {
    const message =
      'The estimated number of input and maximum output tokens exceeded this model context window limit.';
    expect(readTooLongEvent(JSON.stringify({ error: { message, code } })) !== undefined).toBe(isTooLong);
  });
});
