/**
 * The user of a session of Claude Code, for clients of `/mcp` that know the session alone: its user
 * is an account or a device, which nobody writes down.
 *
 * What this opens is held to what Claude Code makes. A session's id is random, so whoever names it
 * has been given it; ids that could be guessed are left out, and so are users whom an application
 * has named. If more than one user has the session, none is chosen. A user that the client or the
 * call names stays, and a deployment that requires explicit keys finds nobody.
 */
import type { Services } from '../../request/services.ts';
import { idsIn } from '../../storage/conversation/names.ts';
import type { Tenant } from '../../tenant/identity.ts';

/** A UUID, and the agent's id in the conversation of a subagent (`request/claude-code.ts`). */
const SESSION = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[\w-]+)?$/;

/** An account, a device, or the form of earlier versions (`request/owner.ts`). */
const OF_CLAUDE_CODE = /^(?:[0-9a-f-]{32,}|user_[0-9a-f]+_account_[0-9a-f-]*)$/;

/** @returns `named.user`, else the session's; undefined if there is none */
export async function userOfSession(
  { id, user }: { readonly id: string; readonly user: string | undefined },
  tenant: Tenant,
  services: Services,
): Promise<string | undefined> {
  if (user !== undefined || services.config.isolation.require_explicit_key || !SESSION.test(id)) return user;
  const [name, ...others] = await services.tenant(tenant.id)((stub) =>
    stub.conversations.namesOfSession(id, 2),
  );
  const found = name === undefined || others.length > 0 ? undefined : idsIn(name).user;
  return found !== undefined && OF_CLAUDE_CODE.test(found) ? found : undefined;
}
