/** Finds tool outputs that only the transcript of a summary or of trimmed messages holds. */

import type { Entry } from '../memory/conversation/passage.ts';
import { parseTranscriptHead } from '../summary/kept-transcript.ts';
import { beginningOf } from '../summary/text/transcript.ts';

/** How many transcripts are read; each names the one before it. */
const MOST_READ = 8;

/** In characters. The beginning of an output that is looked for, behind its tool and call. */
const LOOKED_FOR = 1_000;

/** An output, as a transcript would have it. */
export type Output = Pick<Entry, 'role' | 'tool' | 'text'>;

/**
 * The transcript of each output that is in one, newest first.
 *
 * @param refs of the transcripts that the view names, newest first
 * @param read the text of a ref; undefined if it is gone. @throws if storage fails
 */
export async function findInTranscripts<Looked extends Output>(
  outputs: readonly Looked[],
  refs: readonly string[],
  read: (ref: string) => Promise<string | undefined>,
): Promise<ReadonlyMap<Looked, string>> {
  const found = new Map<Looked, string>();
  const looked = new Set<string>();
  let left = outputs.filter(({ text }) => text.trim() !== '');
  for (let waiting = [...refs]; waiting.length > 0 && left.length > 0; ) {
    const ref = waiting.shift() ?? '';
    if (looked.has(ref)) continue;
    if (looked.size === MOST_READ) break;
    looked.add(ref);
    const transcript = await read(ref);
    if (transcript === undefined) continue;
    for (const output of left)
      if (transcript.includes(beginningOf(output, LOOKED_FOR))) found.set(output, ref);
    left = left.filter((output) => !found.has(output));
    const { earlier } = parseTranscriptHead(transcript);
    if (earlier !== undefined) waiting = [earlier, ...waiting];
  }
  return found;
}
