/**
 * What an isolate knows of a conversation's object, or else asks it for. What it knows it relies
 * on, and has confirmed after the answer, when the object is asked as if nothing were known.
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
  const { known, keys, upkeep } = question;
  const seen = keys.map((key) => known.get(key)).filter((one) => one !== undefined);
  if (seen.length < keys.length) return lookUp(question);
  const oldest = Math.min(...seen.map(({ at }) => at));
  upkeep.rely(known.confirm, oldest, async () => void (await lookUp(question)));
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
