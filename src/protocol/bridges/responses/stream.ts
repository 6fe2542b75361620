/** A stream of the Responses API as a stream of chat chunks. */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import type { Frame } from '../../answers/sse.ts';
import { FAILED } from '../../responses/failed.ts';
import { isError } from '../../responses/stream.ts';
import { OPENS } from '../../responses/stream-items.ts';
import type { BridgedStream, KeptOutput } from '../bridge.ts';
import { says } from '../chat-fields.ts';
import type { AnswerWriter } from '../chunks.ts';
import { AnswerDeltas, type Piece } from './deltas.ts';
import { failure } from './errors.ts';
import { type Asked, finishOf, headOf, keptOutput, outputIn, unpacked, usageFrom } from './items.ts';

/** Events that end an answer, and its status if the response does not say a worse one. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  [FAILED, 'failed'],
]);
/** Statuses that are worse than `completed`. Any other may be the one that it began with. */
const WORSE: ReadonlySet<unknown> = new Set(['incomplete', 'failed', 'cancelled']);

const NO_OUTPUT = 'The upstream sent an answer without output.';
const NOT_COMPLETE = 'The upstream sent an answer that is not complete: its status is ';

/** Writes one answer. Nothing is written before the response has any content. */
export class ChatFromResponses implements BridgedStream {
  kept: KeptOutput | undefined;
  private readonly asked: Asked;
  private readonly writer: AnswerWriter;
  private readonly deltas: AnswerDeltas;
  private opened: JsonObject | undefined;
  private isOver = false;

  constructor(asked: Asked, writer: AnswerWriter) {
    this.asked = asked;
    this.writer = writer;
    this.deltas = new AnswerDeltas(asked);
  }

  push(frame: Frame): readonly Uint8Array[] {
    if (frame.data === undefined) return [frame.bytes];
    if (this.isOver) return [];
    const fields = asObject(frame.json);
    const type = asString(fields.type);
    if (isError(fields)) return this.fail(fields);
    const status = ENDS.get(type);
    const response = asObject(fields.response);
    const isWorse = status === 'completed' && WORSE.has(response.status);
    if (status !== undefined) return this.finish({ ...response, ...(isWorse ? {} : { status }) });
    if (OPENS.has(type)) return this.open(fields.response);
    if (!type.startsWith('response.')) return [];
    return [
      ...this.writer.begin(),
      ...this.write(this.deltas.take({ type, fields, data: frame.data, frame })),
    ];
  }

  /** Takes an answer that is no stream. */
  whole(response: JsonObject): void {
    const { reason } = asObject(response.incomplete_details);
    const status = response.status ?? (says(reason) ? 'incomplete' : 'completed');
    if (isError(response)) this.fail(response);
    else if (status !== 'failed' && !outputIn(response)) this.fail({ error: { message: NO_OUTPUT } }, 502);
    else this.finish({ ...response, status });
  }

  /** A stream that breaks off has no finish chunk, which says all: see `ChatStream`. */
  end(): readonly Uint8Array[] {
    return [];
  }

  private open(response: unknown): readonly Uint8Array[] {
    if (this.opened || !isObject(response)) return [];
    this.opened = response;
    this.writer.open(headOf(response));
    return [];
  }

  private write(pieces: readonly Piece[]): Uint8Array[] {
    return pieces.flatMap(({ delta, beside }) => this.writer.delta(delta, beside));
  }

  private finish(response: JsonObject): readonly Uint8Array[] {
    const { status, error } = response;
    const isCut = status === 'incomplete';
    if (status === 'failed' || says(error)) return this.fail(response);
    if (!isCut && status !== 'completed')
      return this.fail({ error: { message: `${NOT_COMPLETE}${status}.` } }, 502);
    this.isOver = true;
    this.writer.open(headOf({ ...this.opened, ...response, ...idOf(this.opened) }));
    const listed = outputIn(response) ?? [];
    const rest = this.write(this.deltas.takeOutput(listed, isCut));
    const output = listed.length > 0 ? listed : this.deltas.output;
    const items = output.flatMap((item) => unpacked(item, this.asked));
    if (!isCut) this.kept = keptOutput(items, this.asked);
    return [...rest, ...this.writer.finish(finishOf(response, this.deltas.calls), usageFrom(response.usage))];
  }

  /** @param status of HTTP; absent: the one of its code */
  private fail(said: JsonObject, status?: number): readonly Uint8Array[] {
    this.isOver = true;
    const { fault, status: usual } = failure(said);
    return this.writer.error(fault, status ?? usual);
  }
}

/** Chunks have one id, even if the upstream's last event has another one. */
function idOf(opened: JsonObject | undefined): JsonObject {
  return opened?.id === undefined ? {} : { id: opened.id, created_at: opened.created_at };
}
