/**
 * Joins several streamed answers of a model into the one that the caller sees. Calls of our tools
 * are removed, and each answer continues where the one before it stopped.
 *
 * Text passes at once, frame by frame, with its bytes unchanged. Only the pieces of a call wait
 * until its name is known. The first call decides who answers the turn. If it is the caller's, it
 * can't be taken back once it has been sent, so later calls of Precis's tools are dropped. If it is
 * Precis's and a round is left, the turn is answered here, and the model decides again about its
 * other calls.
 *
 * Calls of custom tools are always the caller's.
 *
 * An error ends the answer, whatever the model was about to call. Nothing that comes after it is
 * shown, not even the end of the stream: it would pass off an empty answer as a complete one.
 *
 * Where the answer must be JSON, several texts in a row are none. Then words wait, with all that
 * comes after them, until it is known whether the turn is answered here. If it is, they are left
 * out.
 */

import { asList, asObject, isObject, type JsonObject, parseObject } from '../../lib/json.ts';
import type { JoinedStreams, SaidAnswer } from '../answers/answer-format.ts';
import { CountedAnswers } from '../answers/joined-answers.ts';
import { Frame } from '../answers/sse.ts';
import { isComplete, type ToolTurn } from '../answers/tool-turn.ts';
import { CHAT_USAGE, type Usage, UsageTally } from '../answers/usage.ts';
import { calledName, mayCall } from '../tools.ts';
import { holdsError, mayHoldError } from './answer-error.ts';
import {
  argumentsOf,
  type CallPiece,
  GatheredMessage,
  isOtherCall,
  isSaid,
  joined,
  NOTHING_SAID,
  nameOf,
  turnOf,
} from './calls.ts';
import { withMovedCitations } from './citations.ts';
import { plainDelta } from './plain-delta.ts';
import { DONE } from './stream.ts';
import { ThinkingIndices, withoutBlocks } from './thinking-pieces.ts';
import { hasWords, textIn, withoutWords } from './words.ts';

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

interface StreamedCall {
  /** All pieces so far, joined. */
  call: CallPiece;
  /** Undefined until its name is known. */
  owner: 'ours' | 'callers' | undefined;
  /** The index that the caller sees; undefined for a call that is not shown. */
  index: number | undefined;
  /** Whether any of its arguments have come. */
  hasInput: boolean;
}

export class JoinedChatStreams extends CountedAnswers implements JoinedStreams {
  protected readonly tally = new UsageTally(CHAT_USAGE);
  isThrough = false;
  /** The first chunk. All others get its id, time and model. */
  private first: Chunk | undefined;
  private hasRole = false;
  private callerCalls = 0;
  /** The last call with each of the upstream's indices. */
  private calls = new Map<number, StreamedCall>();
  private byId = new Map<string, StreamedCall>();
  private latest: StreamedCall | undefined;
  private ours: StreamedCall[] = [];
  /** The call with an incomplete name. The name is complete once the next call begins. */
  private undecided: StreamedCall | undefined;
  private message = new GatheredMessage();
  /** Who made the first call of this turn. */
  private decided: 'ours' | 'callers' | undefined;
  private finish: string | undefined;
  private hasFailed = false;
  private readonly indices = new ThinkingIndices();
  /** Frames that wait until it is known whether their words are shown. */
  private readonly held: Frame[] = [];
  /** What the caller has seen of earlier answers. */
  private earlierText = '';
  /** The ids of the calls that the caller has seen. */
  private readonly shownIds: string[] = [];

  get turn(): ToolTurn | undefined {
    if (!this.isTurn) return undefined;
    const calls = this.ours.map(({ call }) => call);
    return turnOf(this.message.fields, calls);
  }

  forget(): void {
    this.isForgotten = true;
    this.message = new GatheredMessage();
    this.earlierText = '';
  }

  get said(): SaidAnswer | undefined {
    if (this.isForgotten || this.isTurn || this.hasFailed || !isSaid(this.finish)) return undefined;
    const content = this.earlierText + this.text;
    const named = { type: 'function', function: { name: '', arguments: '' } };
    const calls = this.shownIds.map((id) => ({ id, ...named }));
    const message = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
    return { json: JSON.stringify(message), isVerbatim: calls.length === 0 };
  }

  private get text(): string {
    return textIn(this.message.fields.content);
  }

  end(): void {
    this.isThrough = this.isTurn;
  }

