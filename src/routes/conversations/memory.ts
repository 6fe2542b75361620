/**
 * `/v1/conversations/{id}/memory`: a conversation's stored state and settings
 * (docs/conversations.md).
 */
import { secondsOf } from '../../lib/utc-time.ts';
import { namesNone } from '../../memory/modes/strategy.ts';
import { parsedInjection, parsedStrategy } from '../../request/choose-strategy.ts';
import { storedConversation } from '../../request/conversation.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import { checked } from '../../request/owner.ts';
import type { Services } from '../../request/services.ts';
import { checkSummarizer } from '../../request/summarizer-target.ts';
import { TenantBucket } from '../../storage/bucket.ts';
import {
  isNewestMade,
  type ListedMemory,
  type Overview,
  type Settings,
} from '../../storage/conversation/memories.ts';
import { RefStore } from '../../storage/refs/store.ts';
import { clearConversation } from '../../storage/tenant/deletion.ts';
import type { StoredConversation } from '../../summary/conversation.ts';
import { readFromEither, type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { untilSettled } from '../../view/until-settled.ts';
import { objectIn } from '../any-protocol.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { deleted, deletion, stored } from '../stored.ts';

export async function getMemory(c: RouteContext): Promise<Response> {
  const named = await target(c, 'read');
  return c.json(overviewJson(named.id, await overviewOfTarget(c, named)));
}

/**
 * `POST /v1/conversations/{id}/memory/flush`: waits until nothing more is made in the background,
 * and says whether the memory is up to date then.
 */
export async function flushMemory(c: RouteContext): Promise<Response> {
  const named = await target(c, 'read');
  const { id, conversation, services } = named;
  const limitMs = TIME_LIMITS.flushMs + TIME_LIMITS.routeStorageMs;
  const isIdle = await stored(
    c,
    async () => {
      await services.runOutboxes.settled(conversation.name);
      return untilSettled(conversation, services);
    },
    limitMs,
  );
  const overview = await overviewOfTarget(c, named);
  const isUpToDate = isIdle && isNewestMade(overview);
  return c.json({ ...overviewJson(id, overview), up_to_date: isUpToDate }, isUpToDate ? 200 : 202);
}

/** @throws ApiError if nothing is stored of the conversation */
async function overviewOfTarget(c: RouteContext, { id, user, tenant, services }: Target): Promise<Overview> {
  const overviewOf = (one: Tenant) => {
    const { memory } = storedConversation(user, { id }, one, services);
    return memory((stub) => stub.versions.overview());
  };
  const overview = await stored(c, () => readFromEither(tenant, overviewOf, ({ exists }) => !exists));
  if (!overview.exists) throw notFound(id, user);
  return overview;
}

/**
 * `PATCH /v1/conversations/{id}/memory`: changes the settings that the body names; null erases. A
 * body with a mode is the strategy itself.
 */
export async function patchMemory(c: RouteContext): Promise<Response> {
  const { id, user, memory, conversation, services } = await target(c, 'change');
  const changes = await readChanges(c.req.raw, services);
  const isEmpty = Object.keys(changes).length === 0;
  const overview = await stored(c, async () => {
    if (!isEmpty) await memory((stub) => stub.state.configure(changes));
    services.memory.of('userlessSettings').forget(conversation.name);
    return memory((stub) => stub.versions.overview());
  });
  if (isEmpty && !overview.exists) throw notFound(id, user);
  return c.json(overviewJson(id, overview));
}

/**
 * `DELETE /v1/conversations/{id}/memory`: deletes its summaries, archive, settings and events, its
 * entry in the user's memory, and the contents and transcripts that no other conversation refers
 * to.
 */
export async function deleteMemory(c: RouteContext): Promise<Response> {
  const { id, user, tenant, services } = await target(c, 'change');
  const existed = await deletion(c, async (begin) => {
    const each: boolean[] = [];
    for (const one of tenantsOf(tenant))
      each.push(await deleteConversation(storedConversation(user, { id }, one, services), services, begin));
    return each.includes(true);
  });
  if (!existed) throw notFound(id, user);
  return deleted(c, { id, object: 'memory.conversation.deleted' }, existed === true);
}

/**
 * @param begin see `deletion`
 * @returns whether there was anything
 * @throws if storage fails; the call can then be repeated
 */
export async function deleteConversation(
  { tenant, name, publishTo, memory }: StoredConversation,
  services: Services,
  begin: () => void,
): Promise<boolean> {
  const began = Date.now();
  const store = new RefStore(services.bucket, tenant);
  const uses = services.tenant(tenant.id);
  const unpublish = async (): Promise<void> => {
    if (publishTo) await services.user(publishTo.user)((stub) => stub.forget(publishTo.conversation));
  };
  const found = await uses((stub) => stub.conversations.find(name));
  begin();
  // The events of answers that have just ended would bring it back.
  const dropped = await services.runOutboxes.drop(name, began);
  const refs = found?.sole ?? [];
  // The objects' own records go last, so that a failed call can be repeated.
  await unpublish();
  services.memory.deleted(name, began);
  for (const ref of refs) services.memory.of('refs').delete(tenant.id, ref);
  await store.delete(refs);
  const left = await clearConversation(new TenantBucket(services.bucket, tenant), name, memory);
  // A request in progress may have published to the user's memory meanwhile.
  await unpublish();
  if (found) await uses((stub) => stub.conversations.release(found));
  await services.runOutboxes.drop(name, began);
  services.memory.deleted(name, began);
  for (const ref of refs) services.memory.of('refs').delete(tenant.id, ref);
  return (left.of !== 'all' && left.existed) || found !== null || dropped;
}

export interface Target {
  readonly id: string;
  readonly user: string | undefined;
  readonly tenant: Tenant;
  readonly services: Services;
  readonly conversation: StoredConversation;
  readonly memory: StoredConversation['memory'];
}

/** The user is named by the header, or by the query where a client can't set headers. */
export async function target(c: RouteContext, use: 'read' | 'change'): Promise<Target> {
  const services = c.get('services');
  const tenant = await verifiedTenant(c, use);
  const id = checked(c.req.param('id') ?? '', 'id') ?? '';
  const user = checked(c.req.header('x-memory-user') || c.req.query('user') || undefined, 'x-memory-user');
  const conversation = storedConversation(user, { id }, tenant, services);
  return { id, user, tenant, services, conversation, memory: conversation.memory };
}

/** @param user of the request that found nothing */
export function notFound(id: string, user: string | undefined): ApiError {
  const of = `Nothing is stored for the conversation '${id}'`;
  const message =
    user === undefined
      ? `${of}. If its requests name a user, name that user here too, as user or by the header x-memory-user.`
      : `${of} of the user '${user}'.`;
  return new ApiError('conversation_not_found', message, 'id');
}

/** Members of the answer that no request can set. */
const READ_ONLY = ['id', 'object', 'health', 'conversation_memory', 'memories', 'rounds', 'stats', 'stuck'];

/** The settings that a body names. @throws ApiError that names the field */
async function readChanges(request: Request, services: Services): Promise<Partial<Settings>> {
  const form = 'The body must be a JSON object with memory_strategy, memory_injection, or both';
  const { memory_strategy, memory_injection, ...rest } = await objectIn(request, form);
  const fixed = READ_ONLY.find((name) => name in rest);
  if (fixed !== undefined)
    throw invalid(
      fixed,
      `${fixed} can't be changed; the body has memory_strategy, memory_injection, or both.`,
    );
  const bare = Object.keys(rest);
  if (bare.length > 0 && memory_strategy !== undefined)
    throw invalid(
      bare[0],
      `${bare[0]} is not a member of the settings; the strategy's fields belong in memory_strategy.`,
    );
  const strategy = bare.length > 0 ? rest : memory_strategy;
  const changes = {
    ...(strategy === undefined ? {} : { memory_strategy: namesNone(strategy) ? null : strategy }),
    ...(memory_injection === undefined ? {} : { memory_injection }),
  };
  checkSettings(changes, services);
  return changes;
}

/** @throws ApiError `invalid_memory_strategy`, with the field */
export function checkSettings(
  { memory_strategy: strategy = null, memory_injection: injection = null }: Partial<Settings>,
  services: Services,
): void {
  const parsed = strategy === null ? undefined : parsedStrategy(strategy);
  if (parsed) checkSummarizer(parsed, services);
  if (injection !== null) parsedInjection(injection);
}

export function overviewJson(id: string, overview: Overview): object {
  const { settings, health, conversation_memory, memories, rounds, stats, stuck } = overview;
  return {
    id,
    object: 'memory.conversation',
    memory_strategy: settings.memory_strategy,
    memory_injection: settings.memory_injection,
    health,
    conversation_memory,
    memories: memories.map(versionJson),
    rounds,
    stats,
    stuck,
  };
}

function versionJson({ created_at: created, completed_at: completed, ...version }: ListedMemory): object {
  return {
    ...version,
    created_at: secondsOf(created),
    completed_at: completed === null ? null : secondsOf(completed),
    // Of versions of one boundary, the first completed counts.
    completed_at_ms: completed,
  };
}
