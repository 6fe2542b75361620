/**
 * How messages are packed: one object of R2 for all that a request brings, as long as that is not
 * large.
 */

/**
 * A pack's plaintext, in bytes: a request's new messages are one write, and a page of the archive
 * reads little in vain.
 */
export const LARGEST_PACK = 256 * 1024;

/** The parts of a pack, which is a JSON array of its messages. */
const OPEN = 0x5b;
const COMMA = 0x2c;
const CLOSE = 0x5d;

export interface Packed<Message> {
  readonly message: Message;
  /** Where it begins in its pack, in bytes. */
  readonly start: number;
}

/** Messages that are stored together, in their order. */
export type Pack<Message> = readonly Packed<Message>[];

/** Packs messages in their order; a message that is too large for any pack is one of its own. */
export function packMessages<Message extends { readonly json: Uint8Array }>(
  messages: readonly Message[],
): readonly Pack<Message>[] {
  const packs: Packed<Message>[][] = [];
  let end = LARGEST_PACK;
  for (const message of messages) {
    const last = packs.at(-1);
    // Behind it stands a comma, or the end of the array.
    const length = message.json.length + 1;
    if (last && end + length <= LARGEST_PACK) last.push({ message, start: end });
    else {
      end = 1;
      packs.push([{ message, start: end }]);
    }
    end += length;
  }
  return packs;
}

/** The bytes of a pack: a JSON array of its messages, as they came. */
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
