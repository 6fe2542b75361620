/** Bounded maps of many owners, whose entries expire. */
import { type Bound, TenantLru } from './lru.ts';

interface Entry<Value> {
  readonly value: Value;
  /** When it expires, in milliseconds since 1970. */
  readonly end: number;
}

export class ExpiringLru<Value> {
  private readonly entries: TenantLru<Entry<Value>>;
  private readonly now: () => number;

  constructor({ bytes, sizeOf = () => 0 }: Bound<Value>, now: () => number) {
    this.entries = new TenantLru({ bytes, sizeOf: ({ value }) => ENTRY_BYTES + sizeOf(value) });
    this.now = now;
  }

  get(owner: string, key: string): Value | undefined {
    const entry = this.entries.get(owner, key);
    return entry && this.now() < entry.end ? entry.value : undefined;
  }

  /** @param holdsMs how long the value holds, in milliseconds */
  set(owner: string, key: string, value: Value, holdsMs: number): void {
    this.entries.set(owner, key, { value, end: this.now() + holdsMs });
  }

  /** See `TenantLru.forget`. */
  forget(owner: string): void {
    this.entries.forget(owner);
  }
}

const ENTRY_BYTES = 32;
