/**
 * Warnings that report no fault: the request went as its strategy means it to. They set off no
 * alarm, so they are counted and shown apart from the others.
 */
import type { Warning } from './report.ts';

const NOTICES: ReadonlySet<string> = new Set<Warning>(['waiting', 'dearer', 'idle', 'window_unknown']);

/** @param code of a warning; one that is not known is no notice */
export function isNotice(code: string): boolean {
  return NOTICES.has(code);
}
