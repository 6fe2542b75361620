/**
 * Counting tokens, without paying for it twice.
 *
 * A count never exceeds the number of UTF-8 bytes (each token stands for at least one), so a body whose bytes fit needs
 * no count at all; and messages repeat from request to request, so counts are remembered by digest.
 */
import { cutAfter } from './characters.ts';
import { Lru } from './lru.ts';
import type { Message, Weight } from './message.ts';
import type { EncodingName } from './models.ts';

/** Tokens around each message, its role's one included (OpenAI cookbook, "How to count tokens with tiktoken", §6). */
export const MESSAGE_OVERHEAD = 4;
/** Tokens that prime the answer (same source). */
export const ANSWER_OVERHEAD = 3;
/** Tokens around each tool's definition, and once for all of them (same source, §7: func_init, func_end). */
const TOOL_OVERHEAD = 7;
const TOOLS_OVERHEAD = 12;

/**
 * A run without a break costs the tokenizer the square of its length, so runs are cut to this many characters. Words of
 * natural languages are shorter; what is cut counts a few tokens too many, never too few.
 */
const LONGEST_RUN = 128;
const LONG_RUN = new RegExp(
  ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]', '[\\r\\n/]']
    .map((run) => `${run}{${LONGEST_RUN + 1},}`)
    .join('|'),
  'gu',
);

/**
 * The tokenizer remembers words that it has merged. With its own limit of 100 000 it spends more on moving hot words to the end of
 * its map than on merging (measured: 1 MB of one odd word, 9 s with a full cache, 0.3 s with this one).
 */
const MERGES_KEPT = 2_000;

/** Counts the tokens of a text that holds no long run. */
export type Tokenize = (text: string) => number;

/** How many counts of messages, and of short texts, are kept: a few megabytes of an isolate's 128. */
const REMEMBERED = 50_000;
const REMEMBERED_MARKERS = 10_000;

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

/** Loads the tables of an encoding. They are large (1 MB compressed), so nothing loads them before a count is needed. */
export async function loadTokenize(encoding: EncodingName): Promise<Tokenize> {
  const { countTokens, setMergeCacheSize } =
    encoding === 'cl100k_base'
      ? await import('gpt-tokenizer/encoding/cl100k_base')
      : await import('gpt-tokenizer/encoding/o200k_base');
  setMergeCacheSize(MERGES_KEPT);
  // Text that spells a special token ("<|endoftext|>") is text: the API never lets a caller send the token itself.
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, asText);
}

/** A counter with its own memory; make one per isolate and encoding. */
export function createTokenCounter(tokenize: Tokenize): TokenCounter {
  const counts = new Lru<number>(REMEMBERED);
  const markers = new Lru<number>(REMEMBERED_MARKERS);
  const text = (text: string): number => countInRuns(text, tokenize);
  const weight = (key: string, weight: () => Weight): number =>
    counts.remember(key, () => {
      const { texts, flat } = weight();
      return texts.reduce((sum, part) => sum + text(part), flat);
    });
  const content = (message: Message): number =>
    weight(`${message.digest}:content`, () => message.content().weight);
  return {
    text,
    weight,
    marker: (marker) => markers.remember(marker, () => text(marker)),
    content,
    message: (message) =>
      counts.remember(message.digest, () => {
        const beside = message.beside().reduce((sum, part) => sum + text(part), 0);
        return MESSAGE_OVERHEAD + content(message) + beside;
      }),
  };
}

function countInRuns(text: string, tokenize: Tokenize): number {
  if (text === '') return 0;
  if (text.length <= LONGEST_RUN) return tokenize(text);
  let tokens = 0;
  let position = 0;
  for (const run of text.matchAll(LONG_RUN)) {
    if (run.index > position) tokens += tokenize(text.slice(position, run.index));
    const end = run.index + run[0].length;
    // A cut inside a surrogate pair would count two replacement characters: the pair stays with its first half.
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

/** Tokens of the tools' definitions. Providers render schemas more tersely than JSON, so this errs on the safe side. */
export function toolTokens(tools: Tools | undefined, counter: TokenCounter): number {
  if (!tools || tools.count === 0) return 0;
  const text = counter.weight(`tools:${tools.digest}`, () => ({ texts: [tools.text()], flat: 0 }));
  return text + tools.count * TOOL_OVERHEAD + TOOLS_OVERHEAD;
}
