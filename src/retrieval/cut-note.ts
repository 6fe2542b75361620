/** Notes after a result that was cut. Pure. */
import { countLines, endedLines, endsLine } from './lines.ts';
import type { Query } from './query.ts';
import { MOST_TOKENS } from './tool.ts';

/** For a result that was cut for lack of room. */
export const CUT_BY_ROOM = '[cut here: there is no room for more in this answer]';

/** Any of the notes. Up to 0.10 they said `behind`, and rounds of that time are still kept. */
const NOTE = /\n\[cut (here|after line|behind line|in line)[^\n]*\]$/;

/** What comes before the note of a result that was cut; undefined if it was not. */
export function shownBefore(result: string): string | undefined {
  const note = NOTE.exec(result);
  return note ? result.slice(0, note.index) : undefined;
}

/**
 * Says to the model how to get the rest.
 *
 * @param shown the part of the query's answer, or without a query of the content, that was given
 * @param maxTokens the limit that cut it
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
  const where = endsLine(shown, shown.length) ? `after line ${next - 1}` : `in line ${next}`;
  // A line that was cut at its beginning would only be cut again.
  const rest = next === from ? 'a part' : `lines=${next}-${Math.min(to, lines)}, for a part`;
  return `[cut ${where} of ${lines}; ask for ${rest} with grep or path${more}]`;
}
