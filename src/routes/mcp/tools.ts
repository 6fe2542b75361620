/**
 * The tools for clients of the Model Context Protocol: the ones that models get, for any holder of
 * the key.
 */
import { copyOf } from '../../lib/copy.ts';
import type { Result } from '../../lib/result.ts';
import { AT_ONCE, fewAtOnce, Room } from '../../lib/slots.ts';
import { logCaught } from '../../log.ts';
import { measureOf } from '../../memory/models/facts.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import type { ToolResult } from '../../protocol/answers/tool-turn.ts';
import { isCarried, type Media } from '../../protocol/held-media.ts';
import { storedConversation } from '../../request/conversation.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import { checked } from '../../request/owner.ts';
import type { Services } from '../../request/services.ts';
import { shelfOf } from '../../request/shelf.ts';
import { UserArchive } from '../../request/user-archive.ts';
import {
  describeRefs,
  isWanted,
  type Listable,
  listConversationDefinition,
  type RefFilter,
  readList,
} from '../../retrieval/list-refs.ts';
import { Retriever } from '../../retrieval/retriever.ts';
import {
  describeHits,
  findHits,
  readSearch,
  type Search,
  searchConversationDefinition,
  searchKindOf,
} from '../../retrieval/search-memory.ts';
import { definitionOf } from '../../retrieval/tool.ts';
import { Archive } from '../../storage/archive/archive.ts';
import { idsIn } from '../../storage/conversation/names.ts';
import { RefStore } from '../../storage/refs/store.ts';
import { readFromEither, type Tenant } from '../../tenant/identity.ts';
import type { RouteContext } from '../context.ts';
import { notFound } from '../conversations/memory.ts';
import { stored } from '../stored.ts';
import type { ServedTool } from './server.ts';

export function mcpTools(c: RouteContext, tenant: Tenant): ServedTool[] {
  const { config } = c.get('services');
  return [
    {
      definition: definitionOf('retrieve_ref'),
      call: (args) => inWords(c, () => retrieve(c, tenant, args)),
    },
    {
      definition: listConversationDefinition(),
      call: (args) => inWords(c, () => list(c, tenant, args)),
    },
    {
      definition: searchConversationDefinition(searchKindOf(config), config.userArchives),
      call: (args) => inWords(c, () => search(c, tenant, args)),
    },
  ];
}

/** No view limits this call: it reads any ref of the tenant, like `/v1/refs`. */
async function retrieve(c: RouteContext, tenant: Tenant, args: string): Promise<Result<ToolResult, string>> {
  const services = c.get('services');
  const counter = await counterOf(tenant, services);
  const shelf = shelfOf(tenant, services, (work) => c.executionCtx.waitUntil(work));
  const carries = (media: Media): boolean => media.kind === 'image' && isCarried(media);
  return new Retriever(shelf, counter, () => true, undefined, [], carries).find(args);
}

/** Contents of a conversation that were removed from a view, as far as they are still stored. */
async function list(c: RouteContext, tenant: Tenant, args: string): Promise<Result<string, string>> {
  const read = readList(args);
  if (!read.ok) return read;
  const named = conversationOf(c, read.value);
  const services = c.get('services');
  const listIn = async (tenant: Tenant): Promise<{ found: Listable[]; unlooked: boolean } | null> => {
    const { name } = await conversationIn(tenant, named, services);
    const refs = await services.tenant(tenant.id)((stub) => stub.conversations.refsOf(name, MOST_OPENED + 1));
    const store = new RefStore(services.bucket, tenant);
    if (!refs) return null;
    const found = await openedRefs(refs.slice(0, MOST_OPENED), store, read.value);
    return { found, unlooked: refs.length > MOST_OPENED };
  };
  const listed = await stored(c, () => readFromEither(tenant, listIn, (one) => !one?.found.length));
  if (!listed) throw notFound(named.id, named.user);
  return { ok: true, value: describeRefs(listed.found, await counterOf(tenant, services), listed) };
}

async function search(c: RouteContext, tenant: Tenant, args: string): Promise<Result<string, string>> {
  const read = readSearch(args);
  if (!read.ok) return read;
  if (read.value.scope === 'user') return searchUser(c, tenant, read.value);
  const named = conversationOf(c, read.value);
  const services = c.get('services');
  const searchIn = async (tenant: Tenant): ReturnType<typeof findHits> => {
    const conversation = await conversationIn(tenant, named, services);
    return findHits(new Archive(conversation, services.bucket, services.log), read.value.query);
  };
  const found = await stored(c, () => readFromEither(tenant, searchIn, (some) => !some?.hits.length));
  if (!found) throw notFound(named.id, named.user);
  return { ok: true, value: describeHits(found, await counterOf(tenant, services)) };
}

