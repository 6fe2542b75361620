/**
 * Writes answers of chat: the chunks of a stream
 * (https://platform.openai.com/docs/api-reference/chat-streaming), or a whole completion, from the
 * same deltas.
 */
import { asObject, asString, type JsonObject, parseObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { saidFault } from '../answers/said-fault.ts';
import { dataFrame } from '../answers/sse.ts';
import { GatheredMessage } from '../chat/calls.ts';
import { DONE } from '../chat/stream.ts';
import type { BridgedAnswer, KeptOutput } from './bridge.ts';
import { partsIn } from './chat-fields.ts';

/** What all chunks of an answer say. */
export interface ChunkHead {
  readonly id: string;
  readonly created: number;
  readonly model: unknown;
  readonly service_tier?: unknown;
}

/** Takes what an answer says. */
export interface AnswerWriter {
  /** Sets what all further chunks say. */
  open(head: ChunkHead): void;
  /** Names the role, once. */
  begin(): void;
  /** @param more members of the choice, such as `logprobs` */
  delta(delta: JsonObject, more?: JsonObject): void;
  /** The end of an answer. @param usage undefined if the upstream has reported none */
  finish(reason: string, usage: JsonObject | undefined): void;
  /** The end of one that has failed. @param status of HTTP, where nothing has been written */
  error(error: AnswerFault, status: number): void;
  /** The frames for the caller since the last call. */
  frames(): readonly Uint8Array[];
}

const NOTHING: ChunkHead = { id: 'chatcmpl-memory', created: 0, model: '' };

/** Writes the chunks of one answer. */
export class ChunkWriter implements AnswerWriter {
  private readonly asksUsage: boolean;
  private head = NOTHING;
  private hasBegun = false;
  private written: Uint8Array[] = [];

  /** @param asksUsage whether the caller asks for usage: then each chunk has the member */
  constructor(asksUsage: boolean) {
    this.asksUsage = asksUsage;
  }

  open(head: ChunkHead): void {
    this.head = head;
  }

  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.chunk([choiceOf({ role: 'assistant', content: '', refusal: null })]);
  }

  delta(delta: JsonObject, more: JsonObject = {}): void {
    this.begin();
    this.chunk([{ ...choiceOf(delta), ...more }]);
  }

  finish(reason: string, usage: JsonObject | undefined): void {
    this.delta({}, { finish_reason: reason });
    if (this.asksUsage && usage) this.chunk([], usage);
    this.written.push(dataFrame(DONE));
  }

  /** No finish reason and no `[DONE]` follow. */
  error(error: AnswerFault): void {
    this.written.push(dataFrame(JSON.stringify({ error })));
  }

  frames(): readonly Uint8Array[] {
    const { written } = this;
    this.written = [];
    return written;
  }

  private chunk(choices: readonly JsonObject[], usage: JsonObject | null = null): void {
    const { id, created, ...head } = this.head;
    const counted = this.asksUsage ? { usage } : {};
    const chunk = { id, object: 'chat.completion.chunk', created, ...head, choices, ...counted };
    this.written.push(dataFrame(JSON.stringify(chunk)));
  }
}

function choiceOf(delta: JsonObject): JsonObject {
  return { index: 0, delta, logprobs: null, finish_reason: null };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Gathers an answer that is no stream. */
export class WholeAnswer implements AnswerWriter {
  private head = NOTHING;
  private readonly message = new GatheredMessage();
  private readonly calls: JsonObject[] = [];
  private readonly logprobs: unknown[] = [];
  private ended: JsonObject = { error: saidFault({ error: 'The upstream sent no whole answer.' }) };
  private status = 502;

  open(head: ChunkHead): void {
    this.head = head;
  }

  begin(): void {}

  delta({ tool_calls, ...said }: JsonObject, { logprobs }: JsonObject = {}): void {
    this.message.add(said);
    for (const { index, ...piece } of partsIn(tool_calls))
      this.calls[Number(index)] = longer(this.calls[Number(index)], piece);
    this.logprobs.push(...partsIn(asObject(logprobs).content));
  }

  finish(reason: string, usage: JsonObject | undefined): void {
    const { id, created, ...head } = this.head;
    const { content = null, refusal = null, ...others } = this.message.fields;
    const tool_calls = this.calls.length > 0 ? { tool_calls: this.calls } : {};
    const logprobs = this.logprobs.length > 0 ? { content: this.logprobs, refusal: null } : null;
    const message = { role: 'assistant', content, refusal, ...others, ...tool_calls };
    const choices = [{ index: 0, message, logprobs, finish_reason: reason }];
    const counted = usage ? { usage } : {};
    this.ended = { id, object: 'chat.completion', created, ...head, choices, ...counted };
    this.status = 200;
  }

  error(error: AnswerFault, status: number): void {
    this.ended = { error };
    this.status = status;
  }

  frames(): readonly Uint8Array[] {
    return [];
  }

  /** @param kept see `BridgedAnswer` */
  answer(kept: KeptOutput | undefined): BridgedAnswer {
    return { body: encoder.encode(JSON.stringify(this.ended)), status: this.status, kept };
  }
}

/** A call with a further piece of its arguments, or of the input of a custom tool. */
function longer(call: JsonObject = {}, piece: JsonObject): JsonObject {
  const [kind, text] = piece.custom ? ['custom', 'input'] : ['function', 'arguments'];
  const known = asObject(call[kind]);
  const more = asObject(piece[kind]);
  const whole = asString(known[text]) + asString(more[text]);
  return { ...call, ...piece, [kind]: { ...known, ...more, [text]: whole } };
}

/** In characters, of the message of a body that is no error in any form. */
const LONGEST_WORDS = 500;

/** The error that a body reports, in the upstream's words. Its type stays. */
export function faultIn(body: Uint8Array, status: number): AnswerFault {
  const text = decoder.decode(body);
  const words = text.trim().slice(0, LONGEST_WORDS);
  return saidFault(parseObject(text) ?? {}, words || `The upstream answered with status ${status}.`);
}

/** The body of an error in OpenAI's form. */
export function errorBody(body: Uint8Array, status: number): Uint8Array {
  return encoder.encode(JSON.stringify({ error: faultIn(body, status) }));
}
