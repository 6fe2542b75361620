/** Where the literals of an array first occur. */
import { type Hashed, HashTable } from '../../lib/hash-table.ts';
import { eachLiteral, type Literal } from './literals.ts';

/**
 * Literals whose first occurrence is remembered. With more, a preview may repeat a literal of an
 * earlier message: that wastes a few tokens, while remembering more would take other requests'
 * memory.
 */
const MOST_ORIGINS = 150_000;

/** Literals of a text that are handed over. Of more, a preview reads the text again. */
const MOST_FRESH = 10_000;

/**
 * The first message with each literal. Of two literals with the same hash, one would be missing
 * from a preview. A literal that the table has no room for is unknown, and may be repeated.
 */
export class Origins {
  /** The number of messages that have been read. */
  read = 0;
  private readonly first = new HashTable();

  /** Bytes of memory. */
  get bytes(): number {
    return this.first.bytes;
  }

  /**
   * Reads the next message.
   *
   * @param texts of the message
   * @returns the literals of its first text that no earlier message holds; undefined if there is no
   *   room for them
   */
  readNext(texts: readonly string[]): readonly Literal[] | undefined {
    const wasFull = this.isFull;
    const fresh: Literal[] = [];
    if (!wasFull) for (const [index, text] of texts.entries()) this.add(text, index === 0 ? fresh : []);
    this.read++;
    return wasFull || fresh.length > MOST_FRESH ? undefined : fresh;
  }

  /** @param fresh takes the literals that are new, and one more than this many at most */
  private add(text: string, fresh: Literal[]): void {
    const { first, read } = this;
    eachLiteral(
      text,
      (literal) => {
        if (!this.isFull) first.add(literal, read);
        if (fresh.length <= MOST_FRESH) fresh.push(literal);
      },
      (literal) => first.get(literal) !== undefined,
    );
  }

  /** The first message that holds a literal; undefined if none does, or if that is unknown. */
  of(literal: Hashed): number | undefined {
    return this.first.get(literal);
  }

  private get isFull(): boolean {
    return this.first.size >= MOST_ORIGINS;
  }
}
