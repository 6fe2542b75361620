/** The last position up to `end` at which a text can be cut: not inside of a surrogate pair, which upstreams refuse. Pure. */
export function cutBefore(text: string, end: number): number {
  const inPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return inPair ? end - 1 : end;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
