/**
 * Previews: what a placeholder says, beyond its line, of the output that it stands for. Its shape,
 * and the literals that no earlier message holds, most distinctive for their length first. A
 * function of the message and of what stands before it, so that it never changes later.
 *
 *     JSON object {id items}, 82 lines
 *     held: ORD-4711 src/pay/charge.ts $1,204.50
 *
 * No literal holds white space, so that a space parts them: a comma would cost one token for each.
 */
import { copyOf, textBytes } from '../../lib/copy.ts';
import { elementAt } from '../../lib/elements.ts';
import { type Bound, type Cache, Lru } from '../../lib/lru.ts';
import type { Message } from '../conversation/message.ts';
import { mostFitting } from '../tokens/fitting.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { byDistinction, type Literal, literalsIn } from './literals.ts';
import { type Digest, parseObject } from './placeholder.ts';

/** What parts the literals from the shape. */
const HELD = '\nheld:';

/** Tokens of the shortest literal with its space. */
const SMALLEST_LITERAL = 2;

/**
 * So many literals are counted at least; for longer previews as many as they have tokens, which is
 * more than they can name.
 */
const LEAST_COUNTED = 200;

/**
 * The share of a preview that the keys of JSON may have before its literals; what these leave, they
 * have too.
 */
const KEYS_SHARE = 1 / 8;
const MOST_KEYS = 12;
const LONGEST_KEY = 32;

/**
 * Of so many literals of an array it is known where they stand first. Beyond that a preview may
 * name one that an earlier message holds: a few tokens too many, where remembering more would take
 * the memory of other requests.
 */
const MOST_ORIGINS = 150_000;

/**
 * JSON larger than this is described by its lines alone: parsing it would cost more than its keys
 * are worth.
 */
const LARGEST_JSON = 1_000_000;

/**
 * A ref, also within a URL or a key. In a tool's output it is a claim: a view names only refs that
 * it can keep.
 */
const REF = /ref_[a-z2-7]{26}/;

/** A part of an output: its characters from `from` up to and without `to`. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Writes previews for the messages of one array. */
export interface PreviewWriter {
  /**
   * @param index the message that holds the output
   * @param text the output, whole: always the same one for a message and part
   * @param most tokens that the preview may have, with the line break before it: a placeholder that
   *   comes back is recognised by what it has beyond its line
   * @param removed the part that leaves the view, where the rest of the output stays: literals that
   *   stand in the rest are left out, and one that the cut would go through is named whole; the
   *   shape is still that of the whole output
   * @returns lines, without a line break around them; empty when nothing fits
   */
  write(index: number, text: () => string, most: number, removed?: Part): string;
}

/** Previews that were written before, by message, what stands before it, size and part. */
export type WrittenPreviews = Cache<string>;

/** Of about 10 000 short ones. */
export const PREVIEWS: Bound<string> = { bytes: 6 * 1024 * 1024, sizeOf: textBytes };

export function createWrittenPreviews(): WrittenPreviews {
  return new Lru(PREVIEWS);
}

