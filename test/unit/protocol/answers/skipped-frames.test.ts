/** Frames that pass as one block, compared with a pipeline that looks at each of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import type {
  AnswerGatherer,
  AnswerStream,
  StreamForm,
} from '../../../../src/protocol/answers/answer-format.ts';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { type Block, Frame, isOtherText, KEEPALIVE } from '../../../../src/protocol/answers/sse.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';

const FAULT = { message: 'It broke off.', type: 'server_error', param: null, code: 'upstream_unreachable' };
const CR = 0x0d;
const LF = 0x0a;
/** In bytes. Some frames of the generator are longer. */
const LONGEST = 60;

interface Pipeline {
  readonly isOver: boolean;
  push(chunk: Uint8Array): Uint8Array[];
  end(): { complete: boolean; frames: Uint8Array[] };
  error(fault: typeof FAULT): Uint8Array;
  keepalive(): Uint8Array | undefined;
}

/** Looks at every byte, and at every frame. */
class ThoroughPipeline implements Pipeline {
  private readonly stream: AnswerStream;
  private readonly gatherer: AnswerGatherer | undefined;
  private readonly longest: number;
  private held: number[] = [];
  private inside = false;
  private lineIsEmpty = true;
  private afterCr = false;
  private hasBegun = false;

  constructor(stream: AnswerStream, gatherer: AnswerGatherer | undefined, longest: number) {
    this.stream = stream;
    this.gatherer = gatherer;
    this.longest = longest;
  }

  get isOver(): boolean {
    return this.stream.isOver;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    for (const [index, byte] of chunk.entries()) {
      const isSecondHalf = byte === LF && this.afterCr;
      const last = frames.at(-1);
      this.afterCr = byte === CR;
      if (isSecondHalf && this.held.length === 0 && index > 0 && last) {
        frames[frames.length - 1] = Uint8Array.of(...last, LF);
        continue;
      }
      this.held.push(byte);
      const endsLine = byte === CR || byte === LF;
      if (isSecondHalf ? index === 0 && this.held.length === 1 : endsLine && this.lineIsEmpty)
        frames.push(this.take());
      this.lineIsEmpty = endsLine;
    }
    if (frames.length > 0) this.inside = false;
    if (this.held.length > this.longest) {
      frames.push(this.take());
      this.inside = true;
    }
    return this.pass(frames);
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const rest = this.take();
    // Other words are a server's, and no event.
    const isOther = !this.hasBegun && isOtherText(Buffer.from(rest).toString());
    const last = Uint8Array.of(...rest, ...(rest.at(-1) === LF ? [LF] : [LF, LF]));
    const before = rest.length > 0 ? this.pass([last]) : [];
    const { complete, frames } = this.stream.end();
    const isHalf = !complete && !isOther && new Frame(last).json === undefined;
    const shown = before.filter((bytes) => !isHalf || decode(bytes) !== decode(last));
    return { complete, frames: [...shown, ...frames.map(({ bytes }) => bytes)] };
  }

  error(fault: typeof FAULT): Uint8Array {
    const frame = this.stream.error(fault);
    return this.inside ? Uint8Array.of(LF, LF, ...frame) : frame;
  }

  keepalive(): Uint8Array | undefined {
    return this.inside || this.isOver ? undefined : (this.stream.keepalive?.()?.bytes ?? KEEPALIVE);
  }

  private pass(frames: readonly Uint8Array[]): Uint8Array[] {
    return frames.flatMap((bytes) => {
      const frame = new Frame(bytes);
      this.hasBegun ||= /^data/m.test(decode(bytes));
      this.gatherer?.push(frame);
      return this.stream.push(frame).map((passed) => passed.bytes);
    });
  }

  private take(): Uint8Array {
    const taken = Uint8Array.from(this.held);
    this.held = [];
    return taken;
  }
}

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** What a caller sees after each chunk and at the end. @param ends of the chunks */
function run(pipeline: Pipeline, bytes: Uint8Array, ends: readonly number[]): unknown {
  const seen = ends.map((end, index) => [
    pipeline
      .push(bytes.slice(ends[index - 1] ?? 0, end))
      .map(decode)
      .join(''),
    pipeline.isOver,
    decode(pipeline.keepalive() ?? new Uint8Array()),
    decode(pipeline.error(FAULT)),
  ]);
  const { complete, frames } = pipeline.end();
  return { seen, complete, last: frames.map(decode).join(''), isOver: pipeline.isOver };
}

