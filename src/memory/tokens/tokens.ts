/**
 * Counts tokens, without counting twice.
 *
 * A count never exceeds the number of UTF-8 bytes, since each token has at least one, times the
 * measure's factor if that is over 1. So a body whose bytes fit the budget is not counted. Messages
 * repeat from request to request, so counts are cached by digest.
 *
 * `tools/token-tables.ts` writes the ranks of gpt-tokenizer into `generated/` as two tables of
 * bytes (`npm run prepare`, part of `npm ci`). `ranks.ts` makes a hash table over a table's bytes,
 * `pieces.ts` splits a text, and `encoding.ts` merges a piece that is no token. Counts are the same
 * as gpt-tokenizer's, which property tests hold. One differs: where a byte order mark has to be
 * merged, tokens are found as tiktoken finds them.
 */
import { cutAfter, isAlphanumeric } from '../../lib/characters.ts';
import { type Cache, lruOf } from '../../lib/lru.ts';
import type { Message, MessageTokens, Weight } from '../conversation/message.ts';
import { partsOf, type TokenMeasure } from '../models/facts.ts';
import { loadEncoding } from './encoding.ts';

/**
 * Tokens around each message, including its role (OpenAI cookbook, "How to count tokens with
 * tiktoken", §6).
 */
export const MESSAGE_OVERHEAD = 4;
/** Tokens that prime the answer (same source). */
export const ANSWER_OVERHEAD = 3;
/**
 * Tokens around each tool's definition, and once for all of them (same source, §7: func_init,
 * func_end).
 */
const TOOL_OVERHEAD = 7;
const TOOLS_OVERHEAD = 12;

/** Counts the tokens of a text without long runs. The count may have a fraction. */
export type Tokenize = (text: string) => number;

/** The caches of a counter. */
interface RememberedCounts {
  /** By the digest of the message. */
  readonly messages: Cache<MessageTokens>;
  /** Short texts by the text itself, and other counts by their key. */
  readonly texts: Cache<number>;
}

export interface TokenCounter {
  /** The same for counters that count alike. */
  readonly tokenizer: unknown;
  /** Tokens of a text. */
  text(text: string): number;
  /** Tokens of a text that recurs, such as a marker or a summary; cached by the text itself. */
  marker(text: string): number;
  /** Tokens of a weight, cached under `key`, which must identify it. */
  weight(key: string, weight: () => Weight): number;
  /** Tokens of a message's content alone. */
  content(message: Message): number;
  /** Tokens of a whole message with its overhead. */
  message(message: Message): number;
}

const loaded = new Map<TokenMeasure, Promise<Tokenize>>();

/**
 * Loads the table of a measure's encoding. It is large (1 MB compressed), so it is loaded only when
 * needed. Equal measures get the same function.
 */
export function loadTokenize(measure: TokenMeasure): Promise<Tokenize> {
  const known = loaded.get(measure) ?? loadMeasure(measure);
  loaded.set(measure, known);
  return known;
}

async function loadMeasure(measure: TokenMeasure): Promise<Tokenize> {
  const { encoding, factor } = partsOf(measure);
  if (encoding !== measure) {
    const tokenize = await loadTokenize(encoding);
    return (text) => tokenize(text) * factor;
  }
  if (encoding === 'chars/4') return (text) => text.length / CHARACTERS_PER_TOKEN;
  const table = await loadEncoding(encoding);
  return (text) => table.count(text);
}

/** Of the measure `chars/4`. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * A counter for one owner's texts.
 *
 * @param remembered caches of this owner and measure; by default, new ones
 */
export function createTokenCounter(
  tokenize: Tokenize,
  remembered: RememberedCounts = ownCounts(),
): TokenCounter {
  const { messages, texts } = remembered;
  const text = (text: string): number => countInBlocks(text, tokenize);
  const sum = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + text(part), 0);
  const known = (message: Message): MessageTokens => {
    const { facts } = message;
    if (facts.counted?.tokenizer !== tokenize)
      facts.counted = { tokenizer: tokenize, tokens: messages.remember(message.digest, () => ({})) };
    return facts.counted.tokens;
  };
  const content = (message: Message): number => {
    const tokens = known(message);
    if (tokens.content === undefined) {
      const { texts, flat } = message.content().weight;
      tokens.content = flat + sum(texts);
    }
    return tokens.content;
  };
  return {
    tokenizer: tokenize,
    text,
    content,
    weight: (key, weight) =>
      texts.remember(`${WEIGHED}${key}`, () => {
        const weighed = weight();
        return weighed.flat + sum(weighed.texts);
      }),
    marker: (marker) => texts.remember(marker, () => text(marker)),
    message: (message) => {
      const tokens = known(message);
      tokens.whole ??= MESSAGE_OVERHEAD + content(message) + sum(message.otherTexts());
      return tokens.whole;
    },
  };
}

/** Prefix of keys that are no texts; no short text begins with it. */
const WEIGHED = '\0';

/** In bytes. It counts the material of one text. */
const OWN_COUNTS = 1024 * 1024;

function ownCounts(): RememberedCounts {
  return {
    messages: lruOf({ bytes: OWN_COUNTS, sizeOf: () => 32 }),
    texts: lruOf({ bytes: OWN_COUNTS }),
  };
}

