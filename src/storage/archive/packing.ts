/** Packs messages: one R2 object for all new messages of a request, up to a size limit. */

/**
 * Plaintext bytes. Large enough for most requests, small enough that reading a few messages of a
 * pack wastes little.
 */
export const LARGEST_PACK = 256 * 1024;

/** A pack is a JSON array of messages. */
const OPEN = 0x5b;
const COMMA = 0x2c;
const CLOSE = 0x5d;

interface Packed<Message> {
  readonly message: Message;
  /** Offset in the pack, in bytes. */
  readonly start: number;
}

/** Messages stored together, in order. */
export type Pack<Message> = readonly Packed<Message>[];

/** Packs messages in order. One that is larger than a pack gets its own. */
export function packMessages<Message extends { readonly json: Uint8Array }>(
  messages: readonly Message[],
): readonly Pack<Message>[] {
  // Each message is followed by a comma or the closing bracket.
  const lengthOf = ({ json }: Message): number => json.length + 1;
  return portions(messages, LARGEST_PACK - 1, lengthOf).map((portion) => {
    let end = 1;
    return portion.map((message) => {
      const start = end;
      end += lengthOf(message);
      return { message, start };
    });
  });
}

/** Items in order, in portions of at most `most`. A larger item gets its own. */
export function portions<Item>(
  items: readonly Item[],
  most: number,
  sizeOf: (item: Item) => number,
): Item[][] {
  const made: Item[][] = [];
  let size = 0;
  for (const item of items) {
    size += sizeOf(item);
    const last = made.at(-1);
    if (last && size <= most) last.push(item);
    else {
      made.push([item]);
      size = sizeOf(item);
    }
  }
  return made;
}

/** The bytes of a pack: a JSON array of the original messages. */
export function packBytes(pack: Pack<{ readonly json: Uint8Array }>): Uint8Array<ArrayBuffer> {
  const last = pack.at(-1);
  const bytes = new Uint8Array(last ? last.start + last.message.json.length + 1 : 2);
  bytes[0] = OPEN;
  for (const { message, start } of pack) {
    bytes.set(message.json, start);
    bytes[start + message.json.length] = COMMA;
  }
  bytes[bytes.length - 1] = CLOSE;
  return bytes;
}
