/** Over which API a chat request is sent, and why (docs/bridges.md#when). */
import { isClaude } from '../../memory/models/families.ts';
import { needsResponses } from '../../memory/models/upstream-apis.ts';
import { upstreamApiOf } from '../../memory/modes/strategy.ts';
import type { Report } from '../../memory/plan/report.ts';
import type { BridgedApi } from '../../protocol/bridges/bridge.ts';
import type { Call } from '../../request/call.ts';
import { isRefused } from '../../request/model-refusals.ts';
import type { RequestScope } from '../../request/scope.ts';
import { bearerToken, isAnthropicKey, OPENAI } from '../../upstream/api.ts';

export interface Route {
  readonly api: BridgedApi;
  readonly because: 'setting' | 'model' | 'learned';
}

/** What an attempt reports of its API. */
export type ReportedApi = NonNullable<Report['upstream_api']>;

/** The API that a request is to be sent over; undefined for chat. */
export function routeOf({ request, chosen, scope }: Call, offersTools: boolean): Route | undefined {
  if (request.protocol !== 'chat') return undefined;
  const setting = upstreamApiOf(chosen.strategy);
  if (setting === 'chat') return undefined;
  if (setting !== 'auto') return { api: setting, because: 'setting' };
  if (isClaude(request.model))
    return needsMessages(request.model, scope) ? { api: 'messages', because: 'model' } : undefined;
  if (!request.hasTools && !offersTools) return undefined;
  if (isRefused('chat', request, scope)) return { api: 'responses', because: 'learned' };
  const isNeeded = needsResponses(request.model, request.settings.effort);
  return isNeeded ? { api: 'responses', because: 'model' } : undefined;
}

/** The names of Anthropic's models on its own server. */
const CLAUDE = /^claude-/;

/**
 * Whether a request can be answered over Messages alone. A gateway has names and accounts of its
 * own, so there a caller with its own key says itself where that is to go.
 */
function needsMessages(model = '', scope: RequestScope): boolean {
  const { access } = scope.services.config;
  const isKeyed = !access || access.anthropicApiKey !== undefined;
  return isKeyed && CLAUDE.test(model) && chatIsClosed(model, scope);
}

/**
 * Whether nobody answers a request over chat: there is no key for it, or OpenAI's own server would
 * be asked for a model or with a key of Anthropic's.
 */
function chatIsClosed(model = '', { headers, services: { config } }: RequestScope): boolean {
  const { access, upstreamIsOpenAi } = config;
  if (access && access.apiKey === undefined) return true;
  return upstreamIsOpenAi && (access ? CLAUDE.test(model) : isAnthropicKey(bearerToken(headers)));
}

/**
 * Whether a request gets its answer over an API or not at all, whatever that has refused: chat
 * would take a key of Anthropic's to OpenAI.
 */
export function isOnlyWay(api: BridgedApi, { request, scope }: Call): boolean {
  return api === 'messages' && chatIsClosed(request.model, scope);
}

/** Whether an API is known to be refused, so that requests for it are sent over chat. */
export function isRouteRefused(api: BridgedApi, call: Call): boolean {
  return isRefused(api, call.request, call.scope) && !isOnlyWay(api, call);
}

/** Whether a request may be sent over another API once its upstream asks for that. */
export function mayBridge({ request, chosen, scope }: Call): boolean {
  const isOpenAi = request.protocol === 'chat' && scope.api.name === OPENAI.name;
  return isOpenAi && upstreamApiOf(chosen.strategy) === 'auto';
}
