/** Data URLs with base64 (RFC 2397). */

/** What precedes the data of a URL. */
interface DataHead {
  /** Characters before the data. */
  readonly length: number;
  /** Empty if the URL does not state it. */
  readonly mediaType: string;
}

const SCHEME = /^data:/i;
const ENCODED = ';base64,';

/** Undefined for a URL of another kind. One pass: a single expression for it backtracks far. */
export function dataHeadOf(url: string): DataHead | undefined {
  if (!SCHEME.test(url)) return undefined;
  const head = url.slice(0, url.indexOf(',') + 1);
  if (!head.toLowerCase().endsWith(ENCODED)) return undefined;
  const [mediaType = ''] = head.slice('data:'.length).split(';', 1);
  return { length: head.length, mediaType };
}
