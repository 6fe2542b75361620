/** What upstreams have refused in single conversations. */
import { ExpiringLru } from '../lib/expiring-lru.ts';

/** In milliseconds. Isolates hardly live longer. */
const HOLDS_MS = 24 * 60 * 60_000;

/** About 2 500 refusals. */
const REMEMBERED = { bytes: 1024 * 1024 };

/** Refused parts by `conversationName`, with the length of the array that was refused last. */
export class ConversationRefusals {
  private readonly refused = new ExpiringLru<number>(REMEMBERED, Date.now);

  /** Whether there may be any. */
  any = false;

  /** How many messages the array had; undefined if the part was never refused. */
  at(conversation: string, part: string): number | undefined {
    return this.refused.get(conversation, part);
  }

  note(conversation: string, part: string, messages: number): void {
    this.any = true;
    this.refused.set(conversation, part, messages, HOLDS_MS);
  }

  /** @param owner a conversation's name, or a tenant's id */
  forget(owner: string): void {
    this.refused.forget(owner);
  }
}
