/**
 * Bounds the contents that a request keeps decoded. Planning reads a content several times, but the
 * texts of a 16 MiB body take up to 32 MB; beyond the bound they are decoded again.
 */
import type { Content } from '../memory/conversation/message.ts';

/** In characters. */
const MOST_CHARACTERS = 4_000_000;

export class KeptContents {
  private left = MOST_CHARACTERS;

  /** Takes room for a content, and returns whether there was any. */
  take({ text, weight: { texts } }: Content): boolean {
    const own = texts[0] === text ? 0 : texts.reduce((sum, part) => sum + part.length, 0);
    const characters = text.length + own;
    if (characters > this.left) return false;
    this.left -= characters;
    return true;
  }
}
