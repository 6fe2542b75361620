/** A bounded map whose entries expire. */
import { type Bound, Lru } from './lru.ts';

interface Entry<Value> {
  readonly value: Value;
  /** When it expires, in milliseconds since 1970. */
  readonly end: number;
}

export class ExpiringLru<Value> {
  private readonly entries: Lru<Entry<Value>>;
  private readonly now: () => number;

  constructor({ bytes, sizeOf = () => 0 }: Bound<Value>, now: () => number) {
    this.entries = new Lru({ bytes, sizeOf: ({ value }) => ENTRY_BYTES + sizeOf(value) });
    this.now = now;
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    return entry && this.now() < entry.end ? entry.value : undefined;
  }

  /** @param holdsMs how long the value holds, in milliseconds */
  set(key: string, value: Value, holdsMs: number): void {
    this.entries.set(key, { value, end: this.now() + holdsMs });
  }

  delete(key: string): void {
    this.entries.delete(key);
  }
}

const ENTRY_BYTES = 32;
