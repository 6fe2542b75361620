/**
 * Bounded maps that forget entries not used for long. They hold only facts that can be computed
 * again.
 *
 * There are two generations. A used entry moves to the young one. When that is full it becomes the
 * old one, and the previous old one is dropped. Moving every hit to the end of a single map would
 * cost more than computing most of the facts.
 *
 * The bound is in bytes, since callers determine the length of keys and values. Keys are copied, so
 * that none keeps a longer string alive.
 */
import { copyOf, textBytes } from './copy.ts';

export interface Cache<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Gets the value of a key, and makes it on a miss. */
  remember(key: string, make: () => Value): Value;
}

export interface Bound<Value> {
  /**
   * Bytes of all entries together. The most recently used half is always kept; an entry larger than
   * that half never is.
   */
  readonly bytes: number;
  /** Bytes of a value, if it is more than a number. */
  readonly sizeOf?: (value: Value) => number;
}

/** Bytes per entry beside its key and value: its slot in a map. */
const ENTRY_BYTES = 64;
/** Bytes of each tenant's map. */
const MAP_BYTES = 256;

type Entries<Value> = Map<string, Value>;

/** Caches of many tenants under one bound. No tenant can read another's entries. */
export class TenantLru<Value> {
  private young = new Map<string, Entries<Value>>();
  private old = new Map<string, Entries<Value>>();
  /** Bytes in the young generation. */
  private bytes = 0;
  private readonly generation: number;
  private readonly sizeOf: (value: Value) => number;

  constructor({ bytes, sizeOf = () => 0 }: Bound<Value>) {
    this.generation = bytes / 2;
    this.sizeOf = sizeOf;
  }

  /** The cache of one tenant, by its id. Cheap to make. */
  of(tenant: string): Cache<Value> {
    const get = (key: string): Value | undefined => this.get(tenant, key);
    const set = (key: string, value: Value): void => this.set(tenant, key, value);
    return {
      get,
      set,
      delete: (key) => this.delete(tenant, key),
      remember: (key, make) => {
        const known = get(key);
        if (known !== undefined) return known;
        const value = make();
        set(key, value);
        return value;
      },
    };
  }

  get(tenant: string, key: string): Value | undefined {
    const young = this.young.get(tenant)?.get(key);
    if (young !== undefined) return young;
    const old = this.old.get(tenant)?.get(key);
    if (old !== undefined) this.set(tenant, key, old);
    return old;
  }

  set(tenant: string, key: string, value: Value): void {
    const bytes = this.bytesOf(key, value);
    if (bytes > this.generation) {
      this.delete(tenant, key);
      return;
    }
    const before = this.young.get(tenant)?.get(key);
    if (before !== undefined) this.bytes -= this.bytesOf(key, before);
    if (this.bytes + bytes > this.generation) this.turn();
    const entries = this.entriesOf(tenant);
    // A map keeps the key that it has. The old generation may have another value, which nobody sees
    // while the young one has this.
    entries.set(entries.has(key) ? key : copyOf(key), value);
    this.bytes += bytes;
  }

  delete(tenant: string, key: string): void {
    const entries = this.young.get(tenant);
    const value = entries?.get(key);
    if (entries?.delete(key) && value !== undefined) this.bytes -= this.bytesOf(key, value);
    this.old.get(tenant)?.delete(key);
  }

  /** Drops the entries of an owner, and of all whose names begin with its own and a colon. */
  forget(owner: string): void {
    for (const generation of [this.young, this.old])
      for (const [name, entries] of generation) {
        if (name !== owner && !name.startsWith(`${owner}:`)) continue;
        generation.delete(name);
        if (generation === this.young) this.bytes -= this.bytesOfAll(name, entries);
      }
  }

  get isEmpty(): boolean {
    return this.young.size === 0 && this.old.size === 0;
  }

  private entriesOf(tenant: string): Entries<Value> {
    const known = this.young.get(tenant);
    if (known) return known;
    const entries: Entries<Value> = new Map();
    this.young.set(copyOf(tenant), entries);
    this.bytes += this.bytesOfAll(tenant, entries);
    return entries;
  }

  private turn(): void {
    this.old = this.young;
    this.young = new Map();
    this.bytes = 0;
  }

  private bytesOfAll(name: string, entries: Entries<Value>): number {
    let bytes = MAP_BYTES + textBytes(name);
    for (const [key, value] of entries) bytes += this.bytesOf(key, value);
    return bytes;
  }

  private bytesOf(key: string, value: Value): number {
    return ENTRY_BYTES + textBytes(key) + this.sizeOf(value);
  }
}

/** A cache that belongs to one owner, or that holds no caller's data. */
export function lruOf<Value>(bound: Bound<Value>): Cache<Value> {
  return new TenantLru(bound).of('');
}
