/**
 * The latest arrays of an isolate's callers. A conversation's next request begins with the same
 * bytes, so nothing of them is read, hashed or counted again. It changes no view: facts about a
 * message follow from the message and those before it.
 *
 * An isolate keeps the latest arrays of each tenant (16 MB together): their bytes, the spans of
 * their elements, and facts about each message (`MessageFacts`): hashes, calls, removals, where
 * literals first occur. The next body is compared natively with them (`known-array.ts`), and the
 * scanner goes on after the last element that both share, as a replay goes on from the last state
 * that is known (`memory/replay/known-replay.ts`). A fact that depends on later messages must not
 * be kept here. The plan stays a pure function, and an array that was forgotten costs time and
 * nothing else.
 *
 * A body whose every byte is known is the same request: it is not read at all. What was made of it
 * before, up to the bytes that were sent, belongs to the request (`lib/latest.ts`).
 *
 * `test/unit/protocol/known-arrays.test.ts` compares the view of every array with the one that it
 * has on its own, and `test/worker/requests/steady-work.test.ts` counts what a known conversation
 * still costs.
 */
import { factsBytes } from '../memory/replay/known-replay.ts';
import type { JsonSpan } from './json/outline.ts';
import { isEqual, type ReadArray, type SharedArray, sharedWith } from './known-array.ts';
import type { ModelRequest } from './model-request.ts';

/** Shorter bodies are read as fast as they are found. In bytes. */
const SMALLEST = 8 * 1024;

/** An array that nobody continues for so long is forgotten, in milliseconds. */
const UNUSED_MS = 10 * 60_000;

/** The most arrays of a tenant, which are looked through one after the other. */
const MOST_ARRAYS = 256;

/** The most arrays that are searched for a beginning that a body shares. */
const MOST_SEARCHED = 16;

/** An array that shares this much of an earlier one, in bytes, replaces it. */
const SAME_SHARE = 7 / 8;

/** The bytes that are compared first, at an array's end. */
const PROBE = 16;

/** What is known of a body. */
export interface FoundArray extends SharedArray {
  /** The request that was read from the same bytes. */
  readonly same?: ModelRequest;
}

export interface TenantArrays {
  /** The beginning of a body's array, as far as it is known. */
  find(bytes: Uint8Array, protocol: ReadArray['protocol']): FoundArray | undefined;
  /**
   * Keeps a request with its array.
   *
   * @param found for its body; that array is replaced if the new one continues it
   * @param made bytes that were made of it
   */
  keep(request: ModelRequest, found: FoundArray | undefined, made?: number): void;
}

interface KeptArray {
  readonly tenant: string;
  readonly request: ModelRequest;
  readonly array: ReadArray;
  readonly size: number;
  usedAt: number;
}

export class KnownArrays {
  /** Of all tenants and of each, the least recently used first. */
  private readonly kept = new Set<KeptArray>();
  private readonly tenants = new Map<string, Set<KeptArray>>();
  private readonly most: number;
  private readonly smallest: number;
  private readonly now: () => number;
  private size = 0;

  /**
   * @param most bytes of all arrays together, with what is known of them
   * @param smallest bytes of a body that is kept
   */
  constructor(most: number, smallest = SMALLEST, now: () => number = Date.now) {
    this.most = most;
    this.smallest = smallest;
    this.now = now;
  }

  /** @param tenant its id */
  of(tenant: string): TenantArrays {
    return {
      find: (bytes, protocol) => this.find(tenant, bytes, protocol),
      keep: (request, found, made) => this.keep(tenant, request, found, made),
    };
  }

  /** Drops the arrays of a tenant. @param tenant its id */
  forget(tenant: string): void {
    for (const kept of this.tenants.get(tenant) ?? []) this.drop(kept);
  }

