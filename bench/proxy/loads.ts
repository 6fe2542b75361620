/** What the clients of the benchmark send: modes, sizes and situations. */
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import { bodyOf, type Conversation, makeConversation, nextStep } from '../conversation.ts';

export const MODES = ['none', 'compact', 'auto', 'summarize', 'rolling_summary'] as const;
export type Mode = (typeof MODES)[number];

/**
 * - again: the same array as before.
 * - growing: the array before, and one step more. The usual load.
 * - unseen: an array of which nobody has seen a message.
 */
export const SITUATIONS = ['again', 'growing', 'unseen'] as const;
export type Situation = (typeof SITUATIONS)[number];

/** Of a budget that a body of so many bytes exceeds several times. */
const TOKENS_PER_BYTE = 1 / 20;

/** Of the output of a step, relative to the body. */
const STEP_SHARE = 1 / 100;

/** Bodies up to this length, in bytes, are of one message or two. */
const SMALL = 2_000;

export function strategyOf(mode: Mode, bytes: number): MemoryStrategyRequest | undefined {
  const token_budget = Math.max(1_000, Math.round(bytes * TOKENS_PER_BYTE));
  switch (mode) {
    case 'none':
      return undefined;
    case 'rolling_summary':
      return { mode };
    default:
      return { mode, token_budget };
  }
}

/** One client: its conversation as it goes on, from request to request. */
export class Load {
  private readonly bytes: number;
  private readonly situation: Situation;
  private readonly fields: object;
  private seed: number;
  private conversation: Conversation;
  private steps: ReturnType<typeof nextStep> = [];

  /** @param bytes of the body @param fields that stand before all others @param seed its own */
  constructor(bytes: number, situation: Situation, fields: object, seed: number) {
    this.bytes = bytes;
    this.situation = situation;
    this.fields = fields;
    this.seed = seed;
    this.conversation = conversationOf(bytes, seed);
  }

  /** The next body. */
  next(): Uint8Array {
    this.seed += 1_000;
    if (this.situation === 'unseen') this.conversation = conversationOf(this.bytes, this.seed);
    if (this.situation === 'growing')
      this.steps = [...this.steps, ...nextStep(Math.max(200, this.bytes * STEP_SHARE), this.seed)];
    return bodyOf(this.conversation, this.steps, this.fields);
  }
}

function conversationOf(bytes: number, seed: number): Conversation {
  if (bytes >= SMALL) return makeConversation(bytes, seed);
  const content = `Question ${seed}. ${'Why is it so? '.repeat(bytes)}`.slice(0, bytes - 100);
  return { model: 'gpt-4.1', tools: [], messages: [{ role: 'user', content }] };
}
