import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { Frame, FrameSplitter } from '../../../../src/protocol/answers/sse.ts';
import { ChatStream } from '../../../../src/protocol/chat/stream.ts';
import { forAll } from '../../../support/laws/runs.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const report = idleReport('none', 'default');

const chunk = (delta: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', created: 7, model: 'm', choices: [{ index: 0, delta: { content: delta }, finish_reason: finish }] })}`;

/** A text cut at these places, as bytes. A cut may lie inside a character. */
const cutAt = (text: string, places: readonly number[]): Uint8Array[] => {
  const bytes = encode(text);
  const cuts = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
};

function run(stream: ChatStream, pieces: readonly Uint8Array[]): { text: string; complete: boolean } {
  const pipeline = new AnswerPipeline(stream);
  const frames = pieces.flatMap((piece) => pipeline.push(piece));
  const end = pipeline.end();
  return { text: Buffer.concat([...frames, ...end.frames]).toString('utf8'), complete: end.complete };
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');

describe('the frames of a stream', () => {
  it('are whole whatever the pieces in which the bytes come, and no byte is lost', () => {
    forAll(
      fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }),
      lineEnd,
      fc.array(fc.nat()),
      (texts, end, places) => {
        const data = texts.map((text) => JSON.stringify(text));
        const whole = data.map((line) => `data: ${line}${end}${end}`).join('');
        const splitter = new FrameSplitter();
        const frames = cutAt(whole, places).flatMap((piece) => splitter.push(piece));
        expect(Buffer.concat([...frames.map(({ bytes }) => bytes), splitter.rest()]).toString('utf8')).toBe(
          whole,
        );
        expect(frames.flatMap(({ data: found }) => found ?? [])).toEqual(data);
      },
    );
  });

  it('join the lines of one event and pass comments on', () => {
    expect(new Frame(encode(': hello\ndata: a\ndata: b\n\n')).data).toBe('a\nb');
  });
});

describe('a chat stream', () => {
  const whole = [': hi', chunk('Grüße 😀'), chunk('', 'stop'), 'data: [DONE]']
    .map((line) => `${line}\n\n`)
    .join('');

  it('passes every byte on when no report is asked for, wherever it is cut', () => {
    forAll(fc.array(fc.nat()), (places) => {
      expect(run(new ChatStream(undefined), cutAt(whole, places))).toEqual({ text: whole, complete: true });
    });
  });

  it('gets the report as a chunk of its own before [DONE], wherever it is cut', () => {
    forAll(fc.array(fc.nat()), (places) => {
      const { text } = run(new ChatStream(() => report), cutAt(whole, places));
      const added = {
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 7,
        model: 'm',
        choices: [],
        memory: report,
      };
      expect(text).toBe(whole.replace('data: [DONE]', `data: ${JSON.stringify(added)}\n\ndata: [DONE]`));
    });
  });

  it.each([
    ['with no choice', { choices: [] }],
    ['with null', { choices: null }],
    ['without the member', {}],
  ])('hides the usage that nobody but Precis has asked for: %s', (_, choices) => {
    const usage = `data: ${JSON.stringify({ id: 'c1', ...choices, usage: { prompt_tokens: 1 } })}`;
    const stream = new ChatStream(undefined, undefined, true);
    const { text } = run(stream, [encode(whole.replace('data: [DONE]', `${usage}\n\ndata: [DONE]`))]);

    expect(text).toBe(whole);
  });

  it('is complete without [DONE] when it has a finish_reason, and then ends with the report', () => {
    const { text, complete } = run(new ChatStream(() => report), [encode(`${chunk('a', 'stop')}\n\n`)]);
    expect(complete).toBe(true);
    expect(text).toContain('"memory"');
  });

  it('is not complete when it merely ends, and half a frame is not passed on', () => {
    const { text, complete } = run(new ChatStream(() => report), [encode(`${chunk('a')}\n\ndata: {"choi`)]);
    expect(complete).toBe(false);
    expect(text).toBe(`${chunk('a')}\n\n`);
  });

  it('is not complete when it breaks off within the chunk that would end it, or within an error', () => {
    const error = 'data: {"error":{"message":"overloaded"}}';
    for (const last of [chunk('', 'stop'), error])
      for (let length = 0; length < last.length; length++) {
        const begun = `${chunk('a')}\n\n`;
        const { text, complete } = run(new ChatStream(() => report), [encode(begun + last.slice(0, length))]);
        expect({ text, complete }).toEqual({ text: begun, complete: false });
      }
  });

  it('ends with the upstream’s own error if that came last', () => {
    const error = 'data: {"error":{"message":"overloaded"}}\n\n';
    expect(run(new ChatStream(() => report), [encode(error)])).toEqual({ text: error, complete: true });
  });

  it('is complete when only the last blank line is missing', () => {
    const { text, complete } = run(new ChatStream(undefined), [
      encode(`${chunk('a', 'stop')}\n\ndata: [DONE]`),
    ]);
    expect(complete).toBe(true);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });
});