  private find(tenant: string, bytes: Uint8Array, protocol: ReadArray['protocol']): FoundArray | undefined {
    if (bytes.length < this.smallest) return undefined;
    const newest = [...(this.tenants.get(tenant) ?? [])]
      .filter(({ array }) => array.protocol === protocol)
      .reverse();
    // Almost always a conversation has grown, and its whole array is the beginning of the new one.
    const grown = newest.filter(({ array }) => mayContinue(bytes, array));
    const searched = grown.length > 0 ? grown : newest.slice(0, MOST_SEARCHED);
    let best: { readonly kept: KeptArray; readonly shared: SharedArray } | undefined;
    for (const kept of searched) {
      const shared = sharedWith(bytes, kept.array);
      if (shared && shared.end > (best?.shared.end ?? 0)) best = { kept, shared };
    }
    if (!best) return undefined;
    this.use(best.kept);
    const { request } = best.kept;
    if (!isSame(bytes, request.bytes, best.shared.end)) return best.shared;
    request.keepContents();
    return { ...best.shared, same: request };
  }

  private keep(tenant: string, request: ModelRequest, found: FoundArray | undefined, made = 0): void {
    request.forgetContents();
    // The same one is kept already, with what was made of it before.
    for (const other of this.tenants.get(tenant) ?? []) if (other.request === request) this.drop(other);
    const { array } = request;
    if (!array || array.bytes.length < this.smallest) return;
    const now = this.now();
    for (const oldest of this.kept) if (now - oldest.usedAt > UNUSED_MS) this.drop(oldest);
    const kept: KeptArray = { tenant, request, array, size: sizeOf(array) + made, usedAt: now };
    if (kept.size > this.most) return;
    for (const other of this.tenants.get(tenant) ?? [])
      if (other.array === found?.read && found.end >= SAME_SHARE * other.array.list.end) this.drop(other);
    this.use(kept);
    this.size += kept.size;
    for (const oldest of this.ofTenant(tenant))
      if (this.ofTenant(tenant).size > MOST_ARRAYS) this.drop(oldest);
    for (const oldest of this.kept) if (this.size > this.most) this.drop(oldest);
  }

  private ofTenant(tenant: string): Set<KeptArray> {
    const own = this.tenants.get(tenant) ?? new Set();
    this.tenants.set(tenant, own);
    return own;
  }

  private use(kept: KeptArray): void {
    kept.usedAt = this.now();
    for (const arrays of [this.kept, this.ofTenant(kept.tenant)]) {
      arrays.delete(kept);
      arrays.add(kept);
    }
  }

  private drop(kept: KeptArray): void {
    const own = this.tenants.get(kept.tenant);
    own?.delete(kept);
    if (own?.size === 0) this.tenants.delete(kept.tenant);
    this.kept.delete(kept);
    this.size -= kept.size;
  }
}

/** Whether a body may begin with a whole array. False is certain, true is not. */
function mayContinue(bytes: Uint8Array, { bytes: earlier, list }: ReadArray): boolean {
  const end = list.items?.at(-1)?.end ?? 0;
  if (end === 0 || end > bytes.length) return false;
  for (let at = end - 1; at >= Math.max(0, end - PROBE); at--) if (bytes[at] !== earlier[at]) return false;
  return true;
}

/**
 * Whether two bodies have the same bytes.
 *
 * @param shared how many of the first ones are known to be
 */
function isSame(one: Uint8Array, other: Uint8Array, shared: number): boolean {
  return one.length === other.length && isEqual(one.subarray(shared), other.subarray(shared));
}

/** Bytes of memory, as an upper estimate. */
function sizeOf({ bytes, list, before, messages }: ReadArray): number {
  let size = bytes.buffer.byteLength;
  for (const { facts } of before) size += factsBytes(facts);
  for (const { facts } of messages) size += factsBytes(facts);
  for (const { fields = [] } of list.items ?? []) {
    size += SPAN_BYTES + PLAN_BYTES;
    // Parts of a content may be kept as spans, too.
    for (const { value } of fields) if (value.items) size += partsBytes(value.items);
  }
  return size;
}

function partsBytes(parts: readonly JsonSpan[]): number {
  return parts.reduce((sum, { fields = [] }) => sum + PART_BYTES + FIELD_BYTES * fields.length, 0);
}

/** Bytes of an element's spans: its own, and its fields'. */
const SPAN_BYTES = 600;
/** Bytes of a part of a content, and of each field of it that is kept. */
const PART_BYTES = 200;
const FIELD_BYTES = 130;
/** Bytes of an element's message, and of its part in the plan. */
const PLAN_BYTES = 400;
