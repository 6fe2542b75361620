/** What stands behind a result that was cut. Pure. */
import { countLines, endedLines, endsLine } from './lines.ts';
import type { Query } from './query.ts';
import { MOST_TOKENS } from './tool.ts';

/** Behind one for which there was not enough room. */
export const CUT_BY_ROOM = '[cut here: there is no room for more in this answer]';

/**
 * The way to the rest.
 *
 * @param shown what is given of the answer to the query; without a query, of the content
 * @param maxTokens that it was cut to
 */
export function wayToRest(
  query: Query | undefined,
  shown: string,
  content: string,
  maxTokens: number,
): string {
  const more = maxTokens < MOST_TOKENS ? `, or for a larger max_tokens than ${maxTokens}` : '';
  if (query && query.kind !== 'lines') return `[cut here; ask for less${more}]`;
  const lines = countLines(content);
  const { from, to } = query ?? { from: 1, to: lines };
  const next = from + endedLines(shown);
  const where = endsLine(shown, shown.length) ? `behind line ${next - 1}` : `in line ${next}`;
  // A line that is cut from its beginning on would only be cut again.
  const rest = next === from ? 'a part' : `lines=${next}-${Math.min(to, lines)}, for a part`;
  return `[cut ${where} of ${lines}; ask for ${rest} with grep or path${more}]`;
}
