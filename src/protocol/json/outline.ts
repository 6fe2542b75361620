/**
 * Spans: where JSON values are in their bytes, and which of them to keep.
 *
 * An outline names the parts of a body that are kept as spans, and how many, so that memory depends
 * on what is used and not on what is sent.
 */

/** A range of bytes; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON value in its bytes. `fields` and `items` are present if the outline asks for them. */
export interface JsonSpan extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'literal';
  readonly fields?: readonly FieldSpan[];
  readonly items?: readonly JsonSpan[];
  /** For each item, the number of values in the text up to its end, if the outline asks for it. */
  readonly counts?: readonly number[];
}

/** A member of an object, from the key's first quote to the value's end. */
export interface FieldSpan extends Span {
  readonly key: string;
  readonly value: JsonSpan;
}

/**
 * Which parts of a value to keep as spans; the rest is checked and skipped. A span takes as much
 * memory as dozens of bytes of JSON, so the outline bounds the memory, not the caller's body.
 */
export interface Outline {
  /**
   * Which members to keep: all, with the same outline each; or the named ones, of which the last
   * duplicate counts.
   */
  readonly fields?: Outline | ReadonlyMap<string, Outline>;
  /** Also keep members that `fields` does not name, with this outline, and all duplicates. */
  readonly others?: Outline;
  /** Keep the elements, each with this outline. */
  readonly items?: Outline;
  /** Keep only the element at this index. */
  readonly only?: number;
  /** Also keep the number of values up to the end of each element. */
  readonly counted?: boolean;
  /** An object or array with more members than this is kept without any. */
  readonly most?: number;
}

/** Some fields of an object, without what is in them. */
export function only(names: readonly string[]): Outline {
  return { fields: new Map(names.map((name) => [name, {}])) };
}

/** All fields and items, this many levels deep. */
export function levels(depth: number): Outline {
  if (depth === 0) return {};
  const inner = levels(depth - 1);
  return { fields: inner, items: inner };
}
