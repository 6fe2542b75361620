/**
 * Previews: what a placeholder says, beyond its line, of the output that it stands for. Its shape, and the literals that no
 * earlier message holds. A function of the message and of what stands before it, so that it never changes later.
 */
import { byDistinction, literalsOf } from './literals.ts';
import { Lru } from './lru.ts';
import type { Message } from './message.ts';
import { type Digest, parseObject, REF_PATTERN } from './placeholder.ts';
import type { TokenCounter } from './tokens.ts';

/** JSON larger than this is described by its lines alone: parsing it would cost more than its keys are worth. */
const LARGEST_JSON = 1_000_000;
const MOST_KEYS = 12;

/** Tokens of the shortest literal with its comma. */
const SMALLEST_LITERAL = 2;
const LONGEST_KEY = 32;

/** Writes previews for the messages of one array. */
export interface PreviewWriter {
  /**
   * @param index the message that holds the output
   * @param text the output
   * @param most tokens that the preview may have
   * @returns lines, without a line break around them; empty when nothing fits
   */
  write(index: number, text: () => string, most: number): string;
}

/** Previews that were written before, by message, what stands before it, and size. */
export type WrittenPreviews = Lru<string>;

const REMEMBERED = 10_000;

export function createWrittenPreviews(): WrittenPreviews {
  return new Lru<string>(REMEMBERED);
}

export function createPreviewWriter(
  messages: readonly Message[],
  { counter, digest, previews }: { counter: TokenCounter; digest: Digest; previews: WrittenPreviews },
): PreviewWriter {
  /** For each literal, the first message that holds it. Filled up to the message that is asked for. */
  const origins = new Map<string, number>();
  let read = 0;

  const readUpTo = (index: number): void => {
    for (; read < index; read++) {
      for (const text of textsOf(messages[read]))
        for (const literal of literalsOf(text)) if (!origins.has(literal)) origins.set(literal, read);
    }
  };

  /** Names the messages up to each index, itself included. */
  const chain: string[] = [];
  const chainAt = (index: number): string => {
    for (let next = chain.length; next <= index; next++)
      chain.push(digest(`${chain[next - 1] ?? ''} ${messages[next]?.digest}`));
    return chain[index] ?? '';
  };

  const write = (index: number, text: string, most: number): string => {
    const shape = `shape: ${shapeOf(text)}`;
    let left = most - counter.text(shape);
    if (left < 0) return '';
    readUpTo(index);
    // A ref in a tool's output is a claim: a view names only refs that it can keep.
    const fresh = literalsOf(text).filter(
      (literal) => (origins.get(literal) ?? index) >= index && !REF_PATTERN.test(literal),
    );
    const held: string[] = [];
    left -= counter.marker('\nheld: ');
    for (const literal of byDistinction(fresh)) {
      if (left < SMALLEST_LITERAL) break;
      const cost = counter.text(`${literal}, `);
      if (cost > left) continue;
      held.push(literal);
      left -= cost;
    }
    return held.length === 0 ? shape : `${shape}\nheld: ${held.join(', ')}`;
  };

  return {
    write: (index, text, most) =>
      previews.remember(`${chainAt(index)}:${most}`, () => write(index, text(), most)),
  };
}

function textsOf(message: Message | undefined): readonly string[] {
  return message ? [...message.content().weight.texts, ...message.beside()] : [];
}

/** One phrase: the keys of a JSON object, the length of a JSON array, and the number of lines. */
function shapeOf(text: string): string {
  const lines = countLines(text);
  const size = `${lines} ${lines === 1 ? 'line' : 'lines'}`;
  const trimmed = text.length <= LARGEST_JSON ? text.trim() : '';
  if (trimmed.startsWith('{')) {
    const keys = Object.keys(parseObject(trimmed) ?? {});
    if (keys.length > 0) return `JSON object with ${keysOf(keys)}, ${size}`;
  }
  if (trimmed.startsWith('[')) {
    const items = parseArray(trimmed);
    const first = items?.[0];
    if (items) {
      const of =
        typeof first === 'object' && first !== null && !Array.isArray(first) ? Object.keys(first) : [];
      const with_ = of.length > 0 ? ` of objects with ${keysOf(of)}` : '';
      return `JSON array, ${items.length} ${items.length === 1 ? 'item' : 'items'}${with_}, ${size}`;
    }
  }
  return size;
}

function keysOf(keys: readonly string[]): string {
  const named = keys
    .slice(0, MOST_KEYS)
    .map((key) => [...key.replace(/\s+/g, ' ')].slice(0, LONGEST_KEY).join(''));
  return `keys ${named.join(' ')}${keys.length > MOST_KEYS ? ' …' : ''}`;
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
