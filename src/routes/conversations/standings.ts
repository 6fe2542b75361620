/** A tenant's conversations with the standing of each, as lists and statistics read them. */
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import type { Services } from '../../request/services.ts';
import type { ConversationNumbers } from '../../storage/conversation/memories.ts';
import { userName } from '../../storage/conversation/names.ts';
import {
  comparePlaces,
  FIRST_AT,
  LAST_AT,
  type ListedConversation,
  type ListPlace,
  type ListQuery,
} from '../../storage/tenant/listing.ts';
import type { Tenant } from '../../tenant/identity.ts';

/** A query of a caller, in whose lists of several tenants the names of a user differ. */
export type CallersQuery = Omit<ListQuery, 'names'> & { readonly user?: string | undefined };

export const STATUSES = ['healthy', 'degraded', 'stuck'] as const;
export type Status = (typeof STATUSES)[number];

/** A conversation in a caller's list: one for each secret that it has data under. */
interface Placed extends ListedConversation {
  /** Which tenant's list it is from. */
  readonly index: number;
}

export interface Stood extends Placed {
  readonly standing: ConversationNumbers;
  readonly status: Status;
}

/** Where a page begins: after this place in the list of the tenant with this index. */
export interface Place extends ListPlace {
  readonly index: number;
}

/**
 * The conversations of a caller in the order of a query. Conversations with the same value come in
 * the order of the tenants, so under `created` one list follows the other.
 *
 * @param after the place to go on from; null: the beginning
 * @returns also how far it is complete, if a list has ended early; null if none has
 * @throws StoreError
 */
export async function listedOf(
  tenants: readonly Tenant[],
  { user, ...query }: CallersQuery,
  after: Place | null,
  most: number,
  services: Services,
): Promise<{ readonly found: Placed[]; readonly stopped: Place | null }> {
  const isDescending = query.order === 'desc';
  const rankOf = (index: number): number => (isDescending ? index : -index);
  const lists = await Promise.all(
    tenants.map(async ({ id }, index) => {
      await services.runOutboxes.settled(id);
      const isLater = after !== null && rankOf(index) > rankOf(after.index);
      const beside = isLater === isDescending ? LAST_AT : FIRST_AT;
      const place = after && { ...after, at: index === after.index ? after.at : beside };
      const names = user === undefined ? '' : `${userName(id, user)}:`;
      const { found, stopped } = await services.tenant(id)((stub) =>
        stub.conversations.list({ ...query, names }, place, most),
      );
      return { found: found.map((one) => ({ ...one, index })), stopped: stopped && { ...stopped, index } };
    }),
  );
  const inList = comparePlaces(query.order);
  const compare = (one: Place, other: Place): number =>
    inList({ ...one, at: 0 }, { ...other, at: 0 }) ||
    rankOf(one.index) - rankOf(other.index) ||
    inList(one, other);
  const [stop] = lists.flatMap(({ stopped }) => stopped ?? []).sort(compare);
  const found = lists.flatMap((list) => list.found).sort(compare);
  const complete = stop ? found.filter((one) => compare(one, stop) <= 0) : found;
  return { found: complete.slice(0, most), stopped: stop ?? null };
}

/** Reads a few at a time. @throws StoreError */
export function standingsOf(listed: readonly Placed[], services: Services): Promise<Stood[]> {
  return fewAtOnce(AT_ONCE, listed, async (one) => {
    const standing = await services.conversation(one.name)((stub) => stub.standing());
    return { ...one, standing, status: statusOf(standing) };
  });
}

/** A single retry is no degradation: the next request may succeed. */
function statusOf({ stuck, health }: ConversationNumbers): Status {
  if (stuck) return 'stuck';
  return health === 'degraded' || health === 'recovering' ? 'degraded' : 'healthy';
}
