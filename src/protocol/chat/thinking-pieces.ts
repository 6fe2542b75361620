/**
 * Lists of thinking in the deltas of a stream. A block comes in pieces: its text first, and its
 * signature last. OpenRouter gives all pieces of a block the same `index`
 * (https://github.com/agno-agi/agno/issues/8794, 2026-07-07). LiteLLM gives none, and a block ends
 * with its signature. A piece is no block, so one that is sent by itself is refused.
 *
 * Mistral's thinking is among the parts of the content, a part for each piece, and the text after
 * it comes as strings (https://docs.mistral.ai/capabilities/reasoning).
 */
import { asObject, asObjects, isObject, type JsonObject } from '../../lib/json.ts';
import { isThinking, isThinkingList, PROVIDER_FIELDS, SEALED_TEXTS, THINKING_BLOCKS } from './reasoning.ts';

/** Parts of text, and what Databricks has in the `summary` of a part. */
const INNER_TEXTS: ReadonlySet<unknown> = new Set(['text', 'summary_text']);

/** Members whose pieces are one text. */
const TEXTS = new Set(['text', 'thinking', 'summary', 'data']);

/**
 * Adds pieces to blocks.
 *
 * @param since the blocks before this one are of earlier answers, and whole
 */
export function addPieces(blocks: unknown[], pieces: readonly unknown[], since = 0): void {
  for (const piece of pieces) {
    const at = isObject(piece) ? placeOf(blocks, piece, since) : -1;
    if (at < 0) blocks.push(piece);
    else blocks[at] = joined(asObject(blocks[at]), piece as JsonObject);
  }
}

/** Adds a content to another one, of which at least one is a list of parts. */
export function addedParts(known: unknown, added: unknown, since = 0): unknown[] {
  const parts = partsOf(known);
  for (const piece of partsOf(added)) {
    const at = parts.length - 1;
    const both = at < since ? undefined : joinedPart(asObject(parts[at]), asObject(piece));
    if (both) parts[at] = both;
    else parts.push(piece);
  }
  return parts;
}

/** Itself, if it is a list. */
function partsOf(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  return (content ?? '') === '' ? [] : [{ type: 'text', text: content }];
}

/** Undefined where a piece begins another part. */
function joinedPart(last: JsonObject, { type, ...piece }: JsonObject): JsonObject | undefined {
  if (last.type !== type || [last, ...asObjects(last.summary)].some(({ signature }) => signature))
    return undefined;
  const { text } = last;
  if (INNER_TEXTS.has(type) && typeof text === 'string' && typeof piece.text === 'string')
    return { ...last, ...piece, text: text + piece.text };
  const list = type === 'reasoning' ? 'summary' : 'thinking';
  const [known, added] = [last[list], piece[list]];
  if (!isThinking({ type }) || !Array.isArray(known) || !Array.isArray(added)) return undefined;
  return { ...last, ...piece, [list]: addedParts([...known], added) };
}

/** The block that a piece continues; -1 if it begins one. */
function placeOf(blocks: readonly unknown[], piece: JsonObject, since: number): number {
  const { type, index } = piece;
  if (typeof index === 'number') {
    const at = blocks.findLastIndex((block) => asObject(block).index === index);
    const known = asObject(blocks[at]);
    return at >= since && isSame(known.type, type) && isSame(known.id, piece.id) ? at : -1;
  }
  const at = blocks.length - 1;
  const last = asObject(blocks[at]);
  const isOpen = at >= since && last.type === 'thinking' && !last.signature;
  return isOpen && type === last.type ? at : -1;
}

/** A piece need not repeat its type or id. */
function isSame(known: unknown, given: unknown): boolean {
  return (known ?? given) === (given ?? known);
}

function joined(block: JsonObject, piece: JsonObject): JsonObject {
  const both = { ...block };
  for (const [key, value] of Object.entries(piece)) {
    const known = both[key];
    if (value === null || value === '') both[key] ??= value;
    else if (TEXTS.has(key) && typeof known === 'string' && typeof value === 'string')
      both[key] = known + value;
    else both[key] = value;
  }
  return both;
}

/** The lists of thinking in a delta or a message, and where gateways repeat them. */
function mapThinking(
  fields: JsonObject,
  map: (list: readonly unknown[]) => readonly unknown[] | undefined,
): JsonObject {
  if (!Object.keys(fields).some((key) => isThinkingList(key) || key === PROVIDER_FIELDS)) return fields;
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => {
      if (isThinkingList(key) && Array.isArray(value)) {
        const list = map(value);
        return list ? [[key, list]] : [];
      }
      const { [THINKING_BLOCKS]: inside, ...others } = asObject(value);
      if (key !== PROVIDER_FIELDS || !Array.isArray(inside)) return [[key, value]];
      const list = map(inside);
      return [[key, list ? { ...others, [THINKING_BLOCKS]: list } : others]];
    }),
  );
}

/** Fields without blocks of thinking and signatures. Its texts stay, for the caller to show. */
export function withoutBlocks({ ...fields }: JsonObject): JsonObject {
  for (const sealed of SEALED_TEXTS) delete fields[sealed];
  const rest = mapThinking(fields, () => undefined);
  if (!Array.isArray(rest.content)) return rest;
  return { ...rest, content: rest.content.filter((part) => !isThinking(part)) };
}

/**
 * The thinking of all answers that are joined into one. Each of them counts its blocks from 0, and
 * clients join blocks with the same index, so indices go on after the earlier answers.
 */
export class ThinkingIndices {
  private first = 0;
  private next = 0;

  begin(): void {
    this.first = this.next;
  }

  /** A delta or a message with the caller's indices. */
  shifted(fields: JsonObject): JsonObject {
    return mapThinking(fields, (list) =>
      list.map((piece) => {
        const { index } = asObject(piece);
        if (typeof index !== 'number') return piece;
        this.next = Math.max(this.next, this.first + index + 1);
        return this.first === 0 ? piece : { ...asObject(piece), index: this.first + index };
      }),
    );
  }
}
