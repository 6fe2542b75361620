/** Removes insignificant white space from JSON (RFC 8259 §2). */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** @param json bytes of one JSON value, already known to be well-formed */
export function withoutWhiteSpace(json: Uint8Array): Uint8Array {
  const kept = new Uint8Array(json.length);
  let length = 0;
  for (let at = 0; at < json.length; ) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) {
      const end = stringEnd(json, at);
      kept.set(json.subarray(at, end), length);
      length += end - at;
      at = end;
      continue;
    }
    // Outside of strings, only white space is this small.
    if (byte > 0x20) kept[length++] = byte;
    at++;
  }
  return kept.subarray(0, length);
}

/** The position after the closing quote, which follows an even number of backslashes. */
function stringEnd(json: Uint8Array, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (json[before] === BACKSLASH) before--;
    if ((quote - 1 - before) % 2 === 0) return quote + 1;
  }
  return json.length;
}
