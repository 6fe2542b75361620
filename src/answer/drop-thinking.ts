/**
 * Sends a request without the thinking of earlier answers, once the upstream has refused it: our
 * edits have changed what it is bound to (docs/design.md#10-upstream-and-access).
 */
import { passesThrough } from '../memory/strategy/strategy.ts';
import { withoutThinking } from '../protocol/thinking.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';

export class ThinkingDrop {
  private readonly call: Call;
  private isDropped: boolean;

  constructor(call: Call) {
    this.call = call;
    this.isDropped = isBound(call);
  }

  /** The body that goes up; undefined if it is this one. */
  bodyOf(bytes: Uint8Array): Uint8Array | undefined {
    return this.isDropped ? withoutThinking(bytes, this.call.request.conversationField) : undefined;
  }

  /** From now on, bodies have no thinking. @returns false if the one that was sent had none */
  begin(sent: Uint8Array): boolean {
    if (this.isDropped || !withoutThinking(sent, this.call.request.conversationField)) return false;
    this.isDropped = true;
    return true;
  }

  /** The upstream accepts the conversation without its thinking. */
  note(): void {
    const { services } = this.call.scope;
    services.log('info', 'the upstream refuses thinking of earlier answers', { code: 'thinking_dropped' });
    const conversation = conversationOfCall(this.call);
    if (conversation) services.boundThinking.note(conversation.name);
  }
}

/** Whether the thinking of a conversation was refused before. */
function isBound(call: Call): boolean {
  const { boundThinking } = call.scope.services;
  if (!boundThinking.any || passesThrough(call.chosen.strategy)) return false;
  const conversation = conversationOfCall(call);
  return conversation !== undefined && boundThinking.has(conversation.name);
}

/** A body without the thinking that the upstream has refused before, to be counted. */
export function withoutBoundThinking(call: Call, bytes: Uint8Array): Uint8Array {
  return new ThinkingDrop(call).bodyOf(bytes) ?? bytes;
}
