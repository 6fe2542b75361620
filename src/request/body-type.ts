/** What a request says of its body: which charset, which encoding. */
import { ApiError } from './errors.ts';

/** RFC 8259, section 8.1: JSON is UTF-8, of which ASCII is a part. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/**
 * Checks that a body is read here as an upstream reads it: servers go by the charset, and what is
 * plain text in one may be other JSON in another. Every charset that is named counts, however it is
 * written.
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
 * Checks that a body that goes up unread is plain: its encoding does not go up with it.
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
