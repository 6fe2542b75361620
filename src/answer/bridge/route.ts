/** Over which API a chat request is sent, and why (docs/bridges.md#when). */
import { isClaude } from '../../memory/models/families.ts';
import { needsResponses } from '../../memory/models/upstream-apis.ts';
import { upstreamApiOf } from '../../memory/modes/strategy.ts';
import type { Report } from '../../memory/plan/report.ts';
import type { BridgedApi } from '../../protocol/bridges/bridge.ts';
import type { Call } from '../../request/call.ts';
import { isRefused } from '../../request/model-refusals.ts';
import type { RequestScope } from '../../request/scope.ts';
import { OPENAI } from '../../upstream/api.ts';

export interface Route {
  readonly api: BridgedApi;
  readonly because: 'setting' | 'model' | 'learned';
}

/** What an attempt reports of its API. */
export type ReportedApi = NonNullable<Report['upstream_api']>;

/**
 * The API that a request is to be sent over; undefined for chat.
 *
 * @param offersTools whether the model is given tools of Precis
 */
export function routeOf({ request, chosen, scope }: Call, offersTools: boolean): Route | undefined {
  if (request.protocol !== 'chat') return undefined;
  const setting = upstreamApiOf(chosen.strategy);
  if (setting === 'chat') return undefined;
  if (setting !== 'auto') return { api: setting, because: 'setting' };
  if (isClaude(request.model))
    return prefersMessages(request.model, scope) ? { api: 'messages', because: 'model' } : undefined;
  if (!request.hasTools && !offersTools) return undefined;
  if (isRefused('chat', request, scope)) return { api: 'responses', because: 'learned' };
  const isNeeded = needsResponses(request.model, request.settings.effort);
  return isNeeded ? { api: 'responses', because: 'model' } : undefined;
}

/**
 * Whether a model is Anthropic's by its own name, and the deployer has a key for Anthropic beside
 * OpenAI's server, which has no such model. A gateway has names and accounts of its own, and a
 * caller with its own key says itself where that is to go.
 */
function prefersMessages(model: string | undefined, { services: { config } }: RequestScope): boolean {
  const isKeyed = config.access?.anthropicApiKey !== undefined && config.upstreamIsOpenAi;
  return isKeyed && /^claude-/.test(model ?? '');
}

/** Whether a request may be sent over another API once its upstream asks for that. */
export function mayBridge({ request, chosen, scope }: Call): boolean {
  const isOpenAi = request.protocol === 'chat' && scope.api.name === OPENAI.name;
  return isOpenAi && upstreamApiOf(chosen.strategy) === 'auto';
}
