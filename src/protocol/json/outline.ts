/** Where JSON values stand in their bytes, and which of them are kept. */

/** A range of bytes, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON value in the bytes. `fields` and `items` are present where the outline asked for them. */
export interface JsonSpan extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'literal';
  readonly fields?: readonly FieldSpan[];
  readonly items?: readonly JsonSpan[];
}

/** A member of an object: from the key's first quote to the value's end. */
export interface FieldSpan extends Span {
  readonly key: string;
  readonly value: JsonSpan;
}

/**
 * Which parts of a value are kept as spans; all else is checked and passed over. A span costs as
 * much memory as dozens of bytes of JSON, so what is kept is bounded by what is named here, not by
 * what a caller sends.
 */
export interface Outline {
  /**
   * Members to keep: all of them with this outline each; or of each that is named here the last
   * one, which is the one that counts.
   */
  readonly fields?: Outline | ReadonlyMap<string, Outline>;
  /**
   * Keep the members that `fields` does not name too, with this outline each, and repeated ones as
   * often as they stand.
   */
  readonly others?: Outline;
  /** Keep the elements, with this outline each. */
  readonly items?: Outline;
  /** Keep only the element of this index. */
  readonly only?: number;
  /** An object or array with more members than this is kept without any. */
  readonly most?: number;
}

/** All fields and items, this many levels down. */
export function levels(depth: number): Outline {
  if (depth === 0) return {};
  const inner = levels(depth - 1);
  return { fields: inner, items: inner };
}