/** Searches the archives of all conversations of the user that the client or the call names. */
async function searchUser(
  c: RouteContext,
  tenant: Tenant,
  { query, user: inCall }: Search,
): Promise<Result<string, string>> {
  const services = c.get('services');
  if (!services.config.userArchives)
    throw invalid('scope', 'This deployment only searches single conversations.');
  const user = checked(c.req.header('x-memory-user') || inCall, 'user');
  if (user === undefined) throw invalid('user', 'Which user? Call again with user.');
  const found = await stored(c, () => findHits(new UserArchive(user, tenant, services), query));
  if (!found) return { ok: true, value: 'Nothing is kept for this user yet.' };
  return { ok: true, value: describeHits(found, await counterOf(tenant, services)) };
}

interface Named {
  readonly id: string;
  readonly user: string | undefined;
}

/**
 * The conversation of a call. An id in the call's arguments takes precedence over the header, which
 * is the default. For the user it is the other way round, as in the other routes: the client's
 * configuration decides for whom its model may search.
 */
function conversationOf(c: RouteContext, search: Pick<Search, 'conversation' | 'user'>): Named {
  const id = checked(
    search.conversation ?? (c.req.header('x-conversation-id') || undefined),
    'conversation_id',
  );
  if (id === undefined)
    throw invalid('conversation_id', 'Which conversation? Call again with conversation_id.');
  return { id, user: checked(c.req.header('x-memory-user') || search.user, 'user') };
}

/** The conversation under one of the tenant's secrets. */
async function conversationIn(tenant: Tenant, { id, user }: Named, services: Services) {
  const owner = await userOfSession({ id, user }, tenant, services);
  return storedConversation(owner, { id }, tenant, services);
}

async function counterOf(tenant: Tenant, services: Services): Promise<TokenCounter> {
  return (await services.cachesOf(tenant).counting(measureOf(undefined))).counter;
}

/** Runs a call; errors become its result. Only an `ApiError` shows its message. */
async function inWords(
  c: RouteContext,
  work: () => Promise<Result<ToolResult, string>>,
): Promise<Result<ToolResult, string>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, reason: error.message };
    logCaught(c.get('services').log, 'error', 'a tool has failed', error);
    return { ok: false, reason: 'Precis failed on this call.' };
  }
}

/** A UUID, and the agent's id in the conversation of a subagent (`request/claude-code.ts`). */
const SESSION = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[\w-]+)?$/;

/** An account, a device, or the form of earlier versions (`request/owner.ts`). */
const OF_CLAUDE_CODE = /^(?:[0-9a-f-]{32,}|user_[0-9a-f]+_account_[0-9a-f-]*)$/;

/**
 * The user of a session of Claude Code, for clients that know the session alone: its user is an
 * account or a device, which nobody writes down.
 *
 * What this opens is held to what Claude Code makes. A session's id is random, so whoever names it
 * has been given it; ids that could be guessed are left out, and so are users whom an application
 * has named. If more than one user has the session, none is chosen. A user that the client or the
 * call names stays, and a deployment that requires explicit keys finds nobody.
 */
async function userOfSession(
  { id, user }: Named,
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

export const MOST_OPENED = 200;

/** Stored bytes that are open at once for one list. A larger content is open alone. */
const MOST_OPEN_BYTES = 4 * 1024 * 1024;

/** Characters of a content that are kept for its line. */
const BEGINNING = 1_000;

/** The contents that a call asks for, the latest first. Of each, only the beginning is kept. */
export async function openedRefs(
  refs: readonly string[],
  store: Pick<RefStore, 'get'>,
  filter: RefFilter,
): Promise<Listable[]> {
  const room = new Room(MOST_OPEN_BYTES);
  const opened = await fewAtOnce(AT_ONCE, refs, async (ref) => {
    let leave = (): void => {};
    const admit = async (bytes: number): Promise<void> => {
      leave = await room.take(bytes);
    };
    try {
      const { metadata, content } = (await store.get(ref, admit)) ?? {};
      if (!metadata || !content) return [];
      const { tool_name: tool, tool_call_id: callId, tokens, created } = metadata;
      const listable = { ref, tool, callId, tokens, created, text: new TextDecoder().decode(content) };
      if (!isWanted(listable, filter)) return [];
      return [{ ...listable, text: copyOf(listable.text.slice(0, BEGINNING)) }];
    } finally {
      leave();
    }
  });
  return opened.flat().sort((one, other) => other.created - one.created);
}
