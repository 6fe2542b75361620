/**
 * What an isolate believes between requests, one kind in each row of a table. A row says whose the
 * values are, how many bytes all of them may take, how long one holds, and what confirms it.
 *
 * A kind without `holdsMs` was computed, or is true of what has happened here: it can't become
 * wrong, and stays while there is room. All others were seen elsewhere, and can be outdated.
 *
 * An owner is a tenant's id, or the name of one of its conversations, which begins with that id and
 * a colon. Deletion walks the whole table.
 */
import { type Bound, lruOf, TenantLru } from './lru.ts';

interface Row<Value> extends Bound<Value> {
  /** What it is, and why it has this many bytes. Markdown. */
  readonly about: string;
  /** `nobody`: it holds no caller's data. */
  readonly owner: 'tenant' | 'conversation' | 'nobody';
}

/** A kind that can't become wrong. */
export interface Computed<Value> extends Row<Value> {
  readonly holdsMs?: never;
}

/** A kind that was seen elsewhere. */
export interface Believed<Value> extends Row<Value> {
  /** How long a value is relied on after it was seen, in milliseconds. */
  readonly holdsMs: number;
  /** The name under which a conversation's upkeep confirms it, so that it never expires. */
  readonly confirm?: string;
  /** In characters. Values of longer keys are not kept. */
  readonly longestKey?: number;
  /** A deletion of its owner does not make it wrong. */
  readonly outlivesOwner?: true;
}

/** A kind that needs more than a map, whose bound is in the table all the same. */
export interface Made<Held extends Forgetful> extends Row<never> {
  readonly holdsMs?: never;
  make(bytes: number): Held;
}

interface Forgetful {
  forget(owner: string): void;
}

export type Kind = Computed<never> | Believed<never> | Made<Forgetful>;

type Held<Of> =
  Of extends Made<infer Own>
    ? Own
    : Of extends Believed<infer Value>
      ? Beliefs<Value>
      : Of extends Computed<infer Value>
        ? TenantLru<Value>
        : never;

/** A row whose values have a type. */
export const computed = <Value>(row: Computed<Value>): Computed<Value> => row;
/** See `computed`. */
export const believed = <Value>(row: Believed<Value>): Believed<Value> => row;

/** The memory of one isolate. What no request has used yet is not made. */
export class IsolateMemory<Kinds extends Readonly<Record<string, Kind>>> {
  private readonly kinds: Kinds;
  private readonly now: () => number;
  private readonly held = new Map<keyof Kinds, Forgetful>();
  private readonly deletions = new Deletions();

  constructor(kinds: Kinds, now: () => number = Date.now) {
    this.kinds = kinds;
    this.now = now;
  }

  of<Name extends keyof Kinds & string>(name: Name): Held<Kinds[Name]> {
    let held = this.held.get(name);
    if (!held) {
      held = this.make(name);
      this.held.set(name, held);
    }
    return held as Held<Kinds[Name]>;
  }

  /** Forgets all of a tenant, or of one conversation. @param owner see the head of this file */
  forget(owner: string): void {
    this.deletions.note(owner, EVERY_KIND, this.now());
    for (const [name, held] of this.held) {
      const kind: Kind | undefined = this.kinds[name];
      if (!(kind && 'outlivesOwner' in kind)) held.forget(owner);
    }
  }

  /**
   * Forgets all of an owner whose data is being deleted. An owner that is only forgotten may still
   * have data.
   *
   * @param began when that began, in milliseconds since the epoch
   */
  deleted(owner: string, began: number): void {
    this.deletions.note(owner, DELETED, began);
    this.forget(owner);
  }

  /**
   * Whether the deletion of an owner's data began after something.
   *
   * @param owner asked for only if any deletion did
   * @param since in milliseconds since the epoch
   */
  isDeletedSince(owner: () => string, since: number): boolean {
    return this.deletions.isAnySince(since) && this.deletions.covers(owner(), [DELETED], since);
  }

  private make(name: keyof Kinds & string): Forgetful {
    const kind: Kind = this.kinds[name] as Kind;
    if ('make' in kind) return kind.make(kind.bytes);
    if (kind.holdsMs === undefined) return new TenantLru(kind);
    return new Beliefs(name, kind, this.now, this.deletions);
  }
}

