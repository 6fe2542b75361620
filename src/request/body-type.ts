/** What a request's headers say about its body: charset and encoding. */
import { ApiError } from './errors.ts';

/** JSON is UTF-8 (RFC 8259, section 8.1), which includes ASCII. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/**
 * Checks that Precis reads a body as the upstream will. Servers go by the charset, and bytes that
 * are text in one charset may be different JSON in another. Every charset in the header is checked,
 * however it is written.
 *
 * @throws ApiError `unsupported_media_type`
 */
export function checkCharset(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  const named = [...type.matchAll(/charset\W*([^\s";,]*)/gi)].map(([, charset = '']) => charset);
  if (named.every((charset) => CHARSETS.has(charset.toLowerCase()))) return;
  throw new ApiError(
    'unsupported_media_type',
    'The header content-type names a charset that is not read; the body must be JSON in UTF-8.',
    'content-type',
  );
}

/**
 * Checks that a body that is forwarded unread is not encoded, since its `content-encoding` is not
 * forwarded.
 *
 * @throws ApiError `unsupported_media_type`
 */
export function checkUnencoded(headers: Headers): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  throw new ApiError(
    'unsupported_media_type',
    'The body of this request is taken without a content-encoding only.',
    'content-encoding',
  );
}
