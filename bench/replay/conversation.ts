/** A replayed conversation and its messages, each counted and parsed once for all policies. */
import type { Message } from '../../src/memory/conversation/message.ts';
import { textsOf } from '../../src/memory/run/near-use.ts';
import { ANSWER_OVERHEAD, type TokenCounter, toolTokens } from '../../src/memory/tokens/tokens.ts';
import { type ChatRequest, readChatRequest } from '../../src/protocol/chat/request.ts';
import { type ReuseTrace, requestOf } from '../reuse.ts';
import type { PricedMessage } from './bill.ts';
import { type NearUse, nearUseIn } from './near-use.ts';

/** A message as a caller writes it. */
export type ChatJson = Readonly<Record<string, unknown>>;

const REFS = /\bref_[a-z2-7]{26}\b/g;

/** A message that is sent. */
export class SentMessage implements PricedMessage {
  readonly bytes: string;
  readonly tokens: number;
  private known: { readonly text: string; readonly refs: readonly string[] } | undefined;

  constructor(bytes: string, tokens: number) {
    this.bytes = bytes;
    this.tokens = tokens;
  }

  /** All text in it (see `textsOf`). */
  get text(): string {
    return this.read().text;
  }

  /** Refs in it, by their form. */
  get refs(): readonly string[] {
    return this.read().refs;
  }

  private read(): { readonly text: string; readonly refs: readonly string[] } {
    if (!this.known) {
      const text = textsOf(JSON.parse(this.bytes));
      this.known = { text, refs: text.match(REFS) ?? [] };
    }
    return this.known;
  }
}

/** A conversation, with what all its replays share. */
export class Conversation {
  readonly trace: ReuseTrace;
  /** The request with the whole array. Each message has bytes of its own. */
  readonly request: ChatRequest;
  /** The caller's messages. */
  readonly messages: readonly SentMessage[];
  /** Indices of messages before which requests were made. */
  readonly points: readonly number[];
  /** Tokens of the tools, and of the answer's overhead. */
  readonly overhead: number;
  private readonly counter: TokenCounter;
  private readonly byBytes = new Map<string, SentMessage>();
  private readonly byValue = new WeakMap<ChatJson, SentMessage>();
  private foundNearUse: readonly NearUse[] | undefined;

  constructor(trace: ReuseTrace, counter: TokenCounter) {
    this.trace = trace;
    this.counter = counter;
    this.request = requestOf(trace);
    this.messages = trace.messages.map((message) => this.sent(message));
    this.points = requestPoints(trace.messages);
    this.overhead = toolTokens(this.request.tools, counter) + ANSWER_OVERHEAD;
  }

  /** What its answers take from outputs that they have just read. */
  get nearUse(): readonly NearUse[] {
    this.foundNearUse ??= nearUseIn(
      this.trace.messages,
      this.messages.map(({ text }) => text),
    );
    return this.foundNearUse;
  }

  /** A message that a policy sends. The caller's own objects are looked up by identity. */
  sent(message: ChatJson): SentMessage {
    const known = this.byValue.get(message);
    if (known) return known;
    const sent = this.sentBytes(JSON.stringify(message));
    this.byValue.set(message, sent);
    return sent;
  }

  /** Likewise, for a message's JSON. */
  sentBytes(bytes: string): SentMessage {
    const known = this.byBytes.get(bytes);
    if (known) return known;
    const sent = new SentMessage(bytes, this.counter.message(readMessage(bytes)));
    this.byBytes.set(bytes, sent);
    return sent;
  }
}

/** A body with a single message. */
export function requestOfOne(message: string): ChatRequest {
  const read = readChatRequest(new TextEncoder().encode(`{"messages":[${message}]}`));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

function readMessage(bytes: string): Message {
  const [message] = requestOfOne(bytes).messages;
  if (!message) throw new Error('a body with one message holds none');
  return message;
}

/**
 * Before each assistant message that follows a user or tool message; and at the end, if the last
 * message asks for an answer.
 */
export function requestPoints(messages: readonly ChatJson[]): number[] {
  const points = messages.flatMap(({ role }, index) => {
    const before = messages[index - 1]?.role;
    return role === 'assistant' && (before === 'user' || before === 'tool') ? [index] : [];
  });
  if (messages.at(-1)?.role !== 'assistant') points.push(messages.length);
  return points;
}
