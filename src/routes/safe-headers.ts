/**
 * Headers for content that any tool may have printed: browsers must not run it, guess its type or
 * store it.
 */
export function safeHeaders(contentType: string): Headers {
  return new Headers({
    'content-type': contentType,
    'x-content-type-options': 'nosniff',
    'content-disposition': 'attachment',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-store, no-transform',
  });
}
