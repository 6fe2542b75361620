/**
 * The tables of the encodings as modules of data, which the runtime hands over as bytes, without
 * parsing. Node can't import them; it reads the same files in `tools/token-tables.ts`
 * (`#token-tables` in package.json).
 */

/** Loads a table of `ranks.ts`, by the encoding's name. */
export const TABLES = {
  o200k_base: () => import('../../../generated/o200k_base.bin'),
  cl100k_base: () => import('../../../generated/cl100k_base.bin'),
} as const;
