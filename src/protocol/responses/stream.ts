/** How the stream of a response ends: the last event contains the report. */
import { asObject } from '../../lib/json.ts';
import type { Report } from '../../memory/plan/report.ts';
import type { AnswerFault, AnswerStream, Reword } from '../answers/answer-format.ts';
import { reworded } from '../answers/reword.ts';
import { type Block, eventFrame, Frame } from '../answers/sse.ts';
import { levels, type Outline } from '../json/outline.ts';
import { fieldOf, memberSplices, scanJson, splice } from '../json/spans.ts';

/**
 * Events that end a stream (https://platform.openai.com/docs/api-reference/responses-streaming).
 * Data that matches is parsed to make sure.
 */
export const LAST = /"(?:response\.(?:completed|incomplete|failed)|error)"/;
const SEQUENCE_NUMBER = /"sequence_number"\s*:\s*(\d+)/;
/** Matches only frames whose data has a sequence number. */
const NUMBERED = /^data:[^\r\n]*"sequence_number":\d/m;

/** Where the report goes. */
const EVENT: Outline = { fields: new Map([['response', levels(1)]]), others: {}, most: 100 };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class ResponsesStream implements AnswerStream {
  /** The last event holds the complete answer. */
  readonly longestFrame = 16 * 1024 * 1024;
  isOver = false;
  isWhole = false;
  private readonly report: (() => Report) | undefined;
  private readonly reword: Reword | undefined;
  private sequence = -1;
  /** The last frames that were skipped with a sequence number, if none was pushed after them. */
  private skipped: Block | undefined;

  /** See `AnswerFormat`. */
  constructor(report: (() => Report) | undefined, reword?: Reword) {
    this.report = report;
    this.reword = reword;
  }

  skip(block: Block): boolean {
    if (LAST.test(block.text)) return false;
    if (!block.text.includes('"sequence_number"')) return true;
    if (!NUMBERED.test(block.text)) return false;
    this.skipped = block;
    return true;
  }

  push(frame: Frame): Frame[] {
    const { data } = frame;
    if (data === undefined) return [frame];
    this.count(frame);
    const type = lastEvent(frame)?.type;
    const rewordedData = reworded(frame, this.reword);
    if (type !== undefined) {
      this.isOver = true;
      this.isWhole ||= type !== 'response.failed' && type !== 'error';
      if (this.report && type !== 'error')
        return [Frame.of(withReport(rewordedData ?? data, this.report()), type)];
    }
    return [rewordedData === undefined ? frame : Frame.of(rewordedData, type)];
  }

  /** Only an event completes a stream; it may be an error. */
  end(): { complete: boolean; frames: Frame[] } {
    return { complete: this.isOver, frames: [] };
  }

  error({ message, param, code }: AnswerFault): Uint8Array {
    for (const frame of this.skipped?.frames() ?? []) this.count(frame);
    const event = { type: 'error', sequence_number: this.sequence + 1, code, message, param };
    return eventFrame('error', JSON.stringify(event));
  }

  private count({ data = '' }: Frame): void {
    const number = SEQUENCE_NUMBER.exec(data)?.[1];
    if (number === undefined) return;
    this.sequence = Number(number);
    this.skipped = undefined;
  }
}

/** The event that ends a stream; undefined for any other. */
export function lastEvent(frame: Frame): { readonly type: string; readonly response?: unknown } | undefined {
  if (!LAST.test(frame.data ?? '')) return undefined;
  const { type, response } = asObject(frame.json);
  return typeof type === 'string' && LAST.test(`"${type}"`) ? { type, response } : undefined;
}

/** An event with the report as the last member of its response. */
function withReport(data: string, report: Report): string {
  const bytes = encoder.encode(data);
  const response = fieldOf(scanJson(bytes, EVENT), 'response')?.value;
  if (response?.kind !== 'object') return data;
  const added = memberSplices(response, () => false, [{ key: 'memory', json: JSON.stringify(report) }]);
  return decoder.decode(splice(bytes, { start: 0, end: bytes.length }, added));
}
