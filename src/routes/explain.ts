/**
 * `POST /v1/explain`: what becomes of each message of an array under a strategy, and why. Stores
 * nothing, and asks no model.
 */
import type { Context } from 'hono';
import { type ModelApi, readRequest, readWholeCall } from '../answer/model-call.ts';
import { tellReport } from '../answer/tell-report.ts';
import { type Explanation, explainUnedited } from '../memory/plan/explain.ts';
import { tokenMeasure } from '../memory/strategy/strategy.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { readBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { checkPlanned } from '../request/known-key.ts';
import { scopeOf } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import { makeView } from '../view/make-view.ts';
import { CHAT } from './chat.ts';
import { flag, holdsItems } from './either-protocol.ts';
import { RESPONSES } from './responses.ts';

export async function explain(c: Context<AppEnv>): Promise<Response> {
  const body = await readBody(c.req.raw, CHAT.field);
  return holdsItems(body) ? explainWith(c, RESPONSES, body) : explainWith(c, CHAT, body);
}

async function explainWith<Read extends ModelRequest>(
  c: Context<AppEnv>,
  api: ModelApi<Read>,
  body: Uint8Array,
): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(body, api, c.get('agent'), scope);
  const force = flag(request, 'force');
  const call = await readWholeCall(request, c.get('agent'), scope);
  const options = { force, dryRun: true, count: true, expressly: true, explain: true };
  const { explanation, report } = await makeView(call, options);
  checkPlanned(report, scope);
  const explained = explanation ?? (await unedited(call));
  const response = c.json({ object: 'memory.explanation', ...explained, memory: report });
  tellReport(response, report, api.answers, scope);
  return response;
}

/** Of a request that is forwarded unchanged. */
async function unedited({ request, chosen, scope }: Call): Promise<Explanation> {
  const { model, messages } = request;
  const measure = tokenMeasure(chosen.strategy, model, scope.services.config.tokenFactors);
  const { counter } = await scope.learned.counting(measure);
  return explainUnedited(messages, counter);
}
