/** A tenant's conversations with the standing of each, as lists and statistics read them. */
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import type { Services } from '../../request/services.ts';
import type { Standing } from '../../storage/conversation/memories.ts';
import type { ListedConversation } from '../../storage/tenant/rows.ts';
import type { Tenant } from '../../tenant/identity.ts';

export const STATUSES = ['healthy', 'degraded', 'stuck'] as const;
export type Status = (typeof STATUSES)[number];

/** A conversation of a tenant. */
export interface Stood extends ListedConversation {
  readonly standing: Standing;
  readonly status: Status;
}

/**
 * Conversations from the newest to the oldest, read a few at a time.
 *
 * @param before the place to go on from; null for the newest
 * @throws StoreError
 */
export async function standingsOf(
  { id }: Tenant,
  before: number | null,
  most: number,
  services: Services,
): Promise<Stood[]> {
  await services.runOutboxes.settled(id);
  const listed = await services.tenant(id)((stub) => stub.list(before, most));
  return fewAtOnce(AT_ONCE, listed, async (one) => {
    const standing = await services.conversation(one.name)((stub) => stub.standing());
    return { ...one, standing, status: statusOf(standing) };
  });
}

/** A single retry is no degradation: the next request may succeed. */
function statusOf({ stuck, health }: Standing): Status {
  if (stuck) return 'stuck';
  return health === 'degraded' || health === 'recovering' ? 'degraded' : 'healthy';
}
