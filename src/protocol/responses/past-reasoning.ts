/** What a turn of the model can do without once it is old: its reasoning items. */
import type { Reasoning, Thinking } from '../../memory/conversation/message.ts';
import { levels } from '../json/outline.ts';
import { bytesOf, type Splice, within } from '../json/spans.ts';
import { sumOfWeights } from '../parts.ts';
import { thinkingIn } from '../thinking.ts';
import type { Item } from './item.ts';
import { FREE } from './reasoning.ts';

/** The reasoning among the items of a turn of the model, if all others are without it. */
export function reasoningIn(items: readonly Item[]): Reasoning | undefined {
  const thoughts = items.filter(({ type }) => type === 'reasoning');
  const others = items.filter(({ type }) => type !== 'reasoning');
  if (thoughts.length === 0 || others.length === 0) return undefined;
  if (!others.every(({ type }) => FREE.has(type))) return undefined;
  return {
    form: 'items',
    weight: sumOfWeights(thoughts.map((item) => item.weight())),
    bytes: sizeOf(thoughts),
  };
}

/** All thinking among the items of a turn of the model, also what gateways put into other items. */
export function thinkingAmong(items: readonly Item[]): Thinking | undefined {
  const thoughts = items.filter(({ type }) => type === 'reasoning');
  const inside = items.map((item) => item.thinkingInside()).filter((found) => found !== undefined);
  if (thoughts.length === 0 && inside.length === 0) return undefined;
  return {
    weight: sumOfWeights([...thoughts.map((item) => item.weight()), ...inside.map(({ weight }) => weight)]),
    bytes: inside.reduce((sum, { bytes }) => sum + bytes, sizeOf(thoughts)),
    blocks: inside.reduce((sum, { blocks }) => sum + blocks, thoughts.length),
    isAll: thoughts.length === items.length,
  };
}

const sizeOf = (items: readonly Item[]): number => bytesOf(items.map(({ span }) => span));

/**
 * Cuts what an item has of the thinking that is cleared: the fields of gateways, and its `id`.
 * OpenAI refuses an item with its id and without that reasoning ("… was provided without its
 * required 'reasoning' item"), and accepts one without an id
 * (https://github.com/laravel/ai/pull/1052, 2026-09-21). Calls and results are paired by `call_id`,
 * which stays. So do the ids of hosted tools' items, which refer to what the upstream has stored.
 */
export function withoutThinking(bytes: Uint8Array, { type, span }: Item): Splice[] {
  if (!FREE.has(type)) return [];
  const item = within(bytes, span, levels(1));
  return thinkingIn(bytes, item, (index) => item.fields?.[index]?.key === 'id');
}
