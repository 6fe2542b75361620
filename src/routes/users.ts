/**
 * `/v1/users/{user}/memory`: the summaries that a user's new conversations are given
 * (docs/conversations.md#seeing-and-correcting-it).
 */
import { secondsOf } from '../lib/utc-time.ts';
import { measureOf } from '../memory/models/facts.ts';
import { DEFAULT_INJECTION, writeInjection } from '../memory/strategy/injection.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { ApiError } from '../request/errors.ts';
import { checked } from '../request/owner.ts';
import type { Services } from '../request/services.ts';
import { passagesOf } from '../request/user-archive.ts';
import { MOST_PASSAGES } from '../retrieval/insert-passage.ts';
import type { ArchivedText } from '../storage/archive/rows.ts';
import { readable } from '../storage/archive/text.ts';
import { conversationName, idOfSession, sessionIn, userName } from '../storage/conversation/names.ts';
import type { UserEntry } from '../storage/tenant/remote.ts';
import { type Tenant, tenantsOf } from '../tenant/identity.ts';
import { MOST_CONVERSATIONS } from '../view/inject.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { deleteConversation } from './conversations/memory.ts';
import { deleted, deletion, stored } from './stored.ts';

/** More than a user's memory keeps. */
const ALL = { except: '', most: 1_000 };

/**
 * `GET /v1/users/{user}/memory`: a new conversation's block, all summaries, and the passages that
 * models have kept, newest first.
 */
export async function getUserMemory(c: RouteContext): Promise<Response> {
  const { user, tenant, services } = await target(c, 'read');
  const entries = await stored(c, () => services.user(userName(tenant.id, user))((stub) => stub.latest(ALL)));
  const passages = await stored(c, () => passagesIn(user, tenant, services));
  const measure = measureOf(undefined, undefined, services.config.tokenFactors);
  const { counter } = await services.cachesOf(tenant).counting(measure);
  return c.json({
    user,
    object: 'memory.user',
    injection: injectionOf(entries, counter),
    conversations: entries.map(({ conversation, text, at }) => ({
      id: idOfSession(conversation),
      text,
      updated_at: secondsOf(at),
    })),
    passages: passages.map(({ text, created }) => ({ text: readable(text), created_at: created })),
  });
}

/** The passages that models have kept for the user, newest first. */
async function passagesIn(user: string, tenant: Tenant, services: Services): Promise<ArchivedText[]> {
  const each = tenantsOf(tenant).map((one) => {
    const { memory } = passagesOf(user, one, services);
    return memory((stub) => stub.archive.texts(MOST_PASSAGES));
  });
  return (await Promise.all(each)).flat();
}

/** The block as a conversation without settings of its own gets it; null without one. */
function injectionOf(entries: readonly UserEntry[], counter: TokenCounter): object | null {
  const newest = entries.slice(0, MOST_CONVERSATIONS);
  const blockOf = (count: number): string =>
    writeInjection(
      newest.slice(0, count).map(({ text }) => text),
      DEFAULT_INJECTION.max_tokens,
      counter,
    );
  const text = blockOf(newest.length);
  if (text === '') return null;
  const shown = newest.filter((_, index) => blockOf(index + 1) !== blockOf(index));
  const conversations = shown.map(({ conversation }) => idOfSession(conversation));
  return { text, tokens: counter.text(text), conversations };
}

/** `DELETE /v1/users/{user}/memory`. */
export async function deleteUserMemory(c: RouteContext): Promise<Response> {
  const { user, tenant, services } = await target(c, 'change');
  const existed = await deletion(c, async (begin) => {
    const each: boolean[] = [];
    for (const one of tenantsOf(tenant)) {
      const name = userName(one.id, user);
      const memory = services.user(name);
      const isThere = (await memory((stub) => stub.latest(ALL))).length > 0;
      begin();
      await services.tenant(one.id)((stub) => stub.noteDeleted({ user: name }));
      if (isThere) await memory((stub) => stub.clear());
      const hadPassages = await deleteConversation(passagesOf(user, one, services), services, begin);
      each.push(isThere || hadPassages);
    }
    return each.includes(true);
  });
  if (!existed) throw notFound(user);
  return deleted(c, { user, object: 'memory.user.deleted' }, existed === true);
}

/** `DELETE /v1/users/{user}/memory/{conversation}`. */
export async function deleteUserEntry(c: RouteContext): Promise<Response> {
  const { user, tenant, services } = await target(c, 'change');
  const id = checked(c.req.param('conversation') ?? '', 'conversation') ?? '';
  const existed = await deletion(c, async (begin) => {
    const each: boolean[] = [];
    for (const one of tenantsOf(tenant)) {
      begin();
      each.push(await forget(one, user, id, services));
    }
    return each.includes(true);
  });
  if (!existed) throw notFound(user, id);
  return deleted(c, { id, user, object: 'memory.user.conversation.deleted' }, existed === true);
}

/** @returns whether there was an entry */
async function forget(
  { id: tenant }: Tenant,
  user: string,
  id: string,
  services: Services,
): Promise<boolean> {
  const memory = services.user(userName(tenant, user));
  const name = conversationName(tenant, user, { id });
  await services.tenant(tenant)((stub) => stub.noteDeleted({ entry: name }));
  const session = sessionIn(name);
  if (await memory((stub) => stub.forget(session))) return true;
  // The list names a conversation with a long id by the digest of that.
  if (!id.startsWith('##')) return false;
  await services.tenant(tenant)((stub) => stub.noteDeleted({ entry: `${userName(tenant, user)}:${id}` }));
  return memory((stub) => stub.forget(id));
}

async function target(c: RouteContext, use: 'read' | 'change') {
  const tenant = await verifiedTenant(c, use);
  const user = checked(c.req.param('user') ?? '', 'user') ?? '';
  return { user, tenant, services: c.get('services') };
}

function notFound(user: string, id?: string): ApiError {
  const of = id === undefined ? '' : ` of the conversation '${id}'`;
  return new ApiError(
    'conversation_not_found',
    `The memory of the user '${user}' holds nothing${of}.`,
    id === undefined ? 'user' : 'conversation',
  );
}
