/**
 * Several answers of a model as the one stream that its caller sees: calls of our tools are taken out, the answers behind them go on where
 * the first one stopped.
 *
 * Text flows at once, frame by frame, in the bytes that came. Only the pieces of calls wait, and only until the name is known. A call of
 * the caller's that has begun to flow can't be taken back, so it decides the turn: calls of ours behind it are dropped. One of ours that
 * comes first decides it too: the turn is answered here, and the model plans again.
 */
import type { TokenUsage } from '../memory/report.ts';
import { type CallPiece, GatheredMessage, isWhole, joined, type Turn, turnOf } from './chat-turn.ts';
import { addUsage, mergedUsage } from './chat-usage.ts';
import { dataFrame } from './sse.ts';

type Json = Record<string, unknown>;

interface Choice {
  readonly index?: number;
  readonly delta?: Json;
  readonly finish_reason?: string | null;
  readonly [field: string]: unknown;
}

interface Chunk {
  readonly choices: readonly Choice[];
  readonly usage?: Json | null;
  readonly [field: string]: unknown;
}

/** One call of a turn, by the index that the upstream gives it. */
interface Gathered {
  call: CallPiece;
  /** Undecided until its name is known. */
  whose: 'ours' | 'callers' | undefined;
  /** The index that the caller sees. */
  shown: number | undefined;
}

export class ChatTurns {
  private readonly names: ReadonlySet<string>;
  private readonly mayAnswer: () => boolean;
  /** The first chunk, whose identity all others take. */
  private first: Chunk | undefined;
  private isLater = false;
  private shownCalls = 0;
  private calls = new Map<number, Gathered>();
  private message = new GatheredMessage();
  /** Whose call came first in this turn. */
  private decided: 'ours' | 'callers' | undefined;
  private finish: string | undefined;
  /** What earlier answers have spent. */
  private spent: TokenUsage | undefined;
  private counted: Json | undefined;

  /**
   * @param names of our tools
   * @param mayAnswer whether calls are answered still; else they are dropped
   */
  constructor(names: ReadonlySet<string>, mayAnswer: () => boolean) {
    this.names = names;
    this.mayAnswer = mayAnswer;
  }

  /** Of all answers so far, the one that is coming included; undefined where the upstream counts nothing. */
  get usage(): TokenUsage | undefined {
    return addUsage(this.spent, this.counted);
  }

  /** The turn that is to be answered before the stream can end; undefined when its end is the stream's. */
  get turn(): Turn | undefined {
    if (this.decided !== 'ours' || !isWhole(this.finish) || !this.mayAnswer()) return undefined;
    const ours = [...this.calls.values()].filter(({ whose }) => whose === 'ours');
    return turnOf(
      this.message.fields,
      ours.map(({ call }) => call),
    );
  }

  /** The next answer is coming. */
  begin(): void {
    this.spent = this.usage;
    this.isLater = true;
    this.calls = new Map();
    this.message = new GatheredMessage();
    this.decided = undefined;
    this.finish = undefined;
    this.counted = undefined;
  }

  /** What becomes of one frame. @param data of the frame's event */
  take(data: string, frame: Uint8Array): Uint8Array[] {
    const chunk = chunkOf(data);
    if (!chunk) return [frame];
    if (chunk.usage) this.counted = chunk.usage;
    const choice = chunk.choices[0];
    if (!choice) return this.usageOnly(chunk, frame);

    this.first ??= chunk;
    const delta = choice.delta ?? {};
    this.message.add(delta);
    const pieces = Array.isArray(delta.tool_calls) ? (delta.tool_calls as CallPiece[]) : [];
    const waited = this.waits();
    const shown = pieces.flatMap((piece) => this.piece(piece));
    if (typeof choice.finish_reason === 'string') {
      this.finish = choice.finish_reason;
      shown.push(...this.decideAll());
    }
    // Most frames are shown as they are: their bytes are passed on.
    const isSame = !waited && this.decided !== 'ours' && indexesOf(pieces) === indexesOf(shown);
    if (isSame && !this.isLater) return [frame];
    return this.rewritten(chunk, choice, delta, shown);
  }

