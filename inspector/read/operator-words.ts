/** What the operator's routes answer, in words. */
import type { PartHealth, ShownCaller } from '../api/answers.ts';

/** An answer that is no success. */
interface FailedAnswer {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
}

/** The sentence of a failure: of the page where it knows more, else the Worker's own. */
export function operatorWords({ status, code, message }: FailedAnswer): string {
  if (status === 401) return 'The deployment does not accept this ADMIN_TOKEN.';
  if (code === 'caller_exists') return 'A caller with this name already exists.';
  if (code === 'caller_not_found')
    return 'There is no such caller. You can add one only if the deployment sets ACCESS_KEYS, and under a name that does not begin with “tenant-”.';
  if (status === 404)
    return 'This deployment has no routes for an operator: it sets no ADMIN_TOKEN, or has an earlier version.';
  return message ?? code;
}

/** States of a part, with the class of the dot. */
export const PART_STATES: Readonly<Record<PartHealth['status'], readonly [words: string, dot: string]>> = {
  ok: ['works', 'healthy'],
  unknown: ['answers', 'degraded'],
  failed: ['fails', 'stuck'],
  off: ['off', ''],
};

/** Likewise. */
export const CALLER_STATES: Readonly<Record<ShownCaller['state'], readonly [words: string, dot: string]>> = {
  active: ['active', 'healthy'],
  disabled: ['disabled', 'degraded'],
  deleted: ['deleted', 'stuck'],
};