  begin(): void {
    this.goOn();
    if (!this.form.isJson) this.earlierText += this.text;
    this.isThrough = false;
    this.calls = new Map();
    this.byId = new Map();
    this.latest = undefined;
    this.ours = [];
    this.undecided = undefined;
    this.message = new GatheredMessage();
    this.decided = undefined;
    this.finish = undefined;
    this.indices.begin();
  }

  take(frame: Frame): Frame[] {
    if (this.hasFailed) return [];
    const shown = this.taken(frame);
    if (this.hasFailed || this.isForgotten) return [...this.release(), ...shown];
    if (!this.withholds || frame.data === undefined) return shown;
    if (this.isTurn) return [...this.held.splice(0), ...shown].flatMap(silent);
    const isLast = this.decided === 'callers' || this.finish !== undefined || frame.data.trim() === DONE;
    if (isLast) return [...this.held.splice(0), ...shown];
    if (this.held.length === 0 && !shown.some(speaks)) return shown;
    this.held.push(...shown);
    return [];
  }

  release(): Frame[] {
    const held = this.held.splice(0);
    return this.decided === 'ours' ? held.flatMap(silent) : held;
  }

  private taken(frame: Frame): Frame[] {
    if (frame.data?.trim() === DONE) {
      const waiting = this.waitingFrames();
      // Some upstreams end an answer with calls without a reason.
      this.finish ??= 'stop';
      this.end();
      return this.isTurn ? [] : [...waiting, frame];
    }
    if (this.takesText(frame)) return [frame];
    const chunk = chunkOf(frame.json);
    this.hasFailed = mayHoldError(frame.data ?? '') && holdsError(frame.json);
    if (!chunk) return [frame];
    this.tally.count(usageIn(chunk));
    if (this.hasFailed) return this.failed(chunk, frame);
    const choice = chunk.choices[0];
    if (!choice) return this.usageOnly(chunk, frame);

    this.first ??= chunk;
    const delta = isObject(choice.delta) ? this.shifted(choice.delta) : (choice.delta ?? {});
    // Chunks of unknown shape are passed on.
    if (!isObject(choice) || !isObject(delta))
      return this.isLater ? [this.frameOf(chunk, chunk.choices)] : [frame];
    if (!this.isForgotten) this.message.add(choice.delta ?? {});
    const pieces = asList(delta.tool_calls).filter((piece): piece is CallPiece => piece !== null);
    const waited = this.undecided !== undefined;
    const callerPieces = pieces.flatMap((piece) => this.piece(piece));
    // Some upstreams send '' before the end.
    const finish = choice.finish_reason || null;
    if (finish !== null) {
      this.finish = finish;
      callerPieces.push(...this.decideWaiting());
    }
    const callerFinish = finish === null ? null : this.callerFinish(finish);
    // Most frames pass with their bytes unchanged.
    const isSame = !waited && this.decided !== 'ours' && indexesOf(pieces) === indexesOf(callerPieces);
    if (isSame && !this.isLater && callerFinish === finish && !this.saidNothing) {
      this.hasRole ||= (delta.role ?? null) !== null;
      return [frame];
    }
    return this.rewritten(chunk, choice, delta, callerPieces, callerFinish);
  }

  /** Takes a chunk of text that passes unchanged. */
  private takesText(frame: Frame): boolean {
    const isOpen = this.first !== undefined && this.undecided === undefined && this.decided !== 'ours';
    const content = isOpen && !this.isLater ? plainDelta(frame.data) : undefined;
    if (content !== undefined && !this.isForgotten) this.message.add({ content });
    return content !== undefined;
  }

  private get isTurn(): boolean {
    return this.decided === 'ours' && isComplete(this.finish) && !this.hasFailed;
  }

  /** A chunk with an error. It has no pieces of calls that the caller does not see. */
  private failed(chunk: Chunk, frame: Frame): Frame[] {
    const choices = chunk.choices.map((choice) => {
      if (this.decided === 'callers' || !isObject(choice?.delta)) return choice;
      const { tool_calls: _, ...delta } = choice.delta;
      return { ...choice, delta };
    });
    const isSame = !this.isLater && chunk.choices.every(({ delta }) => delta?.tool_calls === undefined);
    return isSame ? [frame] : [this.frameOf(chunk, choices)];
  }

  /** Whether another answer follows, as far as is known yet. */
  private get goesOn(): boolean {
    return this.decided === 'ours' && (this.finish === undefined || this.isTurn);
  }

