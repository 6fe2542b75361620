/** The context of one request, whatever it asks for. */
import { partOfSearch, urlOf } from '../lib/request-url.ts';
import { Timings } from '../lib/server-timing.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import type { RequestUpkeep } from '../storage/upkeep.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Verdict } from '../upstream/acceptance.ts';
import { ANTHROPIC, bearerToken, isAnthropicKey, OPENAI, type UpstreamApi } from '../upstream/api.ts';
import { verdictOn } from '../upstream/key-verdict.ts';
import { type Caller, callerOf } from './callers/caller.ts';
import { Spending } from './callers/spending.ts';
import type { ContentCaches } from './content-caches.ts';
import type { NamedOwner } from './owner.ts';
import type { Agent, Services } from './services.ts';

export interface RequestScope {
  readonly services: Services;
  /** The request unchanged. */
  readonly incoming: Request;
  readonly api: UpstreamApi;
  readonly agent: Agent | undefined;
  readonly caller: Caller;
  readonly caches: ContentCaches;
  readonly headers: Headers;
  readonly waitUntil: WaitUntil;
  readonly timings: Timings;
  /** Absent where nothing is traced. */
  readonly trace?: RequestTrace | undefined;
  /** The facts about storage that this request relies on. */
  readonly upkeep: RequestUpkeep;
  /** The session in the caller's headers. It only groups refs and the archive. */
  readonly session: string | undefined;
  /** The conversation and the user that the path and its query name. */
  readonly named?: NamedOwner;
  /** Absent for a caller without limits. */
  readonly spending?: Spending | undefined;
  /** Whether the upstream accepts the caller's key. */
  isAccepted(tenant: Tenant): Promise<boolean>;
  /** Likewise, so that contents may be stored, and the caller may spend what summaries cost. */
  mayStore(tenant: Tenant): Promise<boolean>;
}

/** Precis's own header, and the headers of opencode and Codex (docs/conversations.md). */
const SESSION_HEADERS = ['x-conversation-id', 'x-session-id', 'session-id'];

type Origin = Pick<RequestScope, 'services' | 'incoming' | 'api' | 'agent' | 'trace' | 'named' | 'waitUntil'>;

/** @throws ApiError `invalid_api_key` */
export function scopeFor({ services, incoming, api, agent, trace, named, waitUntil }: Origin): RequestScope {
  const { headers } = incoming;
  const caller = callerOf(headers, services, api);
  let verdict: Promise<Verdict> | undefined;
  let caches: ContentCaches | undefined;
  const { limits } = caller;
  const spending =
    limits && caller.tenant ? new Spending(limits, caller.tenant, services, waitUntil) : undefined;
  const isAccepted = async (tenant: Tenant): Promise<boolean> => {
    const judge = judgeOf(headers, api, services);
    if (services.accepted.known(tenant.id, judge.api.name) === 'accepted') return true;
    const asker = { headers: judge.headers, search: callersSearch({ incoming, named }) };
    verdict ??= verdictOn(tenant, asker, judge.api, services);
    return (await verdict) === 'accepted';
  };
  return {
    services,
    incoming,
    api,
    agent,
    ...(named && { named }),
    caller,
    get caches() {
      caches ??= services.cachesOf(caller.tenant);
      return caches;
    },
    headers,
    timings: new Timings(trace?.spent),
    trace,
    upkeep: services.upkeep.ofRequest(),
    get session() {
      return SESSION_HEADERS.map((name) => headers.get(name)).find((value) => value !== null) ?? undefined;
    },
    waitUntil,
    spending,
    isAccepted,
    mayStore: async (tenant) =>
      (await isAccepted(tenant)) && (!spending || (await spending.check().then(yes, no))),
  };
}

/**
 * Whom Precis's own questions with a caller's key are sent to: OpenAI's own server never gets a key
 * of Anthropic's.
 */
export function judgeOf(
  headers: Headers,
  api: UpstreamApi,
  { config }: Services,
): { readonly api: UpstreamApi; readonly headers: Headers } {
  const key = bearerToken(headers);
  if (
    api !== OPENAI ||
    config.access ||
    !config.upstreamIsOpenAi ||
    key === undefined ||
    !isAnthropicKey(key)
  )
    return { api, headers };
  const own = new Headers(headers);
  ANTHROPIC.setKey(own, key);
  return { api: ANTHROPIC, headers: own };
}

const yes = (): true => true;
/** The request is refused before it is sent. */
const no = (): false => false;

/** Of routes that name a conversation in their path. */
const OWN_PARAMETERS = ['user'];

/**
 * The query of a request as far as it is for the upstream: without the parameters of its own route.
 *
 * @param named the conversation, if the path names one
 */
export function callersSearch({
  incoming,
  named,
}: {
  readonly incoming: Request;
  readonly named?: object | undefined;
}): string {
  const { search } = urlOf(incoming);
  return named ? partOfSearch(search, (name) => !OWN_PARAMETERS.includes(name)) : search;
}
