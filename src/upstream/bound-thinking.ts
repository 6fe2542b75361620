/**
 * Upstreams that refuse thinking after a changed prefix. Claude's models since Fable 5.1 sign a
 * thinking block together with everything before it
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking).
 */
import { wordsOfError } from './too-long.ts';

/** Anthropic's words. OpenRouter has them in `error.metadata.raw`. */
const WORDS = /invalid\W{1,4}signature\W{1,4}in\W{1,4}(?:redacted_)?thinking\W{1,4}block/i;

/**
 * Whether an error refuses thinking for what is before it.
 *
 * @param json its body, or an event
 */
export function refusesThinking(json: string): boolean {
  return WORDS.test(wordsOfError(json));
}
