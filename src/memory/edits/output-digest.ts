/**
 * A model's words about an offloaded output, in place of its preview (`offload_digest`). The plan
 * counts the longest words that may be there. Only the words come from storage.
 *
 *     ⟦removed: tool output for logs (call_id=call_1); reason=offloaded; ref=ref_…; tokens=21034⟧
 *     digest: Three workers restarted, all out of memory. …
 */
import { jsonBytes } from '../conversation/message.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { Removal } from './removal.ts';

/** The most tokens of the words (docs/design.md#digests-of-outputs). */
export const DIGEST_TOKENS = 300;

/** Shows the model that these are not the output's own words. */
const LABEL = '\ndigest: ';

/** Tokens of a placeholder with the longest words. */
export function longestDigested(line: string, counter: TokenCounter): number {
  return counter.marker(line + LABEL) + DIGEST_TOKENS;
}

/**
 * The removal with words in its placeholder. Undefined if it has no place for them, or if they are
 * longer than the plan has counted or than the output is, by any measure.
 */
export function digested(removal: Removal, words: string, counter: TokenCounter): Removal | undefined {
  const { digest: place, tokens, freed } = removal;
  if (!place) return undefined;
  const replacement = place.line + LABEL + words;
  const taken = counter.marker(replacement);
  const fits = taken <= tokens - freed;
  if (!fits || replacement.length >= place.length || jsonBytes(replacement) >= place.room) return undefined;
  return { ...removal, replacement, freed: tokens - taken, isDigested: true };
}

/**
 * The removal as the view shows it: with its words if there are any and they fit, else with its
 * preview.
 */
export function shownWith(removal: Removal, words: string | undefined, counter: TokenCounter): Removal {
  if (!removal.digest) return removal;
  const withWords = words === undefined ? undefined : digested(removal, words, counter);
  return withWords ?? { ...removal, freed: removal.tokens - counter.marker(removal.replacement) };
}
