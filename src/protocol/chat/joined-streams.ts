/**
 * Several answers of a model as the one stream that its caller sees: calls of our tools are taken
 * out, the answers behind them go on where the first one stopped.
 *
 * Text flows at once, frame by frame, in the bytes that came. Only the pieces of calls wait, and
 * only until the name is known. A call of the caller's that has begun to flow can't be taken back,
 * so it decides the turn: calls of ours behind it are dropped. One of ours that comes first decides
 * it too, as long as calls are answered: the turn is answered here, and the model plans again.
 */

import { asObject, isObject, type JsonObject } from '../../lib/json.ts';
import type { JoinedStreams, Joining } from '../answer-format.ts';
import { CountedAnswers } from '../joined-answers.ts';
import { Frame } from '../sse.ts';
import type { ToolTurn } from '../tool-turn.ts';
import { CHAT_USAGE, type Usage } from '../usage.ts';
import {
  argumentsOf,
  type CallPiece,
  GatheredMessage,
  isOtherCall,
  isWhole,
  joined,
  nameOf,
  turnOf,
} from './calls.ts';
import { DONE } from './stream.ts';

interface Choice {
  readonly index?: number;
  readonly delta?: JsonObject;
  readonly finish_reason?: string | null;
  readonly [field: string]: unknown;
}

interface Chunk {
  readonly choices: readonly Choice[];
  readonly usage?: Usage | null;
  readonly [field: string]: unknown;
}

/** One call of a turn. */
interface Gathered {
  call: CallPiece;
  /** Undecided until its name is known. */
  whose: 'ours' | 'callers' | undefined;
  /** The index that the caller sees. */
  shown: number | undefined;
}

export class ChatTurns extends CountedAnswers implements JoinedStreams {
  isThrough = false;
  /** The first chunk, whose identity all others take. */
  private first: Chunk | undefined;
  private hasRole = false;
  private shownCalls = 0;
  /** The last call under each index that the upstream gives. */
  private calls = new Map<number, Gathered>();
  private ours: Gathered[] = [];
  /** The call whose name is not known yet: where the next one begins, it is. */
  private undecided: Gathered | undefined;
  private message = new GatheredMessage();
  /** Whose call came first in this turn. */
  private decided: 'ours' | 'callers' | undefined;
  private finish: string | undefined;

  constructor(...joining: Parameters<Joining<ChatTurns>>) {
    super(CHAT_USAGE, ...joining);
  }

  get turn(): ToolTurn | undefined {
    if (!this.isTurn) return undefined;
    return turnOf(
      this.message.fields,
      this.ours.map(({ call }) => call),
    );
  }

  end(): void {
    this.isThrough = this.isTurn;
  }

  begin(): void {
    this.goOn();
    this.isThrough = false;
    this.calls = new Map();
    this.ours = [];
    this.undecided = undefined;
    this.message = new GatheredMessage();
    this.decided = undefined;
    this.finish = undefined;
  }

  take(frame: Frame): Frame[] {
    if (frame.data?.trim() === DONE) {
      if (!this.isTurn) return [...this.waitingFrames(), frame];
      this.end();
      return [];
    }
    const chunk = chunkOf(frame.json);
    if (!chunk) return [frame];
    this.tally.count(chunk.usage);
    const choice = chunk.choices[0];
    if (!choice) return this.usageOnly(chunk, frame);

    this.first ??= chunk;
    const delta = choice.delta ?? {};
    // An answer that can't be read is passed on.
    if (!isObject(choice) || !isObject(delta))
      return this.isLater ? [this.frameOf(chunk, chunk.choices)] : [frame];
    this.message.add(delta);
    const pieces = Array.isArray(delta.tool_calls)
      ? delta.tool_calls.filter((piece): piece is CallPiece => piece !== null)
      : [];
    const waited = this.undecided !== undefined;
    const shown = pieces.flatMap((piece) => this.piece(piece));
    // Some upstreams say '' for what has not ended.
    const finish = choice.finish_reason || null;
    if (finish !== null) {
      this.finish = finish;
      shown.push(...this.decideWaiting());
    }
    const told = finish === null ? null : this.shownFinish(finish);
    // Most frames are shown as they are: their bytes are passed on.
    const isSame = !waited && this.decided !== 'ours' && indexesOf(pieces) === indexesOf(shown);
    if (isSame && !this.isLater && told === finish) {
      this.hasRole ||= (delta.role ?? null) !== null;
      return [frame];
    }
    return this.rewritten(chunk, choice, delta, shown, told);
  }

  private get isTurn(): boolean {
    return this.decided === 'ours' && isWhole(this.finish);
  }

  /** Whether this answer will be followed by another one, as far as can be told by now. */
  private get goesOn(): boolean {
    return this.decided === 'ours' && (this.finish === undefined || this.isTurn);
  }

  private usageOnly(chunk: Chunk, frame: Frame): Frame[] {
    if (this.goesOn) return [];
    return this.isLater ? [this.frameOf(chunk, chunk.choices)] : [frame];
  }

