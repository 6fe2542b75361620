/**
 * Generated URLs, without `fc.webUrl` and `fc.webPath`, which take more than a second in each
 * process to make a table of all characters.
 */
import fc from 'fast-check';

/** Characters that a path may hold as they are (RFC 3986, section 3.3). */
const PLAIN = Array.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@");

const segment = fc.oneof(
  fc.string({ unit: fc.constantFrom(...PLAIN), maxLength: 10 }),
  fc.string({ unit: 'grapheme', maxLength: 4 }).map(encodeURIComponent),
);

/** A path: empty, or with a slash before each segment. */
export const anyPath = fc
  .array(segment, { maxLength: 5 })
  .map((segments) => segments.map((each) => `/${each}`).join(''));

export const anyUrl = fc
  .tuple(fc.constantFrom('http', 'https'), fc.domain(), anyPath)
  .map(([scheme, domain, path]) => `${scheme}://${domain}${path}`);