  /** A delta with the places that the caller knows. */
  private shifted(delta: JsonObject): JsonObject {
    return withMovedCitations(this.indices.shifted(delta), this.earlierText.length);
  }

  private usageOnly(chunk: Chunk, frame: Frame): Frame[] {
    if (this.goesOn) return [];
    return this.isLater ? [this.frameOf(chunk, chunk.choices)] : [frame];
  }

  private rewritten(
    chunk: Chunk,
    choice: Choice,
    delta: JsonObject,
    callerPieces: CallPiece[],
    finish: string | null,
  ): Frame[] {
    const { tool_calls, role, ...others } = delta;
    const spoken = Array.isArray(tool_calls) ? others : { tool_calls, ...others };
    const words = this.signs ? spoken : withoutBlocks(spoken);
    const counts = (chunk.usage ?? null) !== null && !this.goesOn;
    const speaks = !this.hasRole && (role ?? null) !== null;
    if (!saysAny(words) && callerPieces.length === 0 && finish === null && !counts && !speaks) return [];
    this.hasRole ||= speaks;
    const callerDelta = {
      ...(speaks ? { role } : {}),
      ...(this.saidNothing ? NOTHING_SAID : {}),
      ...words,
      ...(callerPieces.length > 0 ? { tool_calls: callerPieces } : {}),
    };
    const answer = { ...choice, delta: callerDelta, finish_reason: finish };
    return [this.frameOf(chunk, [answer, ...chunk.choices.slice(1)])];
  }

  /** The caller's finish reason. It is `stop` if all calls of the answer were dropped. */
  private callerFinish(finish: string): string | null {
    if (this.isTurn) return null;
    return this.hasDroppedAll && isComplete(finish) ? 'stop' : finish;
  }

  /** Whether the answer has calls, and none is shown. In earlier answers none ever is. */
  private get hasDroppedAll(): boolean {
    return this.calls.size > 0 && this.callerCalls === 0;
  }

  /** Whether the answer ends without calls, and has had no text, not even an empty one. */
  private get saidNothing(): boolean {
    const isOver = this.finish !== undefined && !this.isTurn;
    return (
      isOver && this.hasDroppedAll && !this.earlierText && (this.message.fields.content ?? null) === null
    );
  }

  /** Takes one piece of a call. Returns the pieces that may be shown now. */
  private piece(piece: CallPiece): CallPiece[] {
    if (!isObject(piece)) return [piece];
    const index = piece.index ?? 0;
    const known = this.callOf(piece);
    if (known && !begins(piece, known.call)) {
      this.calls.set(index, known);
      return this.continued(known, piece);
    }
    const callerPieces = this.decideWaiting();
    this.latest = { call: {}, owner: undefined, index: undefined, hasInput: false };
    this.calls.set(index, this.latest);
    if (piece.id) this.byId.set(piece.id, this.latest);
    return [...callerPieces, ...this.continued(this.latest, piece)];
  }

  /**
   * The call that a piece is of, if it is known. Without an index the id says it. A new index alone
   * begins no call where the last one has had its name only: some upstreams give the name of a
   * second call the index of the first (https://github.com/agno-agi/agno/pull/8880).
   */
  private callOf(piece: CallPiece): StreamedCall | undefined {
    const { id, index } = piece;
    const ofId = (index ?? null) === null && id ? this.byId.get(id) : undefined;
    const known = ofId ?? this.calls.get(index ?? 0);
    const isBare = !id && nameOf(piece) === '' && this.latest?.hasInput === false;
    return known ?? (isBare ? this.latest : undefined);
  }

  private continued(streamed: StreamedCall, piece: CallPiece): CallPiece[] {
    streamed.hasInput ||= argumentsOf(piece) !== '';
    if (streamed.owner === 'callers') return this.callerPiece(streamed, piece);
    if (this.isForgotten && streamed.owner === 'ours') return [];
    if (isOtherCall(piece)) return this.callers(streamed, { ...streamed.call, ...piece });
    streamed.call = joined(streamed.call, piece);
    return streamed.owner === undefined ? this.decide(streamed, false) : [];
  }

  /** The name of the undecided call is complete. */
  private decideWaiting(): CallPiece[] {
    return this.undecided ? this.decide(this.undecided, true) : [];
  }

