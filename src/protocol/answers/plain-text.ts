/** Texts in JSON that can be read without parsing all around them. */
import { copyOf } from '../../lib/copy.ts';

/** The pattern of a JSON string, as encoders write it that escape no more than they must. */
export const PLAIN_TEXT: string = String.raw`"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"`;

/** The text of a string that matches. */
export function plainText(json: string): string {
  return json.includes('\\') ? JSON.parse(json) : copyOf(json.slice(1, -1));
}
