/**
 * Bodies for the upstream that continue where the body of an earlier request ended. The body of a
 * conversation's next request mostly begins as the last one did: with the same bytes, and the same
 * edits in them. What these have become is copied as one piece.
 *
 * A body is kept as long as the bytes that it was written of, which the known arrays keep
 * (`known-arrays.ts`) and count.
 */
import { textBytes } from '../lib/copy.ts';
import { inOrder, type Splice, splice, spliceOn } from './json/spans.ts';
import { isEqual, type SharedArray } from './known-array.ts';

/** A body, and how it was written. */
interface Written {
  readonly body: Uint8Array;
  readonly splices: readonly Splice[];
  /** Where each splice ends in the body. */
  readonly ends: readonly number[];
  /** Bytes that were taken from the body before it. */
  readonly head: number;
}

/** By the bytes that came. */
const written = new WeakMap<Uint8Array, Written>();

/** What is known of the bytes that a body is written of. */
export interface KnownStart {
  /** What their array shares with an earlier one. */
  readonly found: SharedArray | undefined;
}

/**
 * The bytes of a body with the splices applied; the same as `splice`.
 *
 * @param splices in any order, without overlaps
 * @param kept absent: the body is not kept for a later one
 */
export function spliceBody(bytes: Uint8Array, splices: readonly Splice[], kept?: KnownStart): Uint8Array {
  const whole = { start: 0, end: bytes.length };
  if (!kept || splices.length === 0) return splice(bytes, whole, splices);
  const { found } = kept;
  const sorted = inOrder(splices);
  const before = found && written.get(found.read.bytes);
  const count = before ? sharedSplices(before.splices, sorted, found.end) : 0;
  const head = before?.body.subarray(0, before.ends[count - 1] ?? 0) ?? new Uint8Array();
  const { bytes: body, ends } = spliceOn(bytes, whole, sorted, { count, head });
  const all = [...(before?.ends.slice(0, count) ?? []), ...ends];
  written.set(bytes, { body, splices: sorted, ends: all, head: head.length });
  return body;
}

/** How many splices two bodies begin with. @param end of the bytes that both begin with */
function sharedSplices(some: readonly Splice[], others: readonly Splice[], end: number): number {
  const differs = others.findIndex((other, at) => {
    const one = some[at];
    const isSame = one?.start === other.start && one.end === other.end && one.with === other.with;
    return !isSame || other.end > end;
  });
  return differs < 0 ? others.length : differs;
}

/** A body that is kept, and the one before it that it begins with. */
interface Continued {
  readonly before: Uint8Array;
  /** How many bytes both begin with. */
  readonly shared: number;
}

/** What a body continues; undefined if it is not kept, or nothing is known of one before it. */
export function continuedBy(
  bytes: Uint8Array,
  body: Uint8Array,
  { found }: KnownStart,
): Continued | undefined {
  const own = written.get(bytes);
  const before = found && written.get(found.read.bytes);
  // The one before may have been written again meanwhile.
  if (!before || own?.body !== body || !isEqual(before.body, body, own.head)) return undefined;
  return { before: before.body, shared: own.head };
}

/** Bytes of a splice beside its text. */
const SPLICE_BYTES = 64;

/** Bytes of memory that are kept with a body, beside its own, as an upper estimate. */
export function writtenBytes(bytes: Uint8Array): number {
  const splices = written.get(bytes)?.splices ?? [];
  return splices.reduce((sum, { with: text }) => sum + SPLICE_BYTES + textBytes(text), 0);
}
