/**
 * Bounds the contents that a request keeps decoded. Planning reads a content several times, but the
 * texts of a 16 MiB body take up to 32 MB; beyond the bound they are decoded again.
 */
import type { Content } from '../memory/conversation/message.ts';

/** In characters. */
const MOST_CHARACTERS = 4_000_000;

export class KeptContents {
  private readonly contents = new Map<object, Content>();
  private left = MOST_CHARACTERS;

  /** The content of a message: as it was decoded before, or decoded now. */
  of(message: object, decode: () => Content): Content {
    const known = this.contents.get(message);
    if (known) return known;
    const content = decode();
    if (this.take(content)) this.contents.set(message, content);
    return content;
  }

  /** Forgets all contents, and keeps none from now on: the request is over. */
  close(): void {
    this.contents.clear();
    this.left = 0;
  }

  /** The request comes again. */
  open(): void {
    this.left = MOST_CHARACTERS;
  }

  /** Takes room for a content, and returns whether there was any. */
  private take({ text, weight: { texts } }: Content): boolean {
    const own = texts[0] === text ? 0 : texts.reduce((sum, part) => sum + part.length, 0);
    const characters = text.length + own;
    if (characters > this.left) return false;
    this.left -= characters;
    return true;
  }
}
