/** Finds tool outputs that only the transcript of a summary or of trimmed messages holds. */
import { firstLine } from '../lib/characters.ts';
import { parseTranscriptHead } from '../summary/kept-transcript.ts';

/** How many transcripts are read; each names the one before it. */
const MOST_READ = 8;

/** In characters. The beginning of an output that is looked for. */
const LOOKED_FOR = 200;

/**
 * The transcript of each text that is in one, newest first.
 *
 * @param refs of the transcripts that the view names, newest first
 * @param read the text of a ref; undefined if it is gone. @throws if storage fails
 */
export async function findInTranscripts(
  texts: readonly string[],
  refs: readonly string[],
  read: (ref: string) => Promise<string | undefined>,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const looked = new Set<string>();
  let left = texts.filter((text) => firstLine(text, LOOKED_FOR) !== '');
  for (let waiting = [...refs]; waiting.length > 0 && left.length > 0; ) {
    const ref = waiting.shift() ?? '';
    if (looked.has(ref)) continue;
    if (looked.size === MOST_READ) break;
    looked.add(ref);
    const transcript = await read(ref);
    if (transcript === undefined) continue;
    for (const text of left) if (transcript.includes(beginningOf(text))) found.set(text, ref);
    left = left.filter((text) => !found.has(text));
    const { earlier } = parseTranscriptHead(transcript);
    if (earlier !== undefined) waiting = [earlier, ...waiting];
  }
  return found;
}

/** Without the ellipsis of a line that was cut. */
function beginningOf(text: string): string {
  return firstLine(text, LOOKED_FOR).replace(/…$/, '');
}
