/** Texts of ours inside tags, which no content can close. Pure. */

/** White space and slashes that a forged tag may have before its name, in characters. */
const BEFORE_NAME = 8;

/** A text that is well-formed, and has no tag of this name. @param tag letters and underscores */
export function withoutTag(text: string, tag: string): string {
  const forged = new RegExp(`<(?=[\\s/]{0,${BEFORE_NAME}}${tag})`, 'gi');
  return text.toWellFormed().replace(forged, '<\\');
}
