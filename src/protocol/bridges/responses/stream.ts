/** A stream of the Responses API as a stream of chat chunks. */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import type { Frame } from '../../answers/sse.ts';
import { FAILED } from '../../responses/failed.ts';
import { isError } from '../../responses/stream.ts';
import { OPENS } from '../../responses/stream-items.ts';
import type { BridgedStream, KeptOutput } from '../bridge.ts';
import { ChunkWriter } from '../chunks.ts';
import { AnswerDeltas, type Piece } from './deltas.ts';
import { failure } from './errors.ts';
import { type Asked, finishOf, headOf, keptOutput, outputIn, unpacked, usageFrom } from './items.ts';

/** Events that end a whole answer, and its status. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
]);

/** Writes the chunks of one answer. Nothing is written before the response has any content. */
export class ChatFromResponses implements BridgedStream {
  kept: KeptOutput | undefined;
  private readonly asked: Asked;
  private readonly chunks: ChunkWriter;
  private readonly deltas: AnswerDeltas;
  private opened: JsonObject | undefined;
  private isOver = false;

  constructor(asked: Asked) {
    this.asked = asked;
    this.chunks = new ChunkWriter(asked.asksUsage);
    this.deltas = new AnswerDeltas(asked);
  }

  push(frame: Frame): readonly Uint8Array[] {
    if (frame.data === undefined) return [frame.bytes];
    if (this.isOver) return [];
    const fields = asObject(frame.json);
    const type = asString(fields.type);
    if (type === FAILED || isError(fields)) return this.fail(fields);
    const status = ENDS.get(type);
    if (status !== undefined) return this.finish({ status, ...asObject(fields.response) });
    if (OPENS.has(type)) return this.open(fields.response);
    if (!type.startsWith('response.')) return [];
    return [
      ...this.chunks.begin(),
      ...this.write(this.deltas.take({ type, fields, data: frame.data, frame })),
    ];
  }

  /** A stream that breaks off has no finish chunk, which says all: see `ChatStream`. */
  end(): readonly Uint8Array[] {
    return [];
  }

  private open(response: unknown): readonly Uint8Array[] {
    if (this.opened || !isObject(response)) return [];
    this.opened = response;
    this.chunks.open(headOf(response));
    return [];
  }

  private write(pieces: readonly Piece[]): Uint8Array[] {
    return pieces.flatMap(({ delta, beside }) => this.chunks.delta(delta, beside));
  }

  private finish(response: JsonObject): readonly Uint8Array[] {
    this.isOver = true;
    this.chunks.open(headOf({ ...this.opened, ...response, ...idOf(this.opened) }));
    const listed = outputIn(response) ?? [];
    const rest = this.write(this.deltas.takeOutput(listed));
    const output = listed.length > 0 ? listed : this.deltas.output;
    if (response.status !== 'incomplete')
      this.kept = keptOutput(
        output.flatMap((item) => unpacked(item, this.asked)),
        this.asked,
      );
    return [...rest, ...this.chunks.finish(finishOf(response, this.deltas.calls), usageFrom(response.usage))];
  }

  private fail(event: JsonObject): readonly Uint8Array[] {
    this.isOver = true;
    const said = event.type === FAILED ? asObject(event.response) : event;
    return this.chunks.error(failure(said).fault);
  }
}

/** Chunks have one id, even if the upstream's last event has another one. */
function idOf(opened: JsonObject | undefined): JsonObject {
  return opened?.id === undefined ? {} : { id: opened.id, created_at: opened.created_at };
}
