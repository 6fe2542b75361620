/** Whether a request's model may reach the archives of its user's other conversations. */
import type { Warning } from '../memory/plan/report.ts';
import { type UserArchiveScope, userArchiveScope } from '../memory/strategy/archive.ts';
import type { Call } from './call.ts';

/**
 * What the model may reach; undefined if nothing was asked for; a warning if it can't have it: the
 * deployer must allow it, and the request must name the user.
 */
export function userArchiveOf({ chosen, owner, scope }: Call): UserArchiveScope | Warning | undefined {
  const asked = userArchiveScope(chosen.strategy.archive);
  if (!asked) return undefined;
  if (!scope.services.config.userArchives) return 'user_archive_off';
  return owner.user === undefined ? 'no_user' : asked;
}
