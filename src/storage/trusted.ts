/** What an isolate has seen in storage, and for how long it relies on that. */
import { type Bound, Lru, TenantLru } from '../lib/lru.ts';

/** In milliseconds (docs/design.md#7-storage). */
export const TRUST_MS = 5 * 60_000;

/** A value, and when storage had it. */
export interface Seen<Value> {
  readonly value: Value;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** Owners whose values were all forgotten at once. */
const FORGOTTEN = { bytes: 256 * 1024 };

/** Bytes of a `Seen` beside its value. */
const SEEN_BYTES = 32;

/**
 * Values by owner and key. An owner is a tenant's id, or the name of one of its conversations,
 * which begins with that id and a colon. What other isolates delete is noticed when the trust
 * expires.
 */
export class TrustedLru<Value> {
  private readonly entries: TenantLru<Seen<Value>>;
  private readonly forgotten = new Lru<number>(FORGOTTEN);
  /** When anything was last forgotten. */
  private lastForgotten = Number.NEGATIVE_INFINITY;
  private readonly now: () => number;

  constructor({ bytes, sizeOf = () => 0 }: Bound<Value>, now: () => number = Date.now) {
    this.entries = new TenantLru({ bytes, sizeOf: ({ value }) => SEEN_BYTES + sizeOf(value) });
    this.now = now;
  }

  /** A value that can still be relied on. */
  get(owner: string, key: string): Seen<Value> | undefined {
    const seen = this.last(owner, key);
    return seen && this.now() - seen.at < TRUST_MS ? seen : undefined;
  }

  /** The last value that was seen, also if it can't be relied on any more. */
  last(owner: string, key: string): Seen<Value> | undefined {
    const seen = this.entries.get(owner, key);
    if (!seen) return undefined;
    return seen.at > this.lastForgotten || seen.at > this.forgottenAt(owner) ? seen : undefined;
  }

  /** @param at when storage was asked: a deletion since then counts */
  set(owner: string, key: string, value: Value, at = this.now()): void {
    this.entries.set(owner, key, { value, at });
  }

  delete(owner: string, key: string): void {
    this.entries.delete(owner, key);
  }

  /**
   * Forgets all values of an owner; of a tenant, those of its conversations too. A value that
   * storage had before is not taken any more.
   */
  forget(owner: string): void {
    this.lastForgotten = this.now();
    this.forgotten.set(owner, this.lastForgotten);
    this.entries.forget(owner);
  }

  private forgottenAt(owner: string): number {
    const [tenant = owner] = owner.split(':', 1);
    const never = Number.NEGATIVE_INFINITY;
    return Math.max(this.forgotten.get(owner) ?? never, this.forgotten.get(tenant) ?? never);
  }
}
