/** A request's conversation in storage: name, settings, and the summary that the caller holds. */
import { elementAt } from '../lib/elements.ts';
import { Latest } from '../lib/latest.ts';
import { oncePer } from '../lib/once.ts';
import { soon, within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import { firstAnswer } from '../memory/conversation/first-requests.ts';
import { type Hashed, prefixHashes } from '../memory/conversation/prefix-hash.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Settings } from '../storage/conversation/memories.ts';
import {
  askedSession,
  conversationName,
  type Session,
  sessionIn,
  userName,
} from '../storage/conversation/names.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { neutralize } from '../summary/text/headings.ts';
import type { HeldSummary } from '../summary/writer.ts';
import { readFromEither, sha256Hex, type Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { rememberedOf } from './beliefs.ts';
import type { Call } from './call.ts';
import { type FoundSettings, NOTHING_SET } from './choose-strategy.ts';
import { LONGEST_ID, type Owner } from './owner.ts';
import type { RequestScope } from './scope.ts';
import { sentSummary } from './sent-summary.ts';
import type { Services } from './services.ts';

/**
 * The group of a request's refs and archive: the conversation it names, else the session that its
 * client names (docs/conversations.md), else the hash of its first messages. Undefined before there
 * is an answer.
 */
export function groupOf(
  messages: readonly Hashed[],
  owner: Owner,
  { session = '' }: Pick<RequestScope, 'session'>,
): Session | undefined {
  if (owner.conversation !== undefined) return { id: owner.conversation };
  if (session !== '' && session.length <= LONGEST_ID) return { id: session };
  return hashSession(messages);
}

/** What the group of a call depends on. */
export interface ArrayOfCall extends Pick<Call, 'owner' | 'scope'> {
  readonly request: Pick<ModelRequest, 'messages' | 'bytes'>;
}

/** The name under which a call's refs are noted; undefined before there is an answer. */
export function groupNameOf(tenant: Tenant, { request, owner, scope }: ArrayOfCall): string | undefined {
  const group = groupOf(request.messages, owner, scope);
  return group && conversationName(tenant.id, owner.user, group);
}

/**
 * Whether a call came before its conversation, or all data of its caller, was deleted, as far as
 * this isolate knows. Nothing of it is stored from then on.
 */
export function isOvertaken(call: ArrayOfCall): boolean {
  const { caller, services, timings } = call.scope;
  const { tenant } = caller;
  if (!tenant) return false;
  return services.memory.isDeletedSince(() => groupNameOf(tenant, call) ?? tenant.id, timings.startedAt);
}

/**
 * The session of a conversation without a name: the hash of its messages up to the first answer;
 * undefined before there is one.
 */
export function hashSession(messages: readonly Hashed[]): Session | undefined {
  return sessions.of(messages, [], () => {
    const end = firstAnswer(messages) + 1;
    return end === 0 ? undefined : { hash: elementAt(prefixHashes(messages.slice(0, end), sha256Hex), end) };
  });
}

/** Of arrays of messages, since a request asks for it several times. */
const sessions = new Latest<readonly Hashed[], Session | undefined>();

export function storedConversation(
  user: string | undefined,
  session: Session,
  tenant: Tenant,
  services: Services,
): StoredConversation {
  const name = conversationName(tenant.id, user, session);
  const named = 'id' in session ? session.id : undefined;
  return {
    tenant,
    name,
    label: named ?? ('hash' in session ? session.hash : ''),
    memory: services.conversation(name),
    remembered: rememberedOf(services.memory, name),
    publishTo:
      named === undefined || user === undefined
        ? undefined
        : { user: userName(tenant.id, user), conversation: sessionIn(name) },
  };
}

/** The conversation that gets its name with the answer to a request. @param answer its messages */
export function namedByAnswer(
  { request, owner, scope }: Pick<Call, 'request' | 'owner' | 'scope'>,
  tenant: Tenant,
  answer: readonly Hashed[],
): StoredConversation | undefined {
  const session = hashSession([...request.messages, ...answer]);
  return session && storedConversation(owner.user, session, tenant, scope.services);
}

/**
 * Where the first answer of a conversation is until the caller's next request names that.
 *
 * @param key the answer's
 */
export function namedByKey(
  { owner, scope }: Pick<Call, 'owner' | 'scope'>,
  tenant: Tenant,
  key: string,
): StoredConversation {
  return storedConversation(owner.user, askedSession(key), tenant, scope.services);
}

/** The only value of a conversation in `userlessSettings`. */
const SETTINGS = '';

/** The settings of the conversation in the request; undefined if they can't be read. */
export async function settingsOf(
  owner: Owner,
  { caller, services, timings }: RequestScope,
): Promise<FoundSettings | undefined> {
  if (!caller.tenant || owner.conversation === undefined) return NOTHING_SET;
  const session = { id: owner.conversation };
  const { tenant } = caller;
  const settingsUnder = (user: string | undefined, isUse: boolean) => (tenant: Tenant) => {
    const { memory } = storedConversation(user, session, tenant, services);
    return memory((stub) => stub.state.settings(isUse));
  };
  const read = async (): Promise<FoundSettings> => {
    const own = within(
      TIME_LIMITS.refWriteMs,
      readFromEither(tenant, settingsUnder(owner.user, true), isUnset),
    );
    if (owner.user === undefined) return own;
    // Asked at the same time, and waited for only where the user has none.
    const asked = soon(TIME_LIMITS.userlessSettingsMs, withoutUser());
    const settings = await own;
    const others = isUnset(settings) ? await asked : undefined;
    return others && !isUnset(others) ? { ...settings, withoutUser: others } : settings;
  };
  // Asked for now and then, since they only make a warning. They may be another conversation's.
  const withoutUser = async (): Promise<Settings> => {
    const userless = services.memory.of('userlessSettings');
    const name = conversationName(tenant.id, undefined, session);
    const known = userless.get(name, SETTINGS);
    if (known) return known.value;
    const at = Date.now();
    // One that does not answer is not waited for by each request.
    userless.set(name, SETTINGS, NOTHING_SET, at);
    try {
      const read = await readFromEither(tenant, settingsUnder(undefined, false), isUnset);
      userless.set(name, SETTINGS, read, at);
      return read;
    } catch (error) {
      logCaught(services.log, 'warn', 'settings without a user could not be read', error);
      return NOTHING_SET;
    }
  };
  try {
    return await timings.measure('store', read);
  } catch (error) {
    logCaught(services.log, 'warn', 'a conversation could not be asked for its settings', error);
    return undefined;
  }
}

function isUnset({ memory_strategy, memory_injection }: Settings): boolean {
  return memory_strategy === null && memory_injection === null;
}

/** The caller's summary and where it ends in this array; `stale` if it covers other messages. */
export function heldSummary(
  request: ModelRequest,
  boundaries: Boundaries,
): HeldSummary | 'stale' | undefined {
  const sent = sentSummary(request);
  if (!sent) return undefined;
  const { text, covers, prefix_hash, ref } = sent;
  // By hash and not by index, since a longer preamble shifts the indices.
  const boundary = boundaries.ofHash(prefix_hash);
  if (!boundary) return 'stale';
  return { text: neutralize(text), from: Math.min(covers[0], boundary.end - 1), end: boundary.end, ref };
}

/**
 * The conversation of a request: the one it names, else one named by the hash of its messages up to
 * the first answer. The hash is safe, since a summary is only found by the hash of all messages it
 * covers. Undefined without a tenant, and before there is an answer.
 */
export const conversationOfCall: (call: Call) => StoredConversation | undefined = oncePer(
  ({ request, owner, scope }: Call) => {
    const { tenant } = scope.caller;
    const { conversation: id, user } = owner;
    const session = id === undefined ? hashSession(request.messages) : { id };
    return tenant && session && storedConversation(user, session, tenant, scope.services);
  },
);
