/**
 * Writes the chunks of a chat stream
 * (https://platform.openai.com/docs/api-reference/chat-streaming).
 */
import type { JsonObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { dataFrame } from '../answers/sse.ts';
import { DONE } from '../chat/stream.ts';

/** What all chunks of an answer say. */
export interface ChunkHead {
  readonly id: string;
  readonly created: number;
  readonly model: unknown;
  readonly service_tier?: unknown;
}

/** Writes the chunks of one answer. */
export class ChunkWriter {
  private readonly asksUsage: boolean;
  private head: ChunkHead = { id: 'chatcmpl-memory', created: 0, model: '' };
  private hasBegun = false;

  /** @param asksUsage whether the caller asks for usage: then each chunk has the member */
  constructor(asksUsage: boolean) {
    this.asksUsage = asksUsage;
  }

  /** Sets what all further chunks say. */
  open(head: ChunkHead): void {
    this.head = head;
  }

  /** The chunk that names the role; none if it has been written. */
  begin(): readonly Uint8Array[] {
    if (this.hasBegun) return [];
    this.hasBegun = true;
    return [this.chunk([choiceOf({ role: 'assistant', content: '', refusal: null })])];
  }

  /** @param more members of the choice, such as `logprobs` */
  delta(delta: JsonObject, more: JsonObject = {}): readonly Uint8Array[] {
    return [...this.begin(), this.chunk([{ ...choiceOf(delta), ...more }])];
  }

  /** The end of a whole stream. @param usage undefined if the upstream has reported none */
  finish(reason: string, usage: JsonObject | undefined): readonly Uint8Array[] {
    const last = this.delta({}, { finish_reason: reason });
    const counted = this.asksUsage && usage ? [this.chunk([], usage)] : [];
    return [...last, ...counted, dataFrame(DONE)];
  }

  /** The end of a stream that has failed: no finish reason and no `[DONE]` follow. */
  error(error: AnswerFault): readonly Uint8Array[] {
    return [dataFrame(JSON.stringify({ error }))];
  }

  private chunk(choices: readonly JsonObject[], usage: JsonObject | null = null): Uint8Array {
    const { id, created, ...head } = this.head;
    const counted = this.asksUsage ? { usage } : {};
    return dataFrame(
      JSON.stringify({ id, object: 'chat.completion.chunk', created, ...head, choices, ...counted }),
    );
  }
}

function choiceOf(delta: JsonObject): JsonObject {
  return { index: 0, delta, logprobs: null, finish_reason: null };
}
