/**
 * `POST /v1/explain`: what becomes of each message of an array under a strategy, and why. Stores
 * nothing, and asks no model.
 */
import type { Context } from 'hono';
import { readWholeCall } from '../answer/read-call.ts';
import { explainUnedited } from '../memory/plan/explain.ts';
import type { Explanation } from '../memory/plan/explanation-schema.ts';
import { tokenMeasure } from '../memory/strategy/strategy.ts';
import type { Call } from '../request/call.ts';
import { checkPlanned } from '../request/known-key.ts';
import type { AppEnv } from '../request/services.ts';
import { CallLife } from '../tell/life.ts';
import { makeView } from '../view/make-view.ts';
import { flag, readEither } from './either-protocol.ts';
import { scopeOf } from './scope-of.ts';

export async function explain(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const { request, answers } = await readEither(c, scope);
  const force = flag(request, 'force');
  const call = await readWholeCall(request, scope);
  const options = { force, dryRun: true, count: true, viewOnly: true, explain: true };
  const { explanation, report } = await makeView(call, options);
  checkPlanned(report, scope);
  const explained = explanation ?? (await unedited(call));
  const response = c.json({ object: 'memory.explanation', ...explained, memory: report });
  new CallLife(scope, answers.name).answered(response, report);
  return response;
}

/** Of a request that is forwarded unchanged. */
async function unedited({ request, chosen, scope }: Call): Promise<Explanation> {
  const { model, messages } = request;
  const measure = tokenMeasure(chosen.strategy, model, scope.services.config.tokenFactors);
  const { counter } = await scope.caches.counting(measure);
  return explainUnedited(messages, counter);
}