  /** The call that was still undecided at the end of the stream. */
  private waitingFrames(): Frame[] {
    const tool_calls = this.decideWaiting();
    if (!this.first || tool_calls.length === 0) return [];
    return [this.frameOf(this.first, [{ index: 0, delta: { tool_calls }, finish_reason: null }])];
  }

  /** @param isNamed whether the name is complete */
  private decide(streamed: StreamedCall, isNamed: boolean): CallPiece[] {
    const name = nameOf(streamed.call);
    const input = argumentsOf(streamed.call);
    const mayBeOurs = mayCall(this.names, name);
    // Some upstreams send the arguments before the name.
    this.undecided = !isNamed && (input === '' || name === '') && mayBeOurs ? streamed : undefined;
    if (this.undecided) return [];
    if (!this.names.has(calledName(name))) return this.callers(streamed, streamed.call);
    streamed.owner = 'ours';
    this.ours.push(streamed);
    if (this.mayAnswer()) this.decided ??= 'ours';
    return [];
  }

  /** The call is the caller's. @param call all pieces so far, joined */
  private callers(streamed: StreamedCall, call: CallPiece): CallPiece[] {
    if (this.undecided === streamed) this.undecided = undefined;
    streamed.owner = 'callers';
    streamed.call = call.id === undefined ? {} : { id: call.id };
    this.decided ??= 'callers';
    if (this.decided === 'callers') {
      streamed.index = this.callerCalls++;
      this.shownIds.push(call.id ?? '');
    }
    return this.callerPiece(streamed, call);
  }

  private callerPiece({ index }: StreamedCall, piece: CallPiece): CallPiece[] {
    return index === undefined ? [] : [{ ...piece, index }];
  }

  /** A chunk with the id of the stream and the usage of all answers. */
  private frameOf(chunk: Chunk, choices: readonly Choice[]): Frame {
    const { id, created, model } = this.first ?? chunk;
    const counted = <Of>(of: Of): Of =>
      asObject(of).usage ? { ...of, usage: this.goesOn ? null : this.tally.forCaller } : of;
    const groq = chunk.x_groq ? { x_groq: counted(chunk.x_groq) } : {};
    const whole = { ...counted(chunk), id, created, model, ...groq, choices: choices.map(counted) };
    return Frame.of(JSON.stringify(whole));
  }
}

/** Moonshot has it in a choice, and Groq in a field of its own. */
function usageIn({ usage, choices, x_groq }: Chunk): Usage | undefined {
  return (usage ?? asObject(choices[0]).usage ?? asObject(x_groq).usage ?? undefined) as Usage | undefined;
}

/**
 * Whether a piece begins another call with the same index. Some upstreams give all calls one index,
 * or none, and no id either. A new id alone begins no call, since other upstreams give each piece
 * its own; but no arguments follow those that are whole.
 */
function begins(piece: CallPiece, known: CallPiece): boolean {
  const name = nameOf(piece);
  if (name && piece.id && known.id && piece.id !== known.id) return true;
  if ((!name && piece.index !== undefined) || argumentsOf(piece).trim() === '') return false;
  return parseObject(argumentsOf(known)) !== undefined;
}

/** One that is absent differs from each that the caller sees, so that all pieces have theirs. */
function indexesOf(pieces: readonly CallPiece[]): string {
  return pieces.map((piece) => (isObject(piece) ? String(piece.index) : '')).join();
}

function chunkOf(chunk: unknown): Chunk | undefined {
  return Array.isArray(asObject(chunk).choices) ? (chunk as Chunk) : undefined;
}

/** Whether a frame of the caller's has words. */
function speaks(frame: Frame): boolean {
  const { delta } = chunkOf(frame.json)?.choices[0] ?? {};
  return isObject(delta) && hasWords(delta);
}

/** A frame without words; none if it is nothing then. */
function silent(frame: Frame): Frame[] {
  const chunk = chunkOf(frame.json);
  const choice = chunk?.choices[0];
  if (!chunk || !isObject(choice?.delta)) return [frame];
  const { delta, logprobs: _, ...others } = choice;
  const left = withoutWords(delta);
  if (!saysAny(left) && !choice.finish_reason) return [];
  const usage = chunk.usage ? { usage: null } : {};
  return [Frame.of(JSON.stringify({ ...chunk, ...usage, choices: [{ ...others, delta: left }] }))];
}

function saysAny(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => (value ?? '') !== '');
}
