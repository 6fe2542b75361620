/**
 * Refs, and the beginnings of Precis's own lines, by which they are recognized in an array that
 * comes back (`edits/placeholder.ts` writes them).
 */

/** Makes and checks the refs of one tenant. */
export interface RefNamer {
  /**
   * The ref of a content. Equal contents have equal refs. `key` identifies the content, so that it
   * is read only once.
   */
  name(key: string, content: () => string): string;
  /** Whether the check characters are this tenant's. Needs no I/O. */
  owns(ref: string): boolean;
}

export type Digest = (text: string) => string;

/** A ref: 20 characters for the content, 6 check characters (docs/design.md#7-storage). */
export const REF_PATTERN = /^ref_[a-z2-7]{26}$/;
/** The beginning of every ref. */
export const REF_START = 'ref_';
/** Length of a ref in characters, which are ASCII. */
export const REF_LENGTH = 30;

const ANY_REF = new RegExp(REF_PATTERN.source.replace(/[$^]/g, ''), 'g');

/** The refs in a text by their form, in order, without duplicates. */
export function refsIn(text: string): string[] {
  return [...new Set(text.match(ANY_REF))];
}

/** A text that names no ref. */
export function withoutRefs(text: string): string {
  return text.replace(ANY_REF, `${REF_START}…`);
}

/** Every marker begins like this; other contents need no parsing. */
export const MARKER_START = '⟦removed: ';

/** How markers of observations begin. */
const OBSERVATION_START = `${MARKER_START}observation; `;

const TRIM_LINE =
  /^⟦removed: messages \d+-\d+; reason=trimmed(?:; ref=(ref_[a-z2-7]{26}); tokens=\d+)?⟧(?:\n\n|$)/;

/**
 * The ref in a trim line at the beginning of a text, not yet checked, and the line's length with
 * the blank line after it.
 */
export function parseTrimLine(text: string): { readonly ref: string; readonly length: number } | undefined {
  const [whole, ref] = TRIM_LINE.exec(text) ?? [];
  return whole === undefined || ref === undefined ? undefined : { ref, length: whole.length };
}

/** Whether a text begins as the marker of an observation does. */
export function beginsAsObservation(text: string): boolean {
  return text.startsWith(OBSERVATION_START);
}
