/**
 * The way of a streamed answer to its caller:
 *
 *   bytes → frames → join → gather → report → bytes
 *
 * Frames are split here, once, and pass through a list of stages, which parse them where they need
 * to (`Frame`). Frames that come together and matter to no stage pass as one block, which is only
 * searched for words. `join` makes one answer of several (`retrieval/stream.ts`), `gather` reads
 * the text for memory and archive, and `report` recognizes the end and adds the report
 * (`AnswerStream`).
 *
 * The words of a block decide only that it can be skipped (`AnswerStream.skip`); what a frame means
 * is decided by its event. A chunk of chat that only adds text is known by a pattern for all of it,
 * and is not parsed (`chat/plain-delta.ts`).
 */
import { bufferOf, concat } from '../../lib/bytes.ts';
import { areSame } from '../../lib/elements.ts';
import { asObject, parseObject } from '../../lib/json.ts';
import type { AnswerFault, AnswerListener, AnswerStream } from './answer-format.ts';
import { AnswerSize } from './answer-size.ts';
import { saidFault } from './said-fault.ts';
import { type Block, Frame, FrameSplitter, isOtherText, KEEPALIVE, lastFrame } from './sse.ts';

interface Stage {
  /** Whether whole frames stay as they are and don't matter here. */
  skip(block: Block): boolean;
  /** The frames that replace one frame. */
  push(frame: Frame): Frame[];
}

/** The first stage of a stream that is made of several answers. */
export interface JoiningStage<Next> extends Stage {
  /** The longest frame that is read, in bytes. */
  readonly longestFrame: number;
  /** A frame was longer, and is left out. */
  leaveOut(): void;
  /** The upstream has closed its stream. Returns true if another answer follows. */
  end(): boolean;
  /** Frames that keep a silent stream alive; empty if only a comment can. */
  keepalive(): Frame[];
  /** Frames that wait for more of an answer that has broken off. */
  release(): Frame[];
  /** See `JoinedStreams.forget`. */
  forget(): void;
  /** The next answer, or the error that ends the stream; undefined if there is none, or not yet. */
  next(): Promise<Next | { readonly fault: AnswerFault }> | undefined;
  /** The caller's answer is complete. Returns what its last event waits for. Must not reject. */
  hold(): Promise<void> | undefined;
  /** Aborts the request for the next answer. */
  abandon(): void;
}

/** The stages before the report, and how long a frame may be. */
interface PipelineOptions<Next> {
  readonly join?: JoiningStage<Next> | undefined;
  readonly gather?: AnswerListener | undefined;
  /** In bytes. A longer frame passes in pieces, or is left out by `join`. */
  readonly longestFrame?: number;
  /**
   * Whether the caller takes a blank line after a comment for an event, as OpenAI's SDK for Go did
   * (https://github.com/openai/openai-go/pull/621,
   * https://github.com/openai/openai-python/issues/2722).
   */
  readonly readsBlanks?: boolean;
}

/** An `EventFormat` of `upstream/stream.ts`. */
export class AnswerPipeline<Next extends object = never> {
  private readonly report: AnswerStream;
  private readonly join: JoiningStage<Next> | undefined;
  private readonly gather: AnswerListener | undefined;
  private readonly stages: readonly Stage[];
  private readonly longestFrame: number;
  private splitter: FrameSplitter;
  private isGathered = false;
  /** Whether it was one JSON object without an error, which its server calls a stream. */
  private isJson = false;
  /** Whether an event has come, and not comments alone. */
  hasBegun = false;
  /** See `PipelineOptions`. After an id, OpenAI's SDK for Python does the same. */
  private readsBlanks: boolean;
  /** Whether the answer is too long to be read for features. It passes all the same. */
  isTooLong = false;
  /** What has come, in bytes, and of a long answer the rest, in tokens. */
  private came = 0;
  private readonly size = new AnswerSize(true);

  constructor(report: AnswerStream, options: PipelineOptions<Next> = {}) {
    const { join, gather, longestFrame = join?.longestFrame ?? report.longestFrame } = options;
    this.report = report;
    this.join = join;
    this.gather = gather;
    this.stages = [...(join ? [join] : []), ...(gather ? [gathering(gather)] : []), this.reporting()];
    this.longestFrame = longestFrame;
    this.readsBlanks = options.readsBlanks === true;
    this.splitter = new FrameSplitter(longestFrame);
  }

  get isOver(): boolean {
    return this.report.isOver;
  }

  /** Whether the answer is complete, and no error. */
  get isWhole(): boolean {
    return this.isJson || this.report.isWhole;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    if (this.stages.length > 1) this.measure(chunk);
    const blocks = this.splitter.blocks(chunk);
    if (!this.hasBegun) this.begin(blocks.find(({ text }) => DATA.test(text)));
    if (this.join && this.splitter.inside) {
      // The last one is only a piece.
      blocks.pop();
      this.join.leaveOut();
      this.splitter = new FrameSplitter(this.longestFrame);
    }
    return blocks.flatMap((block) => (this.skips(block) ? [block.bytes] : this.passed(block)));
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const rest = this.splitter.rest();
    const text = this.hasBegun ? '' : bufferOf(rest).toString();
    const body = parseObject(text);
    if (body) {
      this.isJson = (body.error ?? null) === null;
      return { complete: true, frames: [rest] };
    }
    const last = lastFrame(rest);
    // `join` would hold it for an answer that goes on.
    const isPiece = last?.data?.startsWith('{') === true && last.json === undefined;
    const before = last ? this.pass(asError(last), isPiece && this.join ? AFTER_JOIN : 0) : [];
    if (this.join?.end()) return { complete: true, frames: bytesOf(before) };
    const { complete, frames } = this.report.end();
    this.complete();
    // An error follows otherwise. Half an event before it is of no use, unlike a server's words.
    const isHalf = !complete && !isOtherText(text) && last?.json === undefined;
    const shown = isHalf ? before.filter((frame) => frame !== last) : [...before, ...frames];
    return { complete, frames: bytesOf(shown) };
  }