export function createPreviewWriter(
  messages: readonly Message[],
  { counter, digest, previews }: { counter: TokenCounter; digest: Digest; previews: WrittenPreviews },
): PreviewWriter {
  /**
   * For each literal, the first message that holds it. Filled up to the message that is asked for.
   */
  const origins = new Map<string, number>();
  let read = 0;

  const readUpTo = (index: number): void => {
    for (; read < index && origins.size < MOST_ORIGINS; read++) {
      for (const text of textsOf(messages[read]))
        for (const literal of literalsIn(text)) {
          if (origins.size >= MOST_ORIGINS) return;
          if (!origins.has(literal.text)) origins.set(copyOf(literal.text), read);
        }
    }
  };

  /** Names the messages up to each index, itself included. */
  const chain: string[] = [];
  const chainAt = (index: number): string => {
    for (let next = chain.length; next <= index; next++)
      chain.push(digest(`${chain[next - 1] ?? ''} ${elementAt(messages, next).digest}`));
    return elementAt(chain, index);
  };

  /** The literals of an output that stand nowhere before it, nor in what stays of it. */
  const freshIn = function* (index: number, text: string, removed: Part | undefined): Generator<Literal> {
    readUpTo(index);
    const rest = removed ? [text.slice(0, removed.from), text.slice(removed.to)] : [];
    // Head and tail of an offloaded output are a few hundred tokens.
    const kept = new Set(rest.flatMap((part) => [...literalsIn(part)].map((literal) => literal.text)));
    for (const literal of literalsIn(text)) {
      const origin = origins.get(literal.text) ?? index;
      if (origin >= index && !kept.has(literal.text) && !REF.test(literal.text)) yield literal;
    }
  };

  const write = (index: number, text: string, most: number, removed: Part | undefined): string => {
    const shapes = shapesOf(text);
    /** The fullest shape of so many tokens; the barest when none is as short. */
    const shapeWithin = (tokens: number): string =>
      shapes.find((shape) => counter.marker(shape) <= tokens) ?? shapes.at(-1) ?? '';
    const bare = counter.marker(shapes.at(-1) ?? '');
    const shape = shapeWithin(bare + most * KEYS_SHARE);
    const left = most - counter.marker('\n') - counter.marker(shape);
    if (left < 0) return '';

    const tokensOf = (literal: string): number => counter.marker(` ${literal}`);
    const counted = Math.max(LEAST_COUNTED, Math.floor(most));
    const held: string[] = [];
    let room = left - counter.marker(HELD);
    for (const literal of byDistinction(freshIn(index, text, removed), tokensOf, counted)) {
      if (room < SMALLEST_LITERAL) break;
      const tokens = tokensOf(literal.text);
      if (tokens > room) continue;
      held.push(literal.text);
      room -= tokens;
    }
    const unused = held.length === 0 ? left : room;
    return within([shapeWithin(counter.marker(shape) + unused), shape], held, most);
  };

  /**
   * Tokens of parts need not add up to those of the whole: what is too much goes, the least
   * distinctive first.
   */
  const within = (shapes: readonly string[], held: readonly string[], most: number): string => {
    const textOf = (named: number): string | undefined =>
      shapes
        .map((shape) => (named === 0 ? shape : `${shape}${HELD} ${held.slice(0, named).join(' ')}`))
        .find((text) => counter.text(`\n${text}`) <= most);
    return textOf(mostFitting(held.length, (named) => textOf(named) !== undefined)) ?? '';
  };

  return {
    write: (index, text, most, removed) => {
      const part = removed ? `${removed.from}-${removed.to}` : 'all';
      return previews.remember(`${chainAt(index)}:${most}:${part}`, () =>
        copyOf(write(index, text(), most, removed)),
      );
    },
  };
}

function textsOf(message: Message | undefined): readonly string[] {
  return message ? [...message.content().weight.texts, ...message.beside()] : [];
}

/**
 * The shape of an output, fullest first: the keys of a JSON object, or the length of a JSON array
 * and the keys of its first item; and the number of lines. Each has a key less than the one before;
 * the last has none.
 */
function shapesOf(text: string): readonly string[] {
  const lines = countLines(text);
  const size = `${lines} ${lines === 1 ? 'line' : 'lines'}`;
  const trimmed = text.length <= LARGEST_JSON ? text.trim() : '';
  if (trimmed.startsWith('{')) {
    const keys = Object.keys(parseObject(trimmed) ?? {});
    if (keys.length > 0) return withKeys('JSON object', keys, size);
  }
  if (trimmed.startsWith('[')) {
    const items = parseArray(trimmed);
    const first = items?.[0];
    if (items) {
      const keys =
        typeof first === 'object' && first !== null && !Array.isArray(first) ? Object.keys(first) : [];
      return withKeys(`JSON array, ${items.length} ${items.length === 1 ? 'item' : 'items'}`, keys, size);
    }
  }
  return [size];
}

function withKeys(what: string, keys: readonly string[], size: string): string[] {
  const names = keys
    .slice(0, MOST_KEYS)
    .filter((key) => !REF.test(key))
    .map((key) => [...key.replace(/\s+/g, ' ')].slice(0, LONGEST_KEY).join(''));
  const shapes: string[] = [];
  for (let named = names.length; named > 0; named--) {
    const more = keys.length > named ? ' …' : '';
    shapes.push(`${what} {${names.slice(0, named).join(' ')}${more}}, ${size}`);
  }
  return [...shapes, `${what}, ${size}`];
}

function parseArray(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return text.endsWith('\n') && lines > 1 ? lines - 1 : lines;
}
