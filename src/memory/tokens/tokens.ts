/**
 * Counting tokens, without paying for it twice.
 *
 * A count never exceeds the number of UTF-8 bytes (each token stands for at least one), so a body
 * whose bytes fit needs no count at all; and messages repeat from request to request, so counts are
 * remembered by digest.
 */
import { cutAfter } from '../../lib/characters.ts';
import { type Bound, type Cache, Lru } from '../../lib/lru.ts';
import type { Message, Weight } from '../conversation/message.ts';
import type { EncodingName } from '../strategy/models.ts';
import { blocksOf } from './text-blocks.ts';

/**
 * Tokens around each message, its role's one included (OpenAI cookbook, "How to count tokens with
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

/**
 * A run without a break costs the tokenizer the square of its length, so runs are cut to this many
 * characters. Words of natural languages are shorter; what is cut counts a few tokens too many,
 * never too few.
 */
const LONGEST_RUN = 128;
const LONG_RUN = new RegExp(
  ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]', '[\\r\\n/]']
    .map((run) => `${run}{${LONGEST_RUN + 1},}`)
    .join('|'),
  'gu',
);

/**
 * The tokenizer remembers words that it has merged. With its own limit of 100 000 it spends more on
 * moving hot words to the end of its map than on merging (measured: 1 MB of one odd word, 9 s with
 * a full cache, 0.3 s with this one).
 */
const MERGES_KEPT = 2_000;

/**
 * So many characters are handed to the tokenizer before it forgets: each word that it remembers
 * keeps a block of them alive.
 */
const REMEMBERED_CHARACTERS = 1_000_000;

/**
 * Counts the tokens of a text that holds no long run.
 *
 * @param owner whose text it is: words of another owner's are forgotten first
 */
export type Tokenize = (text: string, owner?: unknown) => number;

/** What a counter remembers of one message, by the message's digest. */
export interface MessageTokens {
  content?: number;
  whole?: number;
}

/** The counts that a counter remembers. */
export interface RememberedCounts {
  readonly messages: Cache<MessageTokens>;
  /** Of short texts, by the text; and of what has a key of its own. */
  readonly texts: Cache<number>;
}

/** In bytes: of the counts of about 40 000 messages, and of about 10 000 short texts. */
export const MESSAGE_COUNTS: Bound<MessageTokens> = { bytes: 8 * 1024 * 1024, sizeOf: () => 32 };
export const TEXT_COUNTS: Bound<number> = { bytes: 2 * 1024 * 1024 };

export interface TokenCounter {
  /** Tokens of a text. */
  text(text: string): number;
  /** Tokens of a short text that recurs, such as a marker: remembered by the text itself. */
  marker(text: string): number;
  /** Tokens of what the model reads, remembered under `key`, which must name it. */
  weight(key: string, weight: () => Weight): number;
  /** Tokens of a message's content alone. */
  content(message: Message): number;
  /** Tokens of a whole message with its overhead. */
  message(message: Message): number;
}

const loaded = new Map<EncodingName, Promise<Tokenize>>();

/**
 * Loads the tables of an encoding. They are large (1 MB compressed), so nothing loads them before a
 * count is needed.
 */
export function loadTokenize(encoding: EncodingName): Promise<Tokenize> {
  const known = loaded.get(encoding) ?? load(encoding);
  loaded.set(encoding, known);
  return known;
}

async function load(encoding: EncodingName): Promise<Tokenize> {
  const { countTokens, setMergeCacheSize, clearMergeCache } =
    encoding === 'cl100k_base'
      ? await import('gpt-tokenizer/encoding/cl100k_base')
      : await import('gpt-tokenizer/encoding/o200k_base');
  setMergeCacheSize(MERGES_KEPT);
  // Text that spells a special token ("<|endoftext|>") is text: the API never lets a caller send
  // the token itself.
  const asText = { disallowedSpecial: new Set<string>() };
  let last: unknown;
  let characters = 0;
  return (text, owner) => {
    if (owner !== last || characters > REMEMBERED_CHARACTERS) {
      clearMergeCache();
      last = owner;
      characters = 0;
    }
    characters += text.length;
    return countTokens(text, asText);
  };
}

/**
 * A counter of one owner's texts.
 *
 * @param remembered of this owner and encoding alone; by default the counter has a memory of its
 *   own
 * @param owner the same value for all counters of an owner
 */
export function createTokenCounter(
  tokenize: Tokenize,
  remembered: RememberedCounts = ownCounts(),
  owner: unknown = remembered,
): TokenCounter {
  const { messages, texts } = remembered;
  const text = (text: string): number => countInBlocks(text, (block) => tokenize(block, owner));
  const sum = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + text(part), 0);
  const known = (message: Message): MessageTokens => messages.remember(message.digest, () => ({}));
  const content = (message: Message): number => {
    const tokens = known(message);
    if (tokens.content === undefined) {
      const { texts, flat } = message.content().weight;
      tokens.content = flat + sum(texts);
    }
    return tokens.content;
  };
  return {
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
      tokens.whole ??= MESSAGE_OVERHEAD + content(message) + sum(message.beside());
      return tokens.whole;
    },
  };
}

/** No short text begins like this, so none is taken for a key. */
const WEIGHED = '\0';

function ownCounts(): RememberedCounts {
  return { messages: new Lru(MESSAGE_COUNTS), texts: new Lru(TEXT_COUNTS) };
}

function countInBlocks(text: string, tokenize: (block: string) => number): number {
  let tokens = 0;
  for (const block of blocksOf(text)) tokens += countInRuns(block, tokenize);
  return tokens;
}

/** @param text so short that no run in it exhausts the stack of the expression */
function countInRuns(text: string, tokenize: (text: string) => number): number {
  if (text.length <= LONGEST_RUN) return tokenize(text);
  let tokens = 0;
  let position = 0;
  for (const run of text.matchAll(LONG_RUN)) {
    if (run.index > position) tokens += tokenize(text.slice(position, run.index));
    const end = run.index + run[0].length;
    // A cut inside a surrogate pair would count two replacement characters: the pair stays with its
    // first half.
    for (position = run.index; position < end; ) {
      const cut = Math.min(cutAfter(text, position + LONGEST_RUN), end);
      tokens += tokenize(text.slice(position, cut));
      position = cut;
    }
  }
  return position < text.length ? tokens + tokenize(text.slice(position)) : tokens;
}

/** The tools of a request, as far as they are counted. */
export interface Tools {
  readonly count: number;
  /** Length of their JSON in bytes. */
  readonly bytes: number;
  /** Names exactly these definitions. */
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
