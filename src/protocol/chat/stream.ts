/** How the stream of a chat completion ends: chunks, the report, `[DONE]`. */
import { asList, asObject } from '../../lib/json.ts';
import type { Report } from '../../memory/plan/report.ts';
import type { AnswerStream, Reword, StreamFault } from '../answers/answer-format.ts';
import { reworded } from '../answers/reword.ts';
import { type Block, dataFrame, Frame, LONGEST_FRAME } from '../answers/sse.ts';
import { holdsError, mayHoldError } from './answer-error.ts';

export const DONE = '[DONE]';

/** What each chunk has beside its choices where usage is asked for, as the last member but one. */
const NO_USAGE = /,\s*"usage"\s*:\s*null\s*(?=(?:,\s*"obfuscation"\s*:\s*"[^"\\]*"\s*)?\}\s*$)/;

const FINISHED = /"finish_reason"\s*:\s*"/;

/**
 * Matches any frames with the end of the stream, a finish reason or an error, and frames that are
 * written in an unusual way.
 */
const MAY_MATTER = /\[DONE\]|"error"|"finish_reason"(?! ?: ?null)/;

/**
 * A chunk as it arrives where nobody asks for usage; undefined where there would be none. A usage
 * beside choices stays: servers that report it there do so unasked.
 */
function withoutUsage(frame: Frame): Frame | undefined {
  const { data = '' } = frame;
  const cut = data.replace(NO_USAGE, '');
  if (cut !== data) return Frame.of(cut);
  const { choices, usage } = asObject(frame.json);
  return asList(choices).length === 0 && usage ? undefined : frame;
}

export class ChatStream implements AnswerStream {
  readonly longestFrame = LONGEST_FRAME;
  /** Whether `[DONE]` has come. It does not matter how the connection ends after it. */
  isOver = false;
  private readonly report: (() => Report) | undefined;
  private readonly reword: Reword | undefined;
  private readonly hidesUsage: boolean;
  /** The first chunk of the stream. The report takes its id. */
  private first: Frame | undefined;
  /** A frame that seems to have a finish reason. The stream may break off within it. */
  private finish: Frame | undefined;
  private hasFailed = false;
  private hasEnded = false;

  constructor(report: (() => Report) | undefined, reword?: Reword, hidesUsage = false) {
    this.report = report;
    this.reword = reword;
    this.hidesUsage = hidesUsage;
  }

  private get hasFinished(): boolean {
    return this.finish?.json !== undefined;
  }

  get isWhole(): boolean {
    return !this.hasFailed && (this.isOver || (this.hasEnded && this.hasFinished));
  }

  skip({ text }: Block): boolean {
    const isKnown = this.first !== undefined || this.report === undefined;
    return isKnown && !MAY_MATTER.test(text) && !(this.hidesUsage && text.includes('"usage"'));
  }

  push(frame: Frame): Frame[] {
    const { data } = frame;
    if (data === undefined) return [frame];
    if (data.trim() === DONE) {
      const before = this.isOver ? [] : this.reportFrames();
      this.isOver = true;
      return [...before, frame];
    }
    if (this.hidesUsage && data.includes('"usage"')) {
      const left = withoutUsage(frame);
      return left ? this.shown(left) : [];
    }
    return this.shown(frame);
  }

  private shown(frame: Frame): Frame[] {
    const { data = '' } = frame;
    this.first ??= frame;
    if (FINISHED.test(data)) this.finish ??= frame;
    if (mayHoldError(data) && holdsError(frame.json)) this.hasFailed = true;
    const rewordedData = reworded(frame, this.reword);
    return [rewordedData === undefined ? frame : Frame.of(rewordedData)];
  }

  /** Without `[DONE]`, a `finish_reason` or an error of the upstream completes a stream. */
  end(): { complete: boolean; frames: Frame[] } {
    this.hasEnded = true;
    const isCut = !this.isOver && !this.hasFailed && this.hasFinished;
    const complete = this.isOver || this.hasFinished || this.hasFailed;
    return { complete, frames: isCut ? this.reportFrames() : [] };
  }

  error(error: StreamFault): Uint8Array {
    return dataFrame(JSON.stringify({ error }));
  }

  /** The report as a chunk of its own, with the id of the others and no choices. */
  private reportFrames(): Frame[] {
    if (!this.report) return [];
    const { id, created, model } = asObject(this.first?.json);
    const chunk = {
      id: id ?? 'chatcmpl-memory',
      object: 'chat.completion.chunk',
      created: created ?? 0,
      model: model ?? '',
      choices: [],
      memory: this.report(),
    };
    return [Frame.of(JSON.stringify(chunk))];
  }
}
