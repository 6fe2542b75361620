/**
 * Previews: what a placeholder says about an output, below its marker. First the output's shape,
 * then the literals that no earlier message holds, the most distinctive for their length first. A
 * preview depends only on the message and those before it, so it never changes.
 *
 *     JSON object {id items}, 82 lines
 *     held: ORD-4711 src/pay/charge.ts $1,204.50
 *
 * Literals have no white space and are separated by spaces, since a comma would cost a token each.
 */
import { copyOf } from '../../lib/copy.ts';
import { isObject, parseJson, parseObject } from '../../lib/json.ts';
import type { Cache } from '../../lib/lru.ts';
import type { Message } from '../conversation/message.ts';
import type { Digest } from '../conversation/refs.ts';
import { mostFitting } from '../tokens/fitting.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { EarlierLiterals, type Part, REF } from './earlier-literals.ts';
import { byDistinction, type Take } from './literals.ts';

/** Separates the shape from the literals. */
const HELD = '\nheld:';

/** Tokens of the shortest literal with its space. */
const SMALLEST_LITERAL = 2;

/**
 * Literals that are counted at least. A longer preview counts as many as it could name if all were
 * of the smallest size.
 */
const LEAST_COUNTED = 48;

/** Share of a preview for JSON keys, before the literals. The keys also get what these leave. */
const KEYS_SHARE = 1 / 8;
const MOST_KEYS = 12;
const LONGEST_KEY = 32;

/**
 * In characters. Parsing larger JSON would cost more than its keys are worth; only its lines are
 * counted.
 */
const LARGEST_JSON = 1_000_000;

/**
 * Without a setting: a token of preview for this many of the output, within bounds. Fitted to the
 * values that recorded agents wrote again: a longer output holds more of them.
 */
const OUTPUT_PER_TOKEN = 30;
const LEAST_TOKENS = 24;
export const MOST_TOKENS = 256;

/** Tokens of an output's preview. @param setting the strategy's */
export function previewTokens(setting: number | undefined, output: number): number {
  return setting ?? Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, Math.floor(output / OUTPUT_PER_TOKEN)));
}

/** Writes previews for the messages of one array. */
export interface PreviewWriter {
  /**
   * @param index the message with the output
   * @param text the whole output: always the same for a message, output and part
   * @param most tokens of the preview, with the line break before it: a placeholder that comes back
   *   is recognized by the length of what follows its line
   * @param removed the part that is removed, if the rest stays: literals in the rest are left out,
   *   and a literal at the cut is named whole; the shape is the whole output's
   * @param hosted which of the message's hosted outputs it is
   * @returns lines, without a line break around them; empty if nothing fits
   */
  write(index: number, text: () => string, most: number, removed?: Part, hosted?: number): string;
}

/** Cached previews, by message, the messages before it, size and part. */
export type WrittenPreviews = Cache<string>;

export function createPreviewWriter(
  messages: readonly Message[],
  { counter, digest, previews }: { counter: TokenCounter; digest: Digest; previews: WrittenPreviews },
): PreviewWriter {
  const earlier = new EarlierLiterals(messages);

  const write = (index: number, text: string, most: number, removed: Part | undefined): string => {
    const shapes = shapesOf(text);
    /** The fullest shape within this many tokens, else the barest. */
    const shapeWithin = (tokens: number): string =>
      shapes.find((shape) => counter.marker(shape) <= tokens) ?? shapes.at(-1) ?? '';
    const bare = counter.marker(shapes.at(-1) ?? '');
    const shape = shapeWithin(bare + most * KEYS_SHARE);
    const left = most - counter.marker('\n') - counter.marker(shape);
    if (left < 0) return '';

    // Not remembered, since a literal is new in one message alone.
    const tokensOf = (literal: string): number => counter.text(` ${literal}`);
    const counted = Math.max(LEAST_COUNTED, Math.floor(most / SMALLEST_LITERAL));
    const chosen: string[] = [];
    let room = left - counter.marker(HELD);
    const fresh = (take: Take): void => earlier.eachFresh(index, text, removed, take);
    for (const { text: literal, tokens } of byDistinction(fresh, tokensOf, counted)) {
      if (room < SMALLEST_LITERAL) break;
      if (tokens > room) continue;
      chosen.push(literal);
      room -= tokens;
    }
    const unused = chosen.length === 0 ? left : room;
    return assembled([shapeWithin(counter.marker(shape) + unused), shape], chosen, most);
  };

  /**
   * Tokens of parts may not add up to the tokens of the whole, so the least distinctive literals
   * are dropped until the whole fits.
   */
  const assembled = (shapes: readonly string[], chosen: readonly string[], most: number): string => {
    const textOf = (named: number): string | undefined =>
      shapes
        .map((shape) => (named === 0 ? shape : `${shape}${HELD} ${chosen.slice(0, named).join(' ')}`))
        .find((text) => counter.text(`\n${text}`) <= most);
    return textOf(mostFitting(chosen.length, (named) => textOf(named) !== undefined)) ?? '';
  };

  return {
    write: (index, text, most, removed, hosted) => {
      const whole = hosted === undefined ? 'all' : `hosted ${hosted}`;
      const part = removed ? `${removed.from}-${removed.to}` : whole;
      return previews.remember(`${prefixName(messages, index, digest)}:${most}:${part}`, () =>
        copyOf(write(index, text(), most, removed)),
      );
    },
  };
}

/** The hash that identifies the messages up to and including one. */
function prefixName(messages: readonly Message[], index: number, digest: Digest): string {
  let known = index;
  while (known >= 0 && messages[known]?.facts.preview === undefined) known--;
  let name = messages[known]?.facts.preview ?? '';
  for (const message of messages.slice(known + 1, index + 1)) {
    name = digest(`${name} ${message.digest}`);
    message.facts.preview = name;
  }
  return name;
}

/**
 * The shape of an output, fullest first: the keys of a JSON object, or the length of a JSON array
 * and the keys of its first item; then the number of lines. Each variant has one key less than the
 * one before, the last one none.
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
    const items = parseJson(trimmed);
    if (Array.isArray(items)) {
      const keys = isObject(items[0]) ? Object.keys(items[0]) : [];
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

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return text.endsWith('\n') && lines > 1 ? lines - 1 : lines;
}
