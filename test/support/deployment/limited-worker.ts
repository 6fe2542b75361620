/**
 * The Worker, with the time limits that a test sets (`limits` of `deploy`). Only tests build this
 * entry point: `src/index.ts` knows no such variable, so no other build can have other limits.
 */
import './own-limits.ts';

export * from '../../../src/index.ts';
export { default } from '../../../src/index.ts';