  /** The bytes that end the stream with an error, after all that has come and was still held. */
  error(fault: AnswerFault): Uint8Array {
    const released = (this.join?.release() ?? []).flatMap((frame) => this.pass(frame, AFTER_JOIN));
    return this.splitter.ownFrame(concat([...bytesOf(released), this.report.error(fault)]));
  }

  /** Undefined within a frame, and after the last event. */
  keepalive(): Uint8Array | undefined {
    if (this.splitter.inside || this.isOver) return undefined;
    const events = (this.join?.keepalive() ?? []).flatMap((frame) => this.pass(frame, AFTER_JOIN));
    if (events.length > 0) return concat(bytesOf(events));
    return this.report.keepalive?.()?.bytes ?? (this.readsBlanks ? COMMENT : KEEPALIVE);
  }

  /** The next answer, or the bytes that end the stream. */
  next(): Promise<Next | Uint8Array> | undefined {
    const next = this.join?.next();
    if (!next) return undefined;
    this.splitter = new FrameSplitter(this.longestFrame);
    return next.then((came) => ('fault' in came ? this.error(came.fault) : came));
  }

  /** What the frames of the last read wait for; undefined: nothing. */
  hold(): Promise<void> | undefined {
    return this.isWhole ? this.join?.hold() : undefined;
  }

  abandon(): void {
    this.join?.abandon();
  }

  /** @param block the first one with an event */
  private begin(block: Block | undefined): void {
    this.hasBegun = block !== undefined;
    this.readsBlanks ||= block !== undefined && /^id:/m.test(block.text);
  }

  /** Bounds what the stages before the report hold of an answer. A short one is not measured. */
  private measure(chunk: Uint8Array): void {
    this.came += chunk.length;
    if (this.isTooLong || this.came <= UNMEASURED) return;
    this.size.push(chunk);
    if (this.size.output <= LONGEST_GATHERED) return;
    this.isTooLong = true;
    this.join?.forget();
    this.gather?.forget?.();
  }

  /** Passes a frame through the stages from one on. */
  private pass(frame: Frame, at = 0): Frame[] {
    const stage = this.stages[at];
    if (!stage) return [frame];
    const shown = stage.push(frame);
    return at + 1 < this.stages.length ? shown.flatMap((each) => this.pass(each, at + 1)) : shown;
  }

  /** Passes a block through all stages. One that stays as it is comes out in one piece. */
  private passed(block: Block): Uint8Array[] {
    const frames = block.frames();
    const shown = frames.flatMap((frame) => this.pass(asError(frame)));
    return areSame(shown, frames) ? [block.bytes] : bytesOf(shown);
  }

  /** Whether a block can be passed on without a look at each of its frames. */
  private skips(block: Block): boolean {
    // A piece of a frame has no event.
    const isRead = this.splitter.inside || NAMED_ERROR.test(block.text);
    return !isRead && this.stages.every((stage) => stage.skip(block));
  }

  private reporting(): Stage {
    const { report } = this;
    const push = (frame: Frame): Frame[] => {
      const shown = report.push(frame);
      this.complete();
      return shown;
    };
    return { skip: (block) => report.skip(block), push };
  }

  private complete(): void {
    if (this.isGathered || !this.report.isWhole) return;
    this.isGathered = true;
    this.gather?.complete();
  }
}

/**
 * The longest answer that is gathered, in tokens. No model writes as much; a server that does would
 * have several times its answer held in memory.
 */
const LONGEST_GATHERED = 512 * 1024;

/** In bytes. In this many bytes there can't be more tokens. */
const UNMEASURED = 2 * 1024 * 1024;

/** A comment without its blank line. */
const COMMENT = KEEPALIVE.subarray(0, -1);

/** A line of an event's data. */
const DATA = /^data/m;

const NAMED_ERROR = /^event: ?error\s*$/m;
/** In bytes, of a name that is read. */
const LONGEST_NAME = 64;

/** An error whose event alone is named so, in a form that all protocols know as one. */
function asError(frame: Frame): Frame {
  if (!NAMED_ERROR.test(bufferOf(frame.bytes).toString('latin1', 0, LONGEST_NAME))) return frame;
  const said = asObject(frame.json);
  const isFlat = typeof said.message === 'string' && !said.error && said.type !== 'error';
  return isFlat ? Frame.of(JSON.stringify({ error: saidFault(said) }), 'error') : frame;
}

/** The stage after the first one, where several answers are joined. */
const AFTER_JOIN = 1;

/** The stage that lets a listener read the answer. */
function gathering(listener: AnswerListener): Stage {
  const push = (frame: Frame): Frame[] => {
    listener.push(frame);
    return [frame];
  };
  return { skip: (block) => listener.skip?.(block) === true, push };
}

function bytesOf(frames: readonly Frame[]): Uint8Array[] {
  return frames.map(({ bytes }) => bytes);
}
