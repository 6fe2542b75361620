/**
 * How many contents one request keeps decoded. A content is read several times while a view is
 * made, but the texts of a body of 16 MiB take up to 32 MB: beyond a bound they are decoded again.
 */
import type { Content } from '../memory/conversation/message.ts';

/** Characters of the contents that a request keeps. */
const MOST_CHARACTERS = 4_000_000;

export class KeptContents {
  private left = MOST_CHARACTERS;

  /** Whether a content has room among those that are kept; then it has taken it. */
  take({ text, weight: { texts } }: Content): boolean {
    const own = texts[0] === text ? 0 : texts.reduce((sum, part) => sum + part.length, 0);
    const characters = text.length + own;
    if (characters > this.left) return false;
    this.left -= characters;
    return true;
  }
}
