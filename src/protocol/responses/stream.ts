/**
 * How the stream of a response lives and ends: the last event contains the report, an error may be
 * reported as `response.failed`, and `response.in_progress` is the sign of life.
 *
 * A sign of life has the number of the event before it. The upstream's numbers stay as they are,
 * and a caller who goes on after a number misses nothing.
 */
import { concat } from '../../lib/bytes.ts';
import { asObject, parseJson } from '../../lib/json.ts';
import type { Report } from '../../memory/plan/report.ts';
import {
  type AnswerStream,
  type Reword,
  reportMember,
  type StreamFault,
  type StreamForm,
} from '../answers/answer-format.ts';
import { reworded } from '../answers/reword.ts';
import { saidFault } from '../answers/said-fault.ts';
import { type Block, eventFrame, Frame } from '../answers/sse.ts';
import { levels, type Outline } from '../json/outline.ts';
import { fieldOf, scanJson, withMembers } from '../json/spans.ts';
import { FAILED, failedFrames } from './failed.ts';
import { changedEvent } from './splices.ts';
import { IN_PROGRESS, OPENS } from './stream-items.ts';

/**
 * Events that end a stream (https://platform.openai.com/docs/api-reference/responses-streaming).
 * Some backends end it with `response.done` (https://github.com/decolua/9router/pull/2142). Data
 * that matches is parsed to make sure.
 */
export const LAST = /"(?:response\.(?:completed|done|incomplete|cancell?ed|failed)|error)"/;

/** Last events after which there is no answer to rely on. */
const BROKEN = /^(?:response\.(?:cancell?ed|failed)|error)$/;
const SEQUENCE_NUMBER = /"sequence_number"\s*:\s*(\d+)/;
/** Matches only frames whose data has a sequence number. */
const NUMBERED = /^data:[^\r\n]*"sequence_number":\d/m;

/** Where the report goes. */
const EVENT: Outline = { fields: new Map([['response', levels(1)]]), others: {}, most: 100 };

const NO_NAMES: ReadonlySet<string> = new Set();

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class ResponsesStream implements AnswerStream {
  /** The last event holds the complete answer. */
  readonly longestFrame = 16 * 1024 * 1024;
  isOver = false;
  isWhole = false;
  private readonly report: (() => Report) | undefined;
  private readonly reword: Reword | undefined;
  private readonly form: StreamForm;
  private sequence = -1;
  /** The last frames that were skipped with a sequence number, if none was pushed after them. */
  private skipped: Block | undefined;
  /** The last event that has opened the response. */
  private opened: Frame | undefined;
  /** Whether an event has come that does not open the response. */
  private hasContent = false;

  constructor(report: (() => Report) | undefined, reword?: Reword, form: StreamForm = {}) {
    this.report = report;
    this.reword = reword;
    this.form = form;
  }

  /** Whether it matters how the response begins. */
  private get opens(): boolean {
    const { failsAsAnswer, livesBy } = this.form;
    return !this.hasContent && (failsAsAnswer === true || livesBy !== undefined);
  }

  skip(block: Block): boolean {
    if (this.opens || LAST.test(block.text)) return false;
    if (!block.text.includes('"sequence_number"')) return true;
    if (!NUMBERED.test(block.text)) return false;
    this.skipped = block;
    return true;
  }

  push(frame: Frame): Frame[] {
    const { data } = frame;
    if (data === undefined) return [frame];
    if (this.opens) this.begin(frame);
    this.count(frame);
    const failed = this.form.failsAsAnswer ? this.asFailed(frame) : undefined;
    if (failed) return failed;
    const type =
      lastEvent(frame)?.type ?? (data.includes('"error"') && isError(frame.json) ? 'error' : undefined);
    const rewordedData = reworded(frame, this.reword);
    if (type !== undefined) {
      this.isOver = true;
      this.isWhole ||= !BROKEN.test(type);
      if (this.report && type !== 'error')
        return [Frame.of(withReport(rewordedData ?? data, this.report()), type)];
    }
    return [rewordedData === undefined ? frame : Frame.of(rewordedData, type)];
  }

  /** Only an event completes a stream; it may be an error. */
  end(): { complete: boolean; frames: Frame[] } {
    return { complete: this.isOver, frames: [] };
  }

  error(fault: StreamFault): Uint8Array {
    this.countSkipped();
    const number = this.sequence + 1;
    if (this.form.failsAsAnswer) {
      const frames = failedFrames(fault, asObject(this.opened?.json).response, number);
      return concat(frames.map(({ bytes }) => bytes));
    }
    const { message, param, code, type } = fault;
    const fields = { code, message, param };
    // OpenAI documents the fields and sends the member. Its SDKs throw because of the member.
    const event = { type: 'error', sequence_number: number, ...fields, error: { type, ...fields } };
    return eventFrame('error', JSON.stringify(event));
  }

  keepalive(): Frame | undefined {
    const { livesBy } = this.form;
    if (livesBy === undefined || (livesBy === 'events_before_content' && this.hasContent)) return undefined;
    this.countSkipped();
    const sequence_number = Math.max(0, this.sequence);
    if (this.opened) {
      const changes = { type: IN_PROGRESS, sequence_number };
      const data = changedEvent(this.opened.data ?? '', NO_NAMES, changes);
      return data === undefined ? undefined : Frame.of(data, IN_PROGRESS);
    }
    // A client that reads the event expects the response to be created before.
    if (livesBy !== 'events') return undefined;
    return Frame.of(JSON.stringify({ type: IN_PROGRESS, sequence_number }), IN_PROGRESS);
  }

  /** Takes a frame while the response has no content. */
  private begin(frame: Frame): void {
    const { type, response } = asObject(frame.json);
    if (typeof type !== 'string' || !type.startsWith('response.')) return;
    if (!OPENS.has(type)) this.hasContent = true;
    else if (response) this.opened = frame;
  }

  /** An error of the upstream as `response.failed`; undefined for any other event. */
  private asFailed(frame: Frame): Frame[] | undefined {
    if (!LAST.test(frame.data ?? '')) return undefined;
    // An upstream's own event after its error would be a second end.
    if (this.isOver) return [];
    if (!isError(frame.json)) return undefined;
    const event = asObject(parseJson(reworded(frame, this.reword) ?? '') ?? frame.json);
    this.isOver = true;
    // The event has its own number, which is the next one here.
    const number = Math.max(0, this.sequence);
    const frames = failedFrames(saidFault(event), asObject(this.opened?.json).response, number);
    const { report } = this;
    return frames.map((each, index) =>
      report && index === frames.length - 1 ? Frame.of(withReport(each.data ?? '', report()), FAILED) : each,
    );
  }

  private countSkipped(): void {
    for (const frame of this.skipped?.frames() ?? []) this.count(frame);
  }

  private count({ data = '' }: Frame): void {
    const number = SEQUENCE_NUMBER.exec(data)?.[1];
    if (number === undefined) return;
    this.sequence = Number(number);
    this.skipped = undefined;
  }
}

/** Whether an event is an error. Some gateways name no type. */
export function isError(event: unknown): boolean {
  const { type, error } = asObject(event);
  return type === 'error' || (type === undefined && Boolean(error));
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
  const response = fieldOf(scanJson(bytes, EVENT), 'response');
  if (response?.kind !== 'object') return data;
  return decoder.decode(withMembers(bytes, response, [reportMember(report)]));
}