const lineEnd = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
const chatData = fc.oneof(
  fc.constantFrom(
    '[DONE]',
    ' [DONE] ',
    '{"error":{"message":"Overloaded"}}',
    '{"error":"Overloaded"}',
    '{"id":"c","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"[DONE]"},"finish_reason":null}]}',
    '{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}',
    '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason" : null}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason" :\n "stop"}]}',
    '{"choices":[{"index":0,"delta":{"content":"é😀"}}]}',
    'no JSON',
    '',
  ),
  fc.string({ maxLength: 20 }),
);
const responsesData = fc.oneof(
  fc.constantFrom(
    '{"type":"response.created","sequence_number":0,"response":{"error":null}}',
    '{"type":"response.output_text.delta","sequence_number":12,"delta":"a"}',
    '{"type":"response.output_text.delta","sequence_number" : 13,"delta":"b"}',
    '{"type":"response.output_text.delta","sequence_number":\n14,"delta":"b"}',
    '{"type":"response.output_text.delta","delta":"\\"sequence_number\\":7"}',
    '{"type":"response.output_text.delta","sequence_number":null,"delta":"c"}',
    '{"type":"response.output_item.done","sequence_number":15,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"Hi"}]}}',
    '{"type":"response.completed","sequence_number":16,"response":{"status":"completed","output":[]}}',
    '{"type":"response.failed","sequence_number":17,"response":{"error":{"code":"x","message":"y"}}}',
    '{"type":"error","sequence_number":18,"message":"Overloaded"}',
    '{"error":{"message":"Overloaded"}}',
    '{"type":"response.in_progress","sequence_number":1,"response":{"id":"r","output":[]}}',
    '{"type":"codex.rate_limits"}',
  ),
  fc.string({ maxLength: 20 }),
);
const messagesData = fc.oneof(
  fc.constantFrom(
    '{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":1}}}',
    '{"type": "ping"}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}      }',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é\\u0041\\"message_stop\\""}}',
    '{"type":"content_block_delta","index":0,"delta":\n{"type":"text_delta","text":"b"}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"text"}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
    '{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}',
    '{"type":"message_stop"}',
    '{"type" :\n "message_stop"}',
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    '{"error":{"message":"Overloaded"}}',
  ),
  fc.string({ maxLength: 20 }),
);

/** The bytes of a frame. */
const frameOf = (data: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      data,
      lineEnd,
      fc.constantFrom('data: ', 'data:', 'data: ', ': ', '\uFEFFdata: ', 'data'),
      fc.nat(9),
    )
    .map(([text, end, field, kind]) => {
      const lines = text.split('\n').map((line) => field + line + end);
      const before = kind === 0 ? `retry: 7${end}` : kind === 1 ? `event: error${end}` : '';
      const last = kind === 2 ? `: "sequence_number":99${end}` : kind === 3 ? `: no end${end}` : end;
      return before + lines.join('') + last;
    });

const streamed = (data: fc.Arbitrary<string>) =>
  fc.record({
    frames: fc.array(frameOf(data), { maxLength: 8 }),
    cuts: fc.array(fc.nat(), { maxLength: 12 }),
    /** How many bytes are missing at the end. */
    missing: fc.nat(30),
    longest: fc.constantFrom(LONGEST, 1_000_000),
    isReported: fc.boolean(),
    isReworded: fc.boolean(),
    isGathered: fc.boolean(),
    form: fc.record({
      failsAsAnswer: fc.boolean(),
      livesBy: fc.constantFrom(undefined, 'events', 'events_before_content'),
    }),
  });

describe.each([
  ['chat', chatFormat, chatData],
  ['responses', responsesFormat, responsesData],
  ['messages', messagesFormat, messagesData],
] as const)('frames of %s that pass as one block', (_, format, data) => {
  it('come out as if each had been looked at', () => {
    forAll(runs(100, 1_000), streamed(data), ({ frames, cuts, missing, longest, ...how }) => {
      const all = new TextEncoder().encode(frames.join(''));
      const bytes = all.subarray(0, Math.max(0, all.length - missing));
      const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
      const report = how.isReported ? () => idleReport('none', 'default') : undefined;
      const reword = how.isReworded ? () => FAULT : undefined;
      const stream = () => format.stream(report, reword, how.form as StreamForm);
      const [quick, thorough] = [format.gather(), format.gather()];
      const listener = {
        skip: (block: Block) => quick.skip?.(block) === true,
        push: (frame: Frame) => quick.push(frame),
        complete: () => undefined,
      };
      const pipeline = new AnswerPipeline(stream(), {
        gather: how.isGathered ? listener : undefined,
        longestFrame: longest,
      });
      const expected = new ThoroughPipeline(stream(), how.isGathered ? thorough : undefined, longest);
      expect(run(pipeline, bytes, ends)).toEqual(run(expected, bytes, ends));
      expect(quick.text()).toBe(thorough.text());
    });
  });
});
