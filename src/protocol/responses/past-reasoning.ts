/** What a turn of the model can do without once it is old: its reasoning items. */
import type { Reasoning } from '../../memory/conversation/message.ts';
import { levels } from '../json/outline.ts';
import { cutMembers, type Splice, within } from '../json/spans.ts';
import type { Item } from './item.ts';

/**
 * Items that stand without the reasoning before them. Those of hosted tools are known by ids, which
 * need it.
 */
const FREE = new Set(['message', 'function_call', 'custom_tool_call']);

/** The reasoning among the items of a turn of the model, if all others stand without it. */
export function reasoningIn(items: readonly Item[]): Reasoning | undefined {
  const thoughts = items.filter(({ type }) => type === 'reasoning');
  const others = items.filter(({ type }) => type !== 'reasoning');
  if (thoughts.length === 0 || others.length === 0) return undefined;
  if (!others.every(({ type }) => FREE.has(type))) return undefined;
  const weights = thoughts.map((item) => item.weight());
  const sum = (count: (weight: (typeof weights)[number]) => number): number =>
    weights.reduce((all, weight) => all + count(weight), 0);
  return {
    form: 'items',
    weight: {
      texts: weights.flatMap(({ texts }) => texts),
      flat: sum(({ flat }) => flat),
      encrypted: sum(({ encrypted }) => encrypted ?? 0),
    },
    bytes: thoughts.reduce((all, { span }) => all + span.end - span.start, 0),
  };
}

/**
 * Cuts the `id` of an item whose reasoning is cleared. OpenAI refuses an item with its id and
 * without that reasoning ("… was provided without its required 'reasoning' item"), and accepts one
 * without an id (https://github.com/laravel/ai/pull/1052, 2026-09-21). Calls and results are paired
 * by `call_id`, which stays.
 */
export function withoutId(bytes: Uint8Array, { type, span }: Item): Splice[] {
  if (type === 'reasoning') return [];
  const fields = within(bytes, span, levels(1)).fields ?? [];
  return cutMembers(fields, (index) => fields[index]?.key === 'id');
}
