/**
 * The size limits of what a request sends, in bytes. Each is read when a body is.
 *
 * Nothing in `src/` can change a limit, and no variable does. Tests lower them from outside
 * (test/support/size-limits.ts), as they shorten `src/time-limits.ts`.
 */
const VALUES = {
  /** A body that is read, before and after decoding (docs/design.md#9-tokens-and-bytes). */
  body: 16 * 1024 * 1024,
};

/** @see VALUES */
export const SIZE_LIMITS: Readonly<typeof VALUES> = VALUES;