export interface Seen<Value> {
  readonly value: Value;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** Bytes of a `Seen` beside its value. */
const SEEN_BYTES = 32;

/** The values of one kind, by owner and key. */
export class Beliefs<Value> {
  private readonly name: string;
  private readonly kind: Believed<Value>;
  private readonly entries: TenantLru<Seen<Value>>;
  private readonly deletions: Deletions;
  private readonly now: () => number;

  /** @param name of the kind */
  constructor(
    name: string,
    kind: Believed<Value>,
    now: () => number = Date.now,
    deletions: Deletions = new Deletions(),
  ) {
    const { bytes, sizeOf = () => 0 } = kind;
    this.name = name;
    this.kind = kind;
    this.entries = new TenantLru({ bytes, sizeOf: ({ value }) => SEEN_BYTES + sizeOf(value) });
    this.deletions = deletions;
    this.now = now;
  }

  /** A value that can still be relied on. */
  get(owner: string, key: string): Seen<Value> | undefined {
    const seen = this.last(owner, key);
    return seen && this.now() - seen.at < this.kind.holdsMs ? seen : undefined;
  }

  /** The last value that was seen, also if it can no longer be relied on. */
  last(owner: string, key: string): Seen<Value> | undefined {
    const seen = this.entries.get(owner, key);
    if (!seen || this.kind.outlivesOwner) return seen;
    return this.deletions.overtook(owner, this.name, seen.at) ? undefined : seen;
  }

  /** @param at when it was asked for: a deletion since then counts */
  set(owner: string, key: string, value: Value, at = this.now()): void {
    if (key.length <= (this.kind.longestKey ?? key.length)) this.entries.set(owner, key, { value, at });
  }

  delete(owner: string, key: string): void {
    this.entries.delete(owner, key);
  }

  get isEmpty(): boolean {
    return this.entries.isEmpty;
  }

  /** The values of one owner. Cheap to make. */
  of(owner: string): OwnBeliefs<Value> {
    return {
      get: (key) => this.get(owner, key),
      last: (key) => this.last(owner, key),
      keep: (key, value, at) => this.set(owner, key, value, at),
      drop: (key) => this.delete(owner, key),
      confirm: this.kind.confirm ?? this.name,
    };
  }

  /** Forgets this kind alone. What was asked for before is no longer taken. */
  forget(owner: string): void {
    this.deletions.note(owner, this.name, this.now());
    this.entries.forget(owner);
  }
}

/** The values of one kind and one owner. See `Beliefs`. */
export interface OwnBeliefs<Value> {
  get(key: string): Seen<Value> | undefined;
  last(key: string): Seen<Value> | undefined;
  /** @param at when it was asked for, in milliseconds since the epoch */
  keep(key: string, value: Value, at: number): void;
  drop(key: string): void;
  /** See `Believed`. */
  readonly confirm: string;
}

const EVERY_KIND = '';
/** The data itself. No kind has this name. */
const DELETED = 'deleted';

/** Bytes of what `Deletions` remembers, beside all rows: about 1,000 owners. */
export const DELETIONS_BYTES = 256 * 1024;

/** When owners were forgotten, so that an answer from before counts for nothing after it. */
class Deletions {
  private readonly times = lruOf<number>({ bytes: DELETIONS_BYTES });
  private last = Number.NEGATIVE_INFINITY;

  note(owner: string, kind: string, now: number): void {
    this.last = Math.max(this.last, now);
    this.times.set(`${kind} ${owner}`, now);
  }

  isAnySince(at: number): boolean {
    return at <= this.last;
  }

  /** Whether a value was asked for before its owner was forgotten. */
  overtook(owner: string, kind: string, at: number): boolean {
    return this.isAnySince(at) && this.covers(owner, [kind, EVERY_KIND], at);
  }

  /** Whether anything of some kinds was noted after a time, of the owner or its tenant. */
  covers(owner: string, kinds: readonly string[], at: number): boolean {
    const [tenant = owner] = owner.split(':', 1);
    return [owner, tenant].some((one) => kinds.some((of) => at <= this.timeOf(`${of} ${one}`)));
  }

  private timeOf(key: string): number {
    return this.times.get(key) ?? Number.NEGATIVE_INFINITY;
  }
}
