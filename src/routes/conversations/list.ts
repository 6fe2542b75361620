/** `GET /v1/conversations`: the caller's conversations (docs/design.md#5-routes). */
import type { Context } from 'hono';
import { secondsOf } from '../../lib/seconds.ts';
import { billSumsJson } from '../../memory/money/bill-sums.ts';
import { ApiError } from '../../request/errors.ts';
import type { AppEnv, Services } from '../../request/services.ts';
import { idsIn, openingIn } from '../../storage/conversation/names.ts';
import { type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { type PageSizes, pageSize } from '../page-size.ts';
import { stored } from '../stored.ts';
import { verifiedTenant } from '../verified-tenant.ts';
import { STATUSES, type Status, type Stood, standingsOf } from './standings.ts';

const PAGE: PageSizes = { usual: 20, largest: 100, code: 'invalid_json' };

/** How many conversations a page looks at, where most have another status than the wanted one. */
const MOST_READ = 100;

/** Where a page begins: a secret's list (0: the present secret's), and a place in it. */
interface Place {
  readonly index: number;
  readonly before: number | null;
}

/** With `status`, a page may be shorter than its limit, or empty, and not be the last. */
export async function listConversations(c: Context<AppEnv>): Promise<Response> {
  const services = c.get('services');
  const tenants = tenantsOf(await verifiedTenant(c, 'read'));
  const limit = pageSize(c.req.query('limit'), PAGE);
  const status = statusIn(c.req.query('status'));
  const place = placeIn(c.req.query('cursor'));
  const { found, next } = await stored(c, () => pageOf(tenants, place, limit, status, services));
  return c.json({
    object: 'list',
    data: found.map(conversationJson),
    has_more: next !== undefined,
    cursor: next ? `${next.index}-${next.before ?? ''}` : null,
  });
}

async function pageOf(
  tenants: readonly Tenant[],
  start: Place,
  limit: number,
  wanted: Status | undefined,
  services: Services,
): Promise<{ found: Stood[]; next: Place | undefined }> {
  const found: Stood[] = [];
  let { index, before } = start;
  let count = 0;
  for (let tenant = tenants[index]; tenant; tenant = tenants[index]) {
    if (found.length === limit || count >= MOST_READ)
      return { found, next: await unlessOver(tenants, { index, before }, services) };
    const most = Math.min(limit - found.length, MOST_READ - count);
    const read = await standingsOf(tenant, before, most, services);
    count += read.length;
    found.push(...read.filter(({ status }) => wanted === undefined || status === wanted));
    before = read.at(-1)?.at ?? null;
    // The end of this list: the next page begins with the next one.
    if (read.length < most) {
      index++;
      before = null;
    }
  }
  return { found, next: undefined };
}

/** The place, if there is anything after it. */
async function unlessOver(
  tenants: readonly Tenant[],
  place: Place,
  services: Services,
): Promise<Place | undefined> {
  const { index, before } = place;
  const tenant = tenants[index];
  if (!tenant) return undefined;
  const [next] = await services.tenant(tenant.id)((stub) => stub.list(before, 1));
  return next ? place : unlessOver(tenants, { index: index + 1, before: null }, services);
}

function conversationJson({ name, lastUsed, standing, status }: Stood): object {
  const { user, conversation } = idsIn(name);
  return {
    id: conversation ?? null,
    opening: openingIn(name) ?? null,
    object: 'memory.conversation',
    user: user ?? null,
    status,
    health: standing.health,
    last_used_at: lastUsed === null ? null : secondsOf(lastUsed),
    tokens: standing.tokens,
    versions: standing.versions,
    bill: billSumsJson(standing.bills),
  };
}

function statusIn(text: string | undefined): Status | undefined {
  const known = STATUSES.find((status) => status === text);
  if (text === undefined || known) return known;
  throw new ApiError('invalid_json', `status must be one of ${STATUSES.join(', ')}.`, 'status');
}

function placeIn(cursor: string | undefined): Place {
  if (cursor === undefined) return { index: 0, before: null };
  const [, index, before] = /^(\d)-(\d{0,15})$/.exec(cursor) ?? [];
  if (index !== undefined) return { index: Number(index), before: before ? Number(before) : null };
  throw new ApiError('invalid_json', 'cursor must be the cursor of the page before.', 'cursor');
}
