/**
 * Upstreams that refuse thinking after a changed prefix. Claude's models since Fable 5.1 sign a
 * thinking block together with everything before it
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking).
 */
import { ExpiringLru } from '../lib/expiring-lru.ts';
import { wordsOfError } from './too-long.ts';

/** Anthropic's words. OpenRouter has them in `error.metadata.raw`. */
const WORDS = /invalid\W{1,4}signature\W{1,4}in\W{1,4}(?:redacted_)?thinking\W{1,4}block/i;

/**
 * Whether an error refuses thinking for what stands before it.
 *
 * @param json its body, or an event
 */
export function refusesThinking(json: string): boolean {
  return WORDS.test(wordsOfError(json));
}

/** In milliseconds. Isolates hardly live longer. */
const HOLDS_MS = 24 * 60 * 60_000;
/** The only fact about a conversation. */
const REFUSED = '';

/** About 2 500 conversations. */
const REMEMBERED = { bytes: 1024 * 1024 };

/** Conversations whose thinking was refused, by `conversationName`. */
export class BoundThinking {
  private readonly conversations = new ExpiringLru<true>(REMEMBERED, Date.now);

  /** Whether there may be any. */
  any = false;

  has(conversation: string): boolean {
    return this.conversations.get(conversation, REFUSED) ?? false;
  }

  note(conversation: string): void {
    this.any = true;
    this.conversations.set(conversation, REFUSED, true, HOLDS_MS);
  }

  /** @param owner a conversation's name, or a tenant's id */
  forget(owner: string): void {
    this.conversations.forget(owner);
  }
}
