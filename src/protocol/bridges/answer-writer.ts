/**
 * Writes an answer of chat from what its upstream says of it: a whole completion, or the chunks of
 * a stream (https://platform.openai.com/docs/api-reference/chat-streaming).
 */
import { asList, asString, type JsonObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { saidFault } from '../answers/said-fault.ts';
import { GatheredMessage } from '../chat/calls.ts';
import { DONE } from '../chat/stream.ts';
import type { BridgedAnswer } from './bridge.ts';
import { saying } from './chat-fields.ts';

/** What the caller asks for in the answer. */
interface AskedForm {
  /** Which chunks have the member for the usage of a stream. */
  readonly usage: 'all' | 'last' | 'none';
  /** See `BridgeOptions`. */
  readonly showsReasoning: boolean;
}

const PARAGRAPH = '\n\n';

/** The member of a call with its arguments, by its type. */
const INPUTS = { function: 'arguments', custom: 'input' } as const;

/** A call of an answer in chat's terms. */
export interface SaidCall {
  readonly id: unknown;
  readonly type: keyof typeof INPUTS;
  readonly name: string;
  /** As far as it is known. */
  readonly input: string;
}

/** How the other APIs begin the ids of answers. */
const PREFIX = /^(?:resp|msg)_/;

const encoder = new TextEncoder();

const bytesOf = (value: JsonObject): Uint8Array => encoder.encode(JSON.stringify(value));

/** An error in place of an answer, in OpenAI's form. */
export function refusalOf(fault: AnswerFault, status: number): BridgedAnswer {
  return { body: bytesOf({ error: fault }), status, fault };
}

export class AnswerWriter {
  private readonly form: AskedForm;
  private readonly streams: boolean;
  private head: JsonObject = { id: 'chatcmpl-memory', object: '', created: 0, model: '' };
  /** The head as a chunk begins with it. Most of a stream is many short chunks. */
  private beginning: string | undefined;
  private hasBegun = false;
  private written = '';
  private readonly said = new GatheredMessage();
  private readonly logprobs: unknown[] = [];
  /** The calls that have been given out. */
  readonly calls: SaidCall[] = [];
  /** An answer that is no stream, or the error in place of one. */
  answer: BridgedAnswer = refusalOf(saidFault({ error: 'The upstream sent no whole answer.' }), 502);
  /** Whether anything has been given out, beside the role. */
  hasSaid = false;

  /** @param streams whether chunks are written */
  constructor(form: AskedForm, streams: boolean) {
    this.form = form;
    this.streams = streams;
  }

  /** Characters of the content that have been given out. */
  get length(): number {
    return asString(this.said.fields.content).length;
  }

  /** Sets what all further chunks say. @param created in seconds */
  open({ id, model, service_tier }: JsonObject, created: number): void {
    const named = `chatcmpl-${asString(id).replace(PREFIX, '')}`;
    this.head = { id: named, object: '', created, model, ...saying({ service_tier }) };
    this.beginning = undefined;
  }

  /** Names the role, once. */
  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.chunk({ role: 'assistant', content: '', refusal: null });
  }

  /**
   * Text of the content. Texts of several messages or blocks are paragraphs of it.
   *
   * @param isNext whether another message or block begins
   * @param logprobs of the text
   * @returns where it begins in the content
   */
  text(text: string, isNext: boolean, logprobs: readonly unknown[] = []): number {
    if (text === '') return this.length;
    const content = isNext && this.length > 0 ? PARAGRAPH + text : text;
    this.logprobs.push(...logprobs);
    this.say({ content }, logprobs);
    return this.length - text.length;
  }

  /** @param isNext whether a part of the reasoning begins */
  thought(text: string, isNext: boolean): void {
    if (text === '' || !this.form.showsReasoning) return;
    const isLater = isNext && this.said.fields.reasoning_content !== undefined;
    this.say({ reasoning_content: isLater ? PARAGRAPH + text : text });
  }

  /** Reasoning in the form that a caller can send back. */
  detail(fields: JsonObject): void {
    if (!this.form.showsReasoning) return;
    const index = asList(this.said.fields.reasoning_details).length;
    this.say({ reasoning_details: [{ ...fields, index }] });
  }

  call(call: SaidCall): number {
    const index = this.calls.push(call) - 1;
    this.say({ tool_calls: [{ index, ...callOf(call) }] });
    return index;
  }

  input(index: number, text: string): void {
    const call = this.calls[index];
    if (!call || text === '') return;
    this.calls[index] = { ...call, input: call.input + text };
    this.say({ tool_calls: [{ index, [call.type]: { [INPUTS[call.type]]: text } }] });
  }

  /** The end of an answer. @param usage undefined if the upstream has reported none */
  finish(reason: string, usage: JsonObject | undefined): void {
    if (this.streams) {
      this.say({}, [], reason);
      if (this.form.usage !== 'none' && usage) this.write('', usage);
      this.written += frameOf(DONE);
      return;
    }
    const { message } = this;
    const logprobs = this.logprobs.length > 0 ? probabilities(this.logprobs) : null;
    const choices = [{ index: 0, message, logprobs, finish_reason: reason }];
    const completion = { ...this.head, object: 'chat.completion', choices, ...(usage ? { usage } : {}) };
    this.answer = { status: 200, body: bytesOf(completion) };
  }

  /**
   * The end of one that has failed. In a stream no finish reason and no `[DONE]` follow.
   *
   * @param status of HTTP, where nothing has been written
   */
  error(error: AnswerFault, status: number): void {
    this.answer = refusalOf(error, status);
    if (this.streams) this.written += frameOf(JSON.stringify({ error }));
  }

  /** The frames for the caller since the last call. */
  frames(): string {
    const { written } = this;
    this.written = '';
    return written;
  }

  /** What has been given out. */
  get message(): JsonObject {
    const { content = null, refusal = null, ...others } = this.said.fields;
    const tool_calls = this.calls.length > 0 ? { tool_calls: this.calls.map(callOf) } : {};
    return { role: 'assistant', content, refusal, ...others, ...tool_calls };
  }

  /** Adds to the message. Texts and calls have methods of their own. */
  say(delta: JsonObject, logprobs: readonly unknown[] = [], reason: string | null = null): void {
    this.said.add(delta);
    this.hasSaid = true;
    this.begin();
    this.chunk(delta, logprobs, reason);
  }

  private chunk(delta: JsonObject, logprobs: readonly unknown[] = [], reason: string | null = null): void {
    if (!this.streams) return;
    const likely = logprobs.length > 0 ? probabilities(logprobs) : null;
    this.write(JSON.stringify({ index: 0, delta, logprobs: likely, finish_reason: reason }));
  }

  private write(choices: string, usage: JsonObject | null = null): void {
    this.beginning ??= JSON.stringify({ ...this.head, object: 'chat.completion.chunk' }).slice(0, -1);
    const counted = usage || this.form.usage === 'all' ? `,"usage":${JSON.stringify(usage)}` : '';
    this.written += frameOf(`${this.beginning},"choices":[${choices}]${counted}}`);
  }
}

/** JSON that was written here has no line end. */
const frameOf = (json: string): string => `data: ${json}\n\n`;

function callOf({ id, type, name, input }: SaidCall): JsonObject {
  return { id, type, [type]: { name, [INPUTS[type]]: input } };
}

function probabilities(content: readonly unknown[]): JsonObject {
  return { content, refusal: null };
}
