/** Finds tool outputs that only the transcript of a summary or of trimmed messages holds. */

import type { Entry } from '../../memory/conversation/passage.ts';
import { parseTranscriptHead } from '../../summary/kept-transcript.ts';
import { beginningOf, textIn } from '../../summary/text/transcript.ts';

/** How many transcripts are read; each names the one before it. */
const MOST_READ = 8;

/** In characters. The beginning of an output that is looked for, after its tool and call. */
const LOOKED_FOR = 1_000;

/** An output, as a transcript would have it. */
export interface Output extends Pick<Entry, 'role' | 'tool' | 'text'> {
  /** Whether it is a part of an answer, and so has no entry of its own. */
  readonly isPart?: true;
}

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
    for (const output of left) {
      const begins = output.isPart ? textIn(output.text, LOOKED_FOR) : beginningOf(output, LOOKED_FOR);
      if (transcript.includes(begins)) found.set(output, ref);
    }
    left = left.filter((output) => !found.has(output));
    const { earlier } = parseTranscriptHead(transcript);
    if (earlier !== undefined) waiting = [earlier, ...waiting];
  }
  return found;
}
