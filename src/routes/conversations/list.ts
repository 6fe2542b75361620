/**
 * `GET /v1/conversations`: the caller's conversations (docs/conversations.md#all-conversations).
 */
import { AT_ONCE } from '../../lib/slots.ts';
import { secondsOf } from '../../lib/utc-time.ts';
import { billSumsJson } from '../../memory/money/bill-sums.ts';
import { invalid } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import { idsIn, openingIn } from '../../storage/conversation/names.ts';
import { ORDERS, OUTCOMES, type Range, SORTS } from '../../storage/tenant/listing.ts';
import { type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { countIn, cursorIn, type PageSizes } from '../query.ts';
import { stored } from '../stored.ts';
import {
  type CallersQuery,
  listedOf,
  type Place,
  STATUSES,
  type Status,
  type Stood,
  standingsOf,
} from './standings.ts';

const PAGE: PageSizes = { usual: 20, largest: 100 };

/** How many conversations a page looks at, where most have another status than the wanted one. */
const MOST_READ = 100;

/** In characters, of a search, a user, a model or an agent. */
const LONGEST_TEXT = 256;

/**
 * With a search or a filter, a page may be shorter than its limit, or empty, and not be the last:
 * it looks at a bounded number of conversations.
 */
export async function listConversations(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const tenants = tenantsOf(await verifiedTenant(c, 'read'));
  const limit = countIn(c, 'limit', PAGE);
  const status = oneOf(STATUSES, 'status', c.req.query('status'));
  const query = queryIn((name) => c.req.query(name));
  const place = placeIn(c, query);
  const { found, next } = await stored(c, () => pageOf(tenants, query, place, limit, status, services));
  return c.json({
    object: 'list',
    data: found.map(conversationJson),
    has_more: next !== null,
    cursor: next && cursorOf(next, query),
  });
}

/** @throws ApiError that names the parameter */
function queryIn(asked: (name: string) => string | undefined): CallersQuery {
  return {
    sort: oneOf(SORTS, 'sort', asked('sort')) ?? 'created',
    order: oneOf(ORDERS, 'order', asked('order')) ?? 'desc',
    text: textIn('q', asked('q')) ?? '',
    user: textIn('user', asked('user')) || undefined,
    model: textIn('model', asked('model')) || undefined,
    agent: textIn('agent', asked('agent')) || undefined,
    outcome: oneOf(OUTCOMES, 'outcome', asked('outcome')),
    used: rangeIn(asked, 'used_since', 'used_until', 'seconds since 1970', 1_000),
    paid: rangeIn(asked, 'paid_from', 'paid_to', 'nanodollars', 1),
  };
}

async function pageOf(
  tenants: readonly Tenant[],
  query: CallersQuery,
  start: Place | null,
  limit: number,
  wanted: Status | undefined,
  services: Services,
): Promise<{ found: Stood[]; next: Place | null }> {
  const most = wanted === undefined ? limit : MOST_READ;
  // At once, since each listing may sort all conversations. One more shows whether there are any.
  const { found: listed, stopped } = await listedOf(tenants, query, start, most + 1, services);
  const candidates = listed.slice(0, most);
  const found: Stood[] = [];
  let read = 0;
  while (read < candidates.length && found.length < limit) {
    const few = candidates.slice(read, read + Math.max(AT_ONCE, limit - found.length));
    for (const one of await standingsOf(few, services)) {
      if (found.length === limit) break;
      if (wanted === undefined || one.status === wanted) found.push(one);
      read++;
    }
  }
  return { found, next: read < listed.length ? (candidates[read - 1] ?? null) : stopped };
}

function conversationJson({ name, lastUsed, standing, status }: Stood): object {
  const { user, conversation } = idsIn(name);
  const { health, tokens, versions, requests, newest } = standing;
  return {
    id: conversation ?? null,
    opening: openingIn(name) ?? null,
    object: 'memory.conversation',
    user: user ?? null,
    status,
    health,
    last_used_at: lastUsed === null ? null : secondsOf(lastUsed),
    tokens,
    versions,
    requests,
    last_request_at: newest && secondsOf(newest.at),
    last_request_status: newest?.status ?? null,
    model: newest?.model ?? null,
    agent: newest?.agent ?? null,
    bill: billSumsJson(standing.bills),
  };
}

/** The value of a query parameter that has only a few. @throws ApiError */
function oneOf<Value extends string>(
  values: readonly Value[],
  name: string,
  text: string | undefined,
): Value | undefined {
  const known = values.find((value) => value === text);
  if (text === undefined || known) return known;
  throw invalid(name, `${name} must be one of ${values.join(', ')}.`);
}

function textIn(name: string, text: string | undefined): string | undefined {
  if (text === undefined || text.length <= LONGEST_TEXT) return text;
  throw invalid(name, `${name} must have at most ${LONGEST_TEXT} characters.`);
}

/** @param factor from the unit of the parameters to the range's */
function rangeIn(
  asked: (name: string) => string | undefined,
  from: string,
  to: string,
  unit: string,
  factor: number,
): Range {
  const numberOf = (name: string): number | null => {
    const text = asked(name);
    if (text === undefined) return null;
    if (/^\d{1,15}$/.test(text)) return Number(text) * factor;
    throw invalid(name, `${name} must be a whole number of ${unit}, 0 or more.`);
  };
  return { from: numberOf(from), to: numberOf(to) };
}

/** `0-17`, or `0-17-4073600-0` in a list that is sorted by a value. */
function cursorOf({ index, at, value, walk }: Place, { sort }: CallersQuery): string {
  return sort === 'created' ? `${index}-${at}` : `${index}-${at}-${value}-${walk}`;
}

function placeIn(c: RouteContext, { sort }: CallersQuery): Place | null {
  const form = sort === 'created' ? /^(\d)-(\d{1,15})$/ : /^(\d)-(\d{1,15})-(-?\d{1,16})-(\d)$/;
  const [index, at, value = 0, walk = 0] = (cursorIn(c, form) ?? []).map(Number);
  return index === undefined || at === undefined ? null : { index, at, value, walk };
}
