/**
 * How the stream of a message lives and ends: the last `message_delta` has the report, `ping` is
 * the sign of life, and after `message_stop` or an error nothing follows.
 *
 * Whether a `message_delta` is the last one is known with the next event, so it waits for that. The
 * API sends both together. Where no event follows it goes out unchanged, before the error.
 */
import { concat } from '../../lib/bytes.ts';
import { asObject } from '../../lib/json.ts';
import type { Report } from '../../memory/plan/report.ts';
import { type AnswerStream, addReport, type Reword, type StreamFault } from '../answers/answer-format.ts';
import { reworded } from '../answers/reword.ts';
import { type Block, Frame, LONGEST_FRAME } from '../answers/sse.ts';
import { asMessagesFault, errorIn, failedEvent } from './errors.ts';

/** Matches any frames with the end of the stream or an error. */
const MAY_MATTER = /"message_(?:delta|stop)"|"error"/;

const PING = Frame.of('{"type": "ping"}', 'ping');

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class MessagesStream implements AnswerStream {
  readonly longestFrame = LONGEST_FRAME;
  isOver = false;
  isWhole = false;
  private readonly report: (() => Report) | undefined;
  private readonly reword: Reword | undefined;
  /** A `message_delta` that may be the last one. */
  private held: Frame | undefined;

  constructor(report: (() => Report) | undefined, reword?: Reword) {
    this.report = report;
    this.reword = reword && ((error) => rewordedBy(reword, error));
  }

  skip({ text }: Block): boolean {
    return this.held === undefined && !MAY_MATTER.test(text);
  }

  push(frame: Frame): Frame[] {
    const { data } = frame;
    if (data === undefined) return [frame];
    if (this.held === undefined && !MAY_MATTER.test(data)) return [frame];
    const { type } = asObject(frame.json);
    if (type === 'ping') return [frame];
    if (type === 'message_stop') return this.last(frame);
    const before = this.release();
    if (type === 'message_delta' && this.report) {
      this.held = frame;
      return before;
    }
    if (errorIn(frame.json) === undefined) return [...before, frame];
    this.isOver = true;
    const rewordedData = reworded(frame, this.reword);
    return [...before, rewordedData === undefined ? frame : Frame.of(rewordedData, 'error')];
  }

  /** Only an event completes a stream; it may be an error. */
  end(): { complete: boolean; frames: Frame[] } {
    return { complete: this.isOver, frames: [] };
  }

  error(fault: StreamFault): Uint8Array {
    return concat([...this.release().map(({ bytes }) => bytes), failedEvent(fault)]);
  }

  keepalive(): Frame {
    return PING;
  }

  private release(): Frame[] {
    const { held } = this;
    this.held = undefined;
    return held ? [held] : [];
  }

  /** @param frame with `message_stop` */
  private last(frame: Frame): Frame[] {
    const before = this.release();
    if (!this.isOver) this.isWhole = true;
    const isFirst = !this.isOver;
    this.isOver = true;
    if (!this.report || !isFirst) return [...before, frame];
    const [delta] = before;
    const report = this.report();
    return delta
      ? [withReport(delta, report, 'message_delta'), frame]
      : [withReport(frame, report, 'message_stop')];
  }
}

function rewordedBy(reword: Reword, error: Readonly<Record<string, unknown>>): ReturnType<Reword> {
  const fault = reword(error);
  return fault && asMessagesFault(fault);
}

/** An event with the report as its last member. */
function withReport(frame: Frame, report: Report, type: string): Frame {
  return Frame.of(decoder.decode(addReport(encoder.encode(frame.data ?? ''), report)), type);
}
