/**
 * What an isolate knows of a conversation's object, or else asks it for. What it knows it relies
 * on, and has confirmed after the answer, when the object is asked as if nothing were known.
 *
 * Four kinds have rules of their own. The memory of a round is kept only if it holds for the whole
 * round, and relied on only if the array has its boundary. Kept rounds have a second key where a
 * client rewrites its answers, and what is lost of them never comes back. Refs are confirmed by R2,
 * all at once by a manifest, and renewed. The archive has nothing to confirm, since its index
 * refuses what comes after a deletion.
 */
import type { OwnBeliefs } from '../lib/isolate-memory.ts';
import type { ConversationUpkeep } from './upkeep.ts';

interface Question<Value> {
  readonly known: OwnBeliefs<Value>;
  readonly keys: readonly string[];
  readonly upkeep: ConversationUpkeep;
  /** The values of all keys, in their order. @throws StoreError */
  ask(): Promise<readonly (Value | undefined)[]>;
}

/** @throws StoreError */
export async function recall<Value>(question: Question<Value>): Promise<readonly (Value | undefined)[]> {
  return relyOn(question) ?? lookUp(question);
}

/** Relies on what is known. Undefined if a key is unknown. */
export function relyOn<Value>(question: Question<Value>): readonly Value[] | undefined {
  const { known, keys, upkeep } = question;
  const seen = keys.map((key) => known.get(key)).filter((one) => one !== undefined);
  if (seen.length < keys.length) return undefined;
  const oldest = seen.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  if (seen.length > 0) upkeep.rely(known.confirm, oldest, async () => void (await lookUp(question)));
  return seen.map(({ value }) => value);
}

/** Asks, whatever is known. What is there is kept, and what is not is dropped. */
export async function lookUp<Value>({
  known,
  keys,
  ask,
}: Omit<Question<Value>, 'upkeep'>): Promise<readonly (Value | undefined)[]> {
  const at = Date.now();
  const values = await ask();
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value === undefined) known.drop(key);
    else known.keep(key, value, at);
  }
  return values;
}
