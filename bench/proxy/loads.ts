/** The requests of the benchmark's clients: modes, sizes and situations. */
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import { bodyOf, type Conversation, makeConversation, nextStep } from '../conversation.ts';
import { textOf } from './upstream.ts';

export const MODES = ['none', 'compact', 'auto', 'summarize', 'rolling_summary'] as const;
export type Mode = (typeof MODES)[number];

/**
 * - again: the same array as before.
 * - growing: the previous array plus one step, after the time that a model takes. The usual load.
 * - unseen: an array without any message seen before.
 */
export const SITUATIONS = ['again', 'growing', 'unseen'] as const;
export type Situation = (typeof SITUATIONS)[number];

/** Streams from this length on take long, and are measured with one size of body. In deltas. */
export const LONG_STREAM = 10_000;

/** Tokens of the budget per byte of the body: the body exceeds it, and the tail fits in it. */
const TOKENS_PER_BYTE = 1 / 8;

/** Length of a step's output relative to the body. */
const STEP_SHARE = 1 / 100;

/** The share of its length from which a conversation grows: it is measured around that length. */
const GROWS_FROM = 0.9;

/** In bytes. Shorter bodies have one or two messages. */
const SMALL = 2_000;

export function strategyOf(mode: Mode, bytes: number): MemoryStrategyRequest | undefined {
  const token_budget = Math.max(1_000, Math.round(bytes * TOKENS_PER_BYTE));
  switch (mode) {
    case 'none':
      return undefined;
    case 'rolling_summary':
      return { mode };
    case 'compact':
      return { mode, token_budget, compact_retrieval: 'off' };
    default:
      return { mode, token_budget };
  }
}

/** One client and its conversation, from request to request. */
export class Load {
  private readonly bytes: number;
  private readonly situation: Situation;
  private readonly deltas: number;
  private seed: number;
  private conversation: Conversation;
  private steps: ReturnType<typeof nextStep> = [];
  /** The step that the upstream is to answer with, and what the client finds by it. */
  private coming: ReturnType<typeof nextStep> = [];
  private body: Uint8Array;

  /** @param bytes of the body @param deltas see `Case` @param seed of this client */
  constructor(bytes: number, situation: Situation, deltas: number, seed: number) {
    this.bytes = bytes;
    this.situation = situation;
    this.deltas = deltas;
    this.seed = seed;
    this.conversation = conversationOf(situation === 'growing' ? GROWS_FROM * bytes : bytes, seed);
    if (situation === 'growing') this.coming = this.step();
    this.body = this.write();
  }

  /** The answer to the last body, which the next one has in its array; undefined if none has. */
  get answer(): object | undefined {
    return this.coming[0];
  }

  /** The next body. */
  next(): Uint8Array {
    if (this.situation === 'again') return this.body;
    this.seed += 1_000;
    if (this.situation === 'unseen') this.conversation = conversationOf(this.bytes, this.seed);
    if (this.situation === 'growing') {
      this.steps = [...this.steps, ...this.coming];
      this.coming = this.step();
    }
    this.body = this.write();
    return this.body;
  }

  /** With the text of a stream, where the answer is one. */
  private step(): ReturnType<typeof nextStep> {
    const [answer, ...results] = stepOf(this.bytes, this.seed);
    if (this.deltas === 0 || answer?.role !== 'assistant') return answer ? [answer, ...results] : results;
    return [{ ...answer, content: textOf(this.deltas) }, ...results];
  }

  private write(): Uint8Array {
    return bodyOf(this.conversation, this.steps, this.deltas > 0 ? { stream: true } : {});
  }
}

/** A client's conversation of a given size. */
export function conversationOf(bytes: number, seed: number): Conversation {
  if (bytes >= SMALL) return makeConversation(bytes, seed);
  const content = `Question ${seed}. ${'Why is it so? '.repeat(bytes)}`.slice(0, bytes - 100);
  return { model: 'gpt-4.1', tools: [], messages: [{ role: 'user', content }] };
}

/** The next step of a conversation that grows. @param bytes of the body at its beginning */
export function stepOf(bytes: number, seed: number): ReturnType<typeof nextStep> {
  return nextStep(Math.max(200, bytes * STEP_SHARE), seed);
}
