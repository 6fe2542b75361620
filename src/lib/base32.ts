/** RFC 4648 base32 in lower case, without padding. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const BITS = 5;

/** Bytes as base32, cut to `length` characters. */
export function base32(bytes: Uint8Array, length: number): string {
  let text = '';
  let bits = 0;
  let buffered = 0;
  for (const byte of bytes) {
    buffered = (buffered << 8) | byte;
    bits += 8;
    while (bits >= BITS && text.length < length) {
      bits -= BITS;
      text += ALPHABET[(buffered >>> bits) & 31];
    }
    buffered &= (1 << bits) - 1;
  }
  return text;
}

/** The whole bytes of a base32 text. */
export function bytesOfBase32(text: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let buffered = 0;
  for (const character of text) {
    buffered = (buffered << BITS) | ALPHABET.indexOf(character);
    bits += BITS;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push(buffered >>> bits);
    buffered &= (1 << bits) - 1;
  }
  return Uint8Array.from(bytes);
}
