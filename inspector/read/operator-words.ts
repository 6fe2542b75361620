/** What the operator's routes answer, in words. */
import type { PartHealth, ShownCaller } from '../api/answers.ts';

interface FailedAnswer {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
}

/** The sentence of a failure: of the page where it knows more, else the Worker's own. */
export function operatorWords({ status, code, message }: FailedAnswer): string {
  if (code === 'session_ended') return 'This sign-in is over: enter the ADMIN_TOKEN again.';
  if (status === 401)
    return 'The deployment does not accept this ADMIN_TOKEN. Enter the one that it has, or set another one: npx wrangler secret put ADMIN_TOKEN.';
  if (code === 'caller_exists') return 'A caller with this name already exists.';
  if (code === 'caller_not_found')
    return 'There is no such caller. You can add one only if the deployment sets ACCESS_KEYS, and under a name that does not begin with “tenant-”.';
  if (status === 404)
    return 'This deployment has no operator: it sets no ADMIN_TOKEN. Set one of at least 20 characters without spaces, and enter it here: npx wrangler secret put ADMIN_TOKEN.';
  return message ?? code;
}

/** States of a part, with the class of the dot. */
export const PART_STATES: Readonly<Record<PartHealth['status'], readonly [words: string, dot: string]>> = {
  ok: ['works', 'healthy'],
  unknown: ['answers', 'degraded'],
  failed: ['fails', 'stuck'],
  off: ['off', ''],
};

export const CALLER_STATES: Readonly<Record<ShownCaller['state'], readonly [words: string, dot: string]>> = {
  active: ['active', 'healthy'],
  disabled: ['disabled', 'degraded'],
  deleted: ['deleted', 'stuck'],
};
