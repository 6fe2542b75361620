/** What upstreams have refused in single conversations. */
import { ExpiringLru } from '../lib/expiring-lru.ts';

/** In milliseconds. Isolates hardly live longer. */
const HOLDS_MS = 24 * 60 * 60_000;

/** About 2 500 refusals. */
const REMEMBERED = { bytes: 1024 * 1024 };

/** Refused parts by `conversationName`. */
export class ConversationRefusals {
  private readonly refused = new ExpiringLru<true>(REMEMBERED, Date.now);

  /** Whether there may be any. */
  any = false;

  has(conversation: string, part: string): boolean {
    return this.refused.get(conversation, part) ?? false;
  }

  note(conversation: string, part: string): void {
    this.any = true;
    this.refused.set(conversation, part, true, HOLDS_MS);
  }

  /** @param owner a conversation's name, or a tenant's id */
  forget(owner: string): void {
    this.refused.forget(owner);
  }
}
