/** Adds proven facts to a summary's text (see `text/proven.ts`), once per text and place. */
import { sha256Hex } from '../tenant/identity.ts';
import type { SummaryPorts } from './conversation.ts';
import type { PrefixNeed } from './prefix.ts';
import { entriesOf } from './text/entries.ts';
import { withProven } from './text/proven.ts';

/**
 * The text of a summary as it is shown instead of a prefix. A function of the text and of the array
 * up to the request that showed it first.
 */
export async function provenText(
  text: string,
  { history, prefix, boundaries }: PrefixNeed,
  { digests, encoding, counting }: SummaryPorts,
): Promise<string> {
  const { end, since, limit } = prefix;
  if (since === undefined || since <= end) return text;
  // The hash leaves out the preamble, which shifts the indices.
  const { prefixHash } = boundaries.at(since);
  const key = `proven ${prefixHash} ${since} ${end} ${limit} ${encoding} ${sha256Hex(text)}`;
  const known = digests.get(key);
  if (known !== undefined) return known;
  const { counter } = await counting();
  const shown = withProven({
    text,
    covered: entriesOf(history, 0, end, 'readable'),
    later: entriesOf(history, end, since, 'readable'),
    maxTokens: limit,
    counter,
  });
  digests.set(key, shown);
  return shown;
}
