/** The conversations of a log: a request sends the whole of one, so the longest has the others. */
import { createHash } from 'node:crypto';
import type { Recorded } from '../../inspector/read/recorded.ts';

/**
 * The arrays that are not the beginning of another one, with the same model, in the order of the
 * log. Of equal ones, the first.
 */
export function longestArrays(found: readonly Recorded[]): Recorded[] {
  const hashes = found.map(beginningsOf);
  const beginnings = new Set(hashes.flatMap((own) => own.slice(0, -1)));
  const seen = new Set<string>();
  return found.filter((_, index) => {
    const whole = hashes[index]?.at(-1) ?? '';
    if (beginnings.has(whole) || seen.has(whole)) return false;
    seen.add(whole);
    return true;
  });
}

/**
 * A hash for each beginning of an array, the last of the whole. Marks of caches don't count, since
 * clients move them along with the newest message.
 */
function beginningsOf({ model = '', system, messages }: Recorded): string[] {
  const hash = createHash('sha256').update(JSON.stringify([model, system ?? []], withoutMarks));
  return messages.map((message) =>
    hash
      .update(`\n${JSON.stringify(message, withoutMarks)}`)
      .copy()
      .digest('base64'),
  );
}

function withoutMarks(key: string, value: unknown): unknown {
  return key === 'cache_control' ? undefined : value;
}
