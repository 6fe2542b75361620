/** The memory that facts about a message take, as an upper estimate. */
import { textBytes } from '../../lib/copy.ts';
import type { LiteralFacts } from '../edits/earlier-literals.ts';
import type { RemovalFacts } from '../edits/known-removal.ts';
import { knownReplayBytes } from './known-replay.ts';

/** The object, its hashes, and its share of the states that are kept with it. */
const FIXED_BYTES = 1_000;
/** A call or a removal, without its texts. */
const OBJECT_BYTES = 200;

/** In bytes. */
export function factsBytes(facts: RemovalFacts & LiteralFacts): number {
  const { calls = [], removals, origins, written = [] } = facts;
  let bytes = FIXED_BYTES + (origins?.bytes ?? 0) + knownReplayBytes(facts);
  for (const { id, name, input } of calls)
    bytes += OBJECT_BYTES + textBytes(id) + textBytes(name) + textBytes(input);
  for (const file of written) bytes += textBytes(file ?? '');
  for (const removal of removals?.byName.values() ?? [])
    bytes += OBJECT_BYTES + (removal ? textBytes(removal.replacement) : 0);
  return bytes;
}