  private rewritten(
    chunk: Chunk,
    choice: Choice,
    delta: JsonObject,
    shown: CallPiece[],
    finish: string | null,
  ): Frame[] {
    const { tool_calls, role, ...others } = delta;
    const words = Array.isArray(tool_calls) ? others : { tool_calls, ...others };
    const says = Object.values(words).some((value) => (value ?? '') !== '');
    const counts = (chunk.usage ?? null) !== null && !this.goesOn;
    const speaks = !this.hasRole && (role ?? null) !== null;
    if (!says && shown.length === 0 && finish === null && !counts && !speaks) return [];
    this.hasRole ||= speaks;
    const told = {
      ...(speaks ? { role } : {}),
      ...words,
      ...(shown.length > 0 ? { tool_calls: shown } : {}),
    };
    const answer = { ...choice, delta: told, finish_reason: finish };
    return [this.frameOf(chunk, [answer, ...chunk.choices.slice(1)])];
  }

  /**
   * How the caller is told that the answer ends: one of nothing but calls that are dropped has
   * stopped.
   */
  private shownFinish(finish: string): string | null {
    if (this.isTurn) return null;
    // Before an answer that goes on no call has been shown.
    return this.calls.size > 0 && this.shownCalls === 0 && isWhole(finish) ? 'stop' : finish;
  }

  /**
   * One piece of a call, and what of that call may be shown now. What is no object is nobody's
   * call.
   */
  private piece(piece: CallPiece): CallPiece[] {
    if (!isObject(piece)) return [piece];
    const index = piece.index ?? 0;
    const known = this.calls.get(index);
    if (known && !begins(piece, known.call)) return this.continued(known, piece);
    const shown = this.decideWaiting();
    const gathered: Gathered = { call: {}, whose: undefined, shown: undefined };
    this.calls.set(index, gathered);
    return [...shown, ...this.continued(gathered, piece)];
  }

  private continued(gathered: Gathered, piece: CallPiece): CallPiece[] {
    if (gathered.whose === 'callers') return this.shownPiece(gathered, piece);
    if (isOtherCall(piece)) return this.callers(gathered, { ...gathered.call, ...piece });
    gathered.call = joined(gathered.call, piece);
    return gathered.whose === undefined ? this.decide(gathered, false) : [];
  }

  /** Nothing more of the name can come. */
  private decideWaiting(): CallPiece[] {
    return this.undecided ? this.decide(this.undecided, true) : [];
  }

  /** The call that has waited for its name to the end of the stream. */
  private waitingFrames(): Frame[] {
    const tool_calls = this.decideWaiting();
    if (!this.first || tool_calls.length === 0) return [];
    return [this.frameOf(this.first, [{ index: 0, delta: { tool_calls }, finish_reason: null }])];
  }

  /** @param isNamed whether no more of the name can come */
  private decide(gathered: Gathered, isNamed: boolean): CallPiece[] {
    const name = nameOf(gathered.call);
    const input = argumentsOf(gathered.call);
    const mayBeOurs = [...this.names].some((ours) => ours.startsWith(name));
    this.undecided = !isNamed && input === '' && mayBeOurs ? gathered : undefined;
    if (this.undecided) return [];
    if (!this.names.has(name)) return this.callers(gathered, gathered.call);
    gathered.whose = 'ours';
    this.ours.push(gathered);
    if (this.mayAnswer()) this.decided ??= 'ours';
    return [];
  }

  /** It is a call of the caller's. @param call all that has come of it */
  private callers(gathered: Gathered, call: CallPiece): CallPiece[] {
    if (this.undecided === gathered) this.undecided = undefined;
    gathered.whose = 'callers';
    gathered.call = call.id === undefined ? {} : { id: call.id };
    this.decided ??= 'callers';
    if (this.decided === 'callers') gathered.shown = this.shownCalls++;
    return this.shownPiece(gathered, call);
  }

  private shownPiece({ shown }: Gathered, piece: CallPiece): CallPiece[] {
    return shown === undefined ? [] : [{ ...piece, index: shown }];
  }

  /** A chunk under the identity of the stream, with the usage of all answers. */
  private frameOf(chunk: Chunk, choices: readonly Choice[]): Frame {
    const { id, created, model } = this.first ?? chunk;
    const usage = chunk.usage ? { usage: this.goesOn ? null : this.tally.told } : {};
    return Frame.of(JSON.stringify({ ...chunk, id, created, model, ...usage, choices }));
  }
}

/**
 * Whether a piece begins another call under the index of a known one: some upstreams count none of
 * them up. An id alone does not, since others give each piece one of its own.
 */
function begins(piece: CallPiece, known: CallPiece): boolean {
  return Boolean(nameOf(piece) && piece.id && known.id && piece.id !== known.id);
}

function indexesOf(pieces: readonly CallPiece[]): string {
  return pieces.map((piece) => (isObject(piece) ? (piece.index ?? 0) : '')).join();
}

function chunkOf(chunk: unknown): Chunk | undefined {
  return Array.isArray(asObject(chunk).choices) ? (chunk as Chunk) : undefined;
}
