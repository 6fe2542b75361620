/** The memory that facts about a message take, as an upper estimate. */
import { textBytes } from '../../lib/copy.ts';
import type { MessageFacts } from './message.ts';

/** The object, two hashes and two links of a chain. */
const FIXED_BYTES = 1_000;
/** A call or a removal, without its texts. */
const OBJECT_BYTES = 200;

/** In bytes. */
export function factsBytes({ calls = [], removals, origins, written = [] }: MessageFacts): number {
  let bytes = FIXED_BYTES + (origins?.bytes ?? 0);
  for (const { id, name, input } of calls)
    bytes += OBJECT_BYTES + textBytes(id) + textBytes(name) + textBytes(input);
  for (const file of written) bytes += textBytes(file ?? '');
  for (const removal of removals?.byName.values() ?? [])
    bytes += OBJECT_BYTES + (removal ? textBytes(removal.replacement) : 0);
  return bytes;
}
