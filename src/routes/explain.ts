/**
 * `POST /v1/explain`: what becomes of each message of an array under a strategy, and why. Stores
 * nothing, and asks no model.
 */
import { keptAnswersOf } from '../answer/bridge/bridged-call.ts';
import { readWholeCall } from '../answer/read-call.ts';
import { withReasoningToDrop } from '../listeners/dropped-reasoning.ts';
import { CallLife } from '../listeners/life.ts';
import { sinceBefore } from '../listeners/moved-since.ts';
import { readHistory } from '../memory/conversation/history.ts';
import { edits, recalls, tokenMeasure } from '../memory/modes/strategy.ts';
import { courseOf, explainUnedited } from '../memory/plan/explain.ts';
import type { Course, Explanation } from '../memory/plan/explanation-schema.ts';
import { ANSWER_OVERHEAD, type TokenCounter, toolTokens } from '../memory/tokens/tokens.ts';
import type { Call } from '../request/call.ts';
import { scheduleOfRequest } from '../request/callers/billing.ts';
import { checkPlanned } from '../request/known-key.ts';
import type { MadeView } from '../view/made-view.ts';
import { makeView } from '../view/make-view.ts';
import { anyBody, flag, readAny } from './any-protocol.ts';
import { type RouteContext, scopeOf } from './context.ts';

export async function explain(c: RouteContext): Promise<Response> {
  const body = await anyBody(c);
  const scope = scopeOf(c);
  const { request, answers } = await readAny(body, scope);
  const force = flag(request, 'force');
  const hasCourse = flag(request, 'course');
  const call = await readWholeCall(request, scope);
  const planned = { force, dryRun: true, count: true, viewOnly: true, explain: true };
  const options = { ...planned, reasoning: keptAnswersOf(call, true) };
  const made = await makeView(call, options);
  const { explanation } = made;
  checkPlanned(made.report, scope);
  const report = await withReasoningToDrop(await sinceBefore(call, made), call, made);
  const explained = explanation ?? (await unedited(call));
  const course = hasCourse ? await courseFor(call, made, explained) : undefined;
  const response = c.json({
    object: 'memory.explanation',
    ...explained,
    ...(course ? { course } : {}),
    memory: report,
  });
  new CallLife(scope, answers.name).answered(response, report);
  return response;
}

/** Of a request that is forwarded unchanged. */
async function unedited(call: Call): Promise<Explanation> {
  return explainUnedited(call.request.messages, await counterOf(call));
}

async function counterOf({ request, chosen, scope }: Call): Promise<TokenCounter> {
  const measure = tokenMeasure(chosen.strategy, request.model, scope.services.config.tokenFactors);
  return (await scope.caches.counting(measure)).counter;
}

/** Undefined where a memory that is made in the background decides about each view. */
async function courseFor(call: Call, made: MadeView, explained: Explanation): Promise<Course | undefined> {
  const { request, chosen, scope } = call;
  if (edits(chosen.strategy) && recalls(chosen.strategy)) return undefined;
  return courseOf({
    ...explained,
    history: made.history ?? readHistory(request.messages),
    tokens: made.report.tokens,
    tools: toolTokens(request.tools, await counterOf(call)) + ANSWER_OVERHEAD,
    schedule: scheduleOfRequest(request, scope.services) ?? null,
  });
}