function countInBlocks(text: string, tokenize: (block: string) => number): number {
  if (text.length <= LONGEST_RUN) return Math.ceil(tokenize(text));
  let tokens = 0;
  for (const block of blocksOf(text)) tokens += countInRuns(block, tokenize);
  return Math.ceil(tokens);
}

/**
 * Counts a text with its long runs in pieces. A cut adds a few tokens, and never hides any.
 *
 * @param text short enough for the regular expression's stack
 */
function countInRuns(text: string, tokenize: (text: string) => number): number {
  if (text.length <= LONGEST_RUN) return tokenize(text);
  let tokens = 0;
  let position = 0;
  for (const run of longRunsIn(text)) {
    if (run.index > position) tokens += tokenize(text.slice(position, run.index));
    const end = run.index + run[0].length;
    // Don't split a surrogate pair, since each half would be counted as a replacement character.
    for (position = run.index; position < end; ) {
      const cut = Math.min(cutAfter(text, position + LONGEST_RUN), end);
      tokens += tokenize(text.slice(position, cut));
      position = cut;
    }
  }
  return position < text.length ? tokens + tokenize(text.slice(position)) : tokens;
}

export interface Tools {
  readonly count: number;
  /** Length of their JSON in bytes. */
  readonly bytes: number;
  /** Hash of the definitions. */
  readonly digest: string;
  text(): string;
}

/**
 * Tokens of the tools' definitions. Providers render schemas more tersely than JSON, so this errs
 * on the safe side.
 */
export function toolTokens(tools: Tools | undefined, counter: TokenCounter): number {
  if (!tools || tools.count === 0) return 0;
  const text = counter.weight(`tools:${tools.digest}`, () => ({ texts: [tools.text()], flat: 0 }));
  return text + tools.count * TOOL_OVERHEAD + TOOLS_OVERHEAD;
}

/** In characters. */
const BLOCK_LENGTH = 4_096;

/**
 * The blocks of a text in order. They bound the memory of a count, and the length of a regular
 * expression's match. A block ends where no token can cross, if there is such a place in its second
 * half. Then its tokens are the whole text's.
 */
function* blocksOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = blockEnd(text, start);
    yield text.slice(start, end);
    start = end;
  }
}

function blockEnd(text: string, start: number): number {
  const longest = start + BLOCK_LENGTH;
  if (longest >= text.length) return text.length;
  for (let end = longest; end > start + BLOCK_LENGTH / 2; end--) if (isBreak(text, end)) return end;
  // Encoded data and scripts without spaces: a cut costs a token or two anywhere.
  return cutAfter(text, longest);
}

const LINE_BREAK = 10;
const SPACE = 32;
const APOSTROPHE = 39;
const SLASH = 47;

/**
 * Whether both encodings start a new token here: at a single space, which belongs to the word after
 * it; after the last line break before a word; or at a punctuation mark after a word or number.
 * Line breaks belong to the text before them, and slashes to the line break.
 */
function isBreak(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const code = text.charCodeAt(at);
  if (before === LINE_BREAK) return code > SPACE && code !== SLASH;
  if (code === SPACE) return before > SPACE && text.charCodeAt(at + 1) > SPACE;
  // An apostrophe may belong to the word: "don't".
  return isAlphanumeric(before) && code > SPACE && code < 127 && code !== APOSTROPHE && !isAlphanumeric(code);
}

/** Longer runs are found, in characters. Words of natural languages are shorter. */
export const LONGEST_RUN = 128;

/** The classes whose runs the tokenizer's expressions match as one piece. */
const CLASSES = ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]', '[\\r\\n/]'];

const LONG_RUN = new RegExp(CLASSES.map((run) => `${run}{${LONGEST_RUN + 1},}`).join('|'), 'gu');

/** For each code unit of ASCII, one bit for each of its classes. */
const CLASSES_OF = Uint8Array.from({ length: 128 }, (_, code) =>
  CLASSES.reduce(
    (bits, run, index) => bits | (new RegExp(run, 'u').test(String.fromCharCode(code)) ? 1 << index : 0),
    0,
  ),
);
const ALL_CLASSES = 2 ** CLASSES.length - 1;

/**
 * The runs of a text without a break, such as a line of dashes or a long word, that are longer than
 * `LONGEST_RUN`, in order. The tokenizer is quadratic in their length.
 */
export function longRunsIn(text: string): Iterable<RegExpExecArray> {
  return mayHoldLongRun(text) ? text.matchAll(LONG_RUN) : [];
}

/**
 * Whether a text may hold a long run. False is certain, true is not. A long run covers one of the
 * places that are as far apart as it is at least long, so only the runs around these are looked at.
 */
function mayHoldLongRun(text: string): boolean {
  for (let place = LONGEST_RUN; place < text.length; place += LONGEST_RUN)
    for (let classes = classesOf(text, place); classes !== 0; classes &= classes - 1)
      if (isLongAround(text, place, classes & -classes)) return true;
  return false;
}

/** @param bit of a class that the character at the place belongs to */
function isLongAround(text: string, place: number, bit: number): boolean {
  let first = place;
  let end = place + 1;
  while (first > 0 && (classesOf(text, first - 1) & bit) !== 0) first--;
  while (end < text.length && end - first <= LONGEST_RUN && (classesOf(text, end) & bit) !== 0) end++;
  return end - first > LONGEST_RUN;
}

/** Beyond ASCII, a character may belong to any class. */
function classesOf(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < CLASSES_OF.length ? (CLASSES_OF[code] ?? 0) : ALL_CLASSES;
}
