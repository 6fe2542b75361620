/**
 * `GET /v1/conversations/{id}/requests`: the events of a conversation's requests
 * (docs/design.md#run-events).
 */
import { secondsOf } from '../../lib/utc-time.ts';
import { readHistory } from '../../memory/conversation/history.ts';
import { measureOf, TOKEN_ESTIMATORS } from '../../memory/models/facts.ts';
import { billSumsJson } from '../../memory/money/bill-sums.ts';
import { type ListedRun, outlineOfRun, type RunEvent } from '../../memory/run/event.ts';
import { shownEdits } from '../../memory/run/shown-edits.ts';
import { whyOf } from '../../memory/run/why.ts';
import { storedConversation } from '../../request/conversation.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import type { Session } from '../../storage/conversation/names.ts';
import type { ConversationMemoryStub } from '../../storage/objects.ts';
import { readFromEither, sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { anyBody, readAny } from '../any-protocol.ts';
import { type RouteContext, scopeOf } from '../context.ts';
import { countIn, cursorIn, type PageSizes } from '../query.ts';
import { stored } from '../stored.ts';
import { notFound, type Target, target } from './memory.ts';

const PAGE: PageSizes = { usual: 20, largest: 500 };

/** The number of a request, and the cursor of a list of them. */
const NUMBER = /^([1-9]\d{0,14})$/;

/** A page of events, newest first, with the sums of all bills of the conversation. */
export async function listRequests(c: RouteContext): Promise<Response> {
  const named = await target(c, 'read');
  const limit = countIn(c, 'limit', PAGE);
  const [before] = cursorIn(c, NUMBER) ?? [];
  // One more shows whether there are more.
  const page = await read(
    c,
    named,
    async (stub) => {
      const [runs, { bills }] = await Promise.all([
        stub.events.page(before === undefined ? null : Number(before), limit + 1),
        stub.standing(),
      ]);
      return runs && { runs, bills };
    },
    (found) => !found?.runs.length,
  );
  if (!page) throw notFound(named.id, named.user);
  const { runs, bills } = page;
  const data: readonly ListedRun[] = runs.slice(0, limit).map(onWire);
  const isLast = runs.length <= limit;
  const cursor = isLast ? null : String(data.at(-1)?.n);
  return c.json({
    object: 'list',
    data,
    has_more: !isLast,
    cursor,
    bill: billSumsJson(bills),
    behind_ms: 0,
    lost: 0,
  });
}

/** One event, with the outline of its view. */
export async function getRequest(c: RouteContext): Promise<Response> {
  const run = await findRun(c, await target(c, 'read'));
  return c.json({ ...onWire(run), outline: outlineOfRun(run) });
}

/** Why it was sent as it was, in a paragraph. */
export async function getWhy(c: RouteContext): Promise<Response> {
  const event = await findRun(c, await target(c, 'read'));
  const { n, request_id } = event;
  return c.json({ object: 'memory.request.why', n, request_id, why: whyOf(event) });
}

/** The event that a path names. @throws ApiError if it is not kept */
export async function findRun(c: RouteContext, named: Target): Promise<RunEvent> {
  const text = c.req.param('n') ?? '';
  if (!NUMBER.test(text)) throw invalid('n', 'The number of a request is 1 or more, as in the list.');
  const n = Number(text);
  const find = (stub: ConversationMemoryStub) => stub.events.find(n);
  const found = await read(c, named, find, (one) => !one);
  if (found) return found;
  if (found === null) throw notFound(named.id, named.user);
  throw new ApiError(
    'request_not_found',
    `The event of request ${n} of the conversation '${named.id}' is not kept; the list has the numbers of all that are.`,
    'n',
  );
}

function onWire<Run extends ListedRun>(run: Run): Run {
  return { ...run, created_at: secondsOf(run.created_at) };
}

/** The form of the hash of an opening (see `hashSession`). */
const OPENING = /^[0-9a-f]{64}$/;

/**
 * Reads of the conversation that the caller has named so, else of those without a name that have
 * this opening.
 */
async function read<Found>(
  c: RouteContext,
  { id, user, tenant, services }: Target,
  call: (stub: ConversationMemoryStub) => Promise<Found>,
  isNothing: (found: Found) => boolean,
): Promise<Found> {
  const readOf = (session: Session) => async (tenant: Tenant) => {
    const conversation = storedConversation(user, session, tenant, services);
    await services.runOutboxes.settled(conversation.name);
    return conversation.memory(call);
  };
  return stored(c, async () => {
    const found = await readFromEither(tenant, readOf({ id }), isNothing);
    if (!isNothing(found) || !OPENING.test(id)) return found;
    const unnamed = await readFromEither(tenant, readOf({ hash: id }), isNothing);
    return unnamed === null ? found : unnamed;
  });
}

/**
 * `POST /v1/conversations/{id}/requests/{n}/view`: what was in the view of a request instead of
 * each edit. Makes the texts again from the request's array, which the body has as `messages` or
 * `input`. Stores nothing, and asks no model.
 */
export async function showEdits(c: RouteContext): Promise<Response> {
  const body = await anyBody(c);
  const named = await target(c, 'read');
  const event = await findRun(c, named);
  const scope = scopeOf(c);
  const { request } = await readAny(body, scope);
  const estimator = TOKEN_ESTIMATORS.find((name) => name === event.placeholders?.token_estimator);
  const measure = measureOf(event.model ?? undefined, estimator, named.services.config.tokenFactors);
  const counting = await scope.caches.counting(measure);
  const context = { ...counting, refs: named.tenant.refs, digest: sha256Hex };
  const data = shownEdits(readHistory(request.messages), event, context);
  return c.json({ object: 'list', data });
}
