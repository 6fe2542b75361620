/**
 * A prompt cache that is read and written at boundaries alone: the end of the leading developer
 * messages, the newest message ends, and marks
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */

/** See `PricedRequest`. */
interface CachedRequest {
  readonly overhead: number;
  readonly messages: readonly { readonly bytes: string; readonly tokens: number }[];
  readonly marks?: readonly number[] | undefined;
}

/** Message ends at which an entry is looked for: the newest and this many before it. */
const LOOKED_BACK = 20;

const IS_PREAMBLE = /^\{"role":"(?:system|developer)"/;

export class BoundaryCache {
  /**
   * The number of each sequence of messages, by the number of the one before and the last message.
   */
  private readonly sequences = new Map<string, number>();
  /** The number of each message, by its bytes. */
  private readonly messages = new Map<string, number>();
  /** The sequences with an entry. */
  private readonly entries = new Set<number>();

  /**
   * Reads and writes a request.
   *
   * @param least tokens of the shortest entry
   * @returns the tokens that are read
   */
  read({ overhead, messages, marks = [] }: CachedRequest, least: number): number {
    const preamble = messages.findIndex(({ bytes }) => !IS_PREAMBLE.test(bytes));
    const written = new Set([preamble - 1, messages.length - 1, ...marks]);
    let sequence = 0;
    let tokens = overhead;
    let read = 0;
    const added: number[] = [];
    for (const [at, message] of messages.entries()) {
      sequence = numberOf(this.sequences, `${sequence} ${numberOf(this.messages, message.bytes)}`);
      tokens += message.tokens;
      if (tokens < least) continue;
      const isLooked = written.has(at) || at >= messages.length - 1 - LOOKED_BACK;
      if (isLooked && this.entries.has(sequence)) read = tokens;
      if (written.has(at)) added.push(sequence);
    }
    for (const one of added) this.entries.add(one);
    return read;
  }
}

function numberOf(known: Map<string, number>, key: string): number {
  const number = known.get(key) ?? known.size + 1;
  known.set(key, number);
  return number;
}
