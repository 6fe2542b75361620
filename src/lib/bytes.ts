/** Byte arrays. */
import { Buffer } from 'node:buffer';

/** The first bytes of an array as a `Buffer`, which shares their memory. */
export function bufferOf(bytes: Uint8Array, length = bytes.length): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, length);
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    whole.set(piece, position);
    position += piece.length;
  }
  return whole;
}
