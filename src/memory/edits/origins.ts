/** Where the literals of an array first occur. */
import { type Hashed, HashTable } from '../../lib/hash-table.ts';
import { eachLiteral, type Literal } from './literals.ts';

/**
 * Literals whose first occurrence is remembered. With more, a preview may repeat a literal of an
 * earlier message: that wastes a few tokens, while remembering more would take other requests'
 * memory.
 */
const MOST_ORIGINS = 150_000;

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
    const fresh = wasFull ? [] : texts.map((text) => this.add(text));
    this.read++;
    return wasFull ? undefined : (fresh[0] ?? []);
  }

  /** @returns the literals that are new */
  private add(text: string): Literal[] {
    const { first, read } = this;
    const fresh: Literal[] = [];
    eachLiteral(
      text,
      (literal) => {
        if (!this.isFull) first.add(literal, read);
        fresh.push(literal);
      },
      (literal) => first.get(literal) !== undefined,
    );
    return fresh;
  }

  /** The first message that holds a literal; undefined if none does, or if that is unknown. */
  of(literal: Hashed): number | undefined {
    return this.first.get(literal);
  }

  private get isFull(): boolean {
    return this.first.size >= MOST_ORIGINS;
  }
}