  /** Whether the name of a call is not known yet. */
  private waits(): boolean {
    return [...this.calls.values()].some(({ whose }) => whose === undefined);
  }

  private usageOnly(chunk: Chunk, frame: Uint8Array): Uint8Array[] {
    if (this.turn) return [];
    return this.isLater ? [this.frameOf(chunk, chunk.choices)] : [frame];
  }

  private rewritten(chunk: Chunk, choice: Choice, delta: Json, shown: CallPiece[]): Uint8Array[] {
    const { tool_calls: _, role, ...words } = delta;
    const isTurn = this.turn !== undefined;
    const says = Object.values(words).some((value) => value !== null && value !== '');
    const finish = this.finish !== undefined && !isTurn ? this.shownFinish(this.finish) : null;
    const speaker = this.isLater ? undefined : role;
    if (!says && shown.length === 0 && finish === null && speaker === undefined) return [];
    const told = {
      ...(speaker === undefined ? {} : { role: speaker }),
      ...words,
      ...(shown.length > 0 ? { tool_calls: shown } : {}),
    };
    return [this.frameOf(chunk, [{ ...choice, delta: told, finish_reason: finish }])];
  }

  /** A turn of nothing but calls that are dropped has stopped. */
  private shownFinish(finish: string): string {
    return this.decided === 'ours' && isWhole(finish) ? 'stop' : finish;
  }

  /** One piece of a call, and what of that call may be shown now. */
  private piece(piece: CallPiece): CallPiece[] {
    const index = piece.index ?? 0;
    const shown: CallPiece[] = [];
    const known = this.calls.get(index);
    // Where the next call begins, the name of the one before is known.
    if (!known) shown.push(...this.decideAll());
    const gathered = known ?? { call: {}, whose: undefined, shown: undefined };
    gathered.call = joined(gathered.call, piece);
    this.calls.set(index, gathered);
    if (gathered.whose === undefined) shown.push(...this.decide(gathered, false));
    else if (gathered.shown !== undefined) shown.push({ ...piece, index: gathered.shown });
    return shown;
  }

  private decideAll(): CallPiece[] {
    return [...this.calls.values()]
      .filter(({ whose }) => whose === undefined)
      .flatMap((gathered) => this.decide(gathered, true));
  }

  /** @param isNamed whether no more of the name can come */
  private decide(gathered: Gathered, isNamed: boolean): CallPiece[] {
    const { name = '', arguments: input = '' } = gathered.call.function ?? {};
    if (!isNamed && input === '' && [...this.names].some((ours) => ours.startsWith(name))) return [];
    gathered.whose = this.names.has(name) ? 'ours' : 'callers';
    this.decided ??= gathered.whose;
    if (gathered.whose === 'ours' || this.decided === 'ours') return [];
    gathered.shown = this.shownCalls++;
    return [{ ...gathered.call, index: gathered.shown }];
  }

  /** A chunk under the identity of the stream, with the usage of all answers. */
  private frameOf(chunk: Chunk, choices: readonly Choice[]): Uint8Array {
    const { id, created, model } = this.first ?? chunk;
    const usage = chunk.usage && this.spent ? { usage: mergedUsage(this.spent, chunk.usage) } : {};
    return dataFrame(JSON.stringify({ ...chunk, id, created, model, ...usage, choices }));
  }
}

function indexesOf(pieces: readonly CallPiece[]): string {
  return pieces.map(({ index = 0 }) => index).join();
}

function chunkOf(data: string): Chunk | undefined {
  try {
    const chunk = JSON.parse(data);
    return Array.isArray(chunk?.choices) ? chunk : undefined;
  } catch {
    return undefined;
  }
}
