/** The items of an answer that Precis's rounds before it have, too (`repeated.ts`). */
import { asObject, asString, type JsonObject } from '../../lib/json.ts';
import { firstOwn, type Piece, readRounds } from '../repeated.ts';

/**
 * Which items of an answer rounds repeat, in its order. An item with the id of one in the rounds is
 * refused, wherever it is; reasoning goes with the item after it.
 *
 * @param items of the caller's answer, decoded
 * @param rounds see `ShownRounds`
 */
export function repeatedItems(items: readonly unknown[], rounds: string): ReadonlySet<number> {
  const earlier = stepsOf(readRounds(rounds));
  const steps = stepsOf(items);
  const first = firstOwn(steps, earlier);
  // An answer is never empty, unless an id says that nothing is left of it.
  const own = first === steps.length ? 0 : first;
  const ids = new Set(earlier.flatMap((step) => step.ids));
  const repeated = new Set<number>();
  for (const [at, { indices, id }] of steps.entries())
    if (at < own || (id !== undefined && ids.has(id))) for (const index of indices) repeated.add(index);
  for (const [index, item] of items.entries()) if (ids.has(idOf(asObject(item)))) repeated.add(index);
  return repeated;
}

/** An item with the reasoning that led to it. */
interface Step extends Piece {
  readonly indices: readonly number[];
  /** Of all its items. */
  readonly ids: readonly string[];
}

function stepsOf(items: readonly unknown[]): readonly Step[] {
  const steps: Step[] = [];
  let indices: number[] = [];
  for (const [index, item] of items.map(asObject).entries()) {
    indices.push(index);
    if (item.type === 'reasoning' && index + 1 < items.length) continue;
    const ids = indices.map((at) => idOf(asObject(items[at]))).filter(Boolean);
    steps.push({ indices, ids, id: idOf(item) || undefined, words: wordsOf(item) });
    indices = [];
  }
  return steps;
}

function idOf({ id }: JsonObject): string {
  return asString(id);
}

/** What an item says, without what clients and stores leave out of it. */
function wordsOf({ id: _, status: __, ...item }: JsonObject): string {
  const { type = 'message', content } = item;
  if (type !== 'message') return JSON.stringify(item);
  const parts = Array.isArray(content) ? content.map(asObject) : [{ text: content }];
  return `message ${parts.map(({ text, refusal }) => asString(text ?? refusal)).join('')}`;
}
