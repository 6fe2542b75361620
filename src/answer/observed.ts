/** Forwards a request unchanged, and plans what its strategy would have done. */
import { pause } from '../lib/time-limit.ts';
import { potentialBillOf, writtenShare } from '../listeners/bill-order.ts';
import { withDroppedReasoning } from '../listeners/dropped-reasoning.ts';
import type { CallLife } from '../listeners/life.ts';
import { sinceBefore } from '../listeners/moved-since.ts';
import { logCaught } from '../log.ts';
import { idleReport, type Potential, type Report } from '../memory/plan/report.ts';
import type { RunPlan } from '../memory/run/build-event.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { sharedAccount } from '../request/callers/shared-account.ts';
import { ApiError } from '../request/errors.ts';
import { makeView } from '../view/make-view.ts';
import { askUpstream } from './ask-upstream.ts';
import type { ModelApi } from './model-api.ts';
import { relay } from './relay.ts';

/** The upstream is asked before the plan is made, so planning adds no latency. @throws ApiError */
export async function answerObserved(
  { path, answers }: ModelApi,
  call: Call,
  came: ReadBody,
  life: CallLife,
): Promise<Response> {
  const { request, chosen, scope } = call;
  const { access } = scope.services.config;
  const body = request.write(undefined, { shared: sharedAccount(scope) });
  const isSame = body.buffer === came.bytes.buffer && body.length === came.bytes.length;
  // With the deployer's key, bodies are sent unencoded.
  const encoded = isSame && !access ? came.encoded : undefined;
  const counts = life.readsUsage || chosen.report;
  const answering = askUpstream(scope, path, encoded ?? body, {
    keepsEncoding: encoded !== undefined,
    counts,
    writes: (schedule) => writtenShare(call, schedule),
  });
  const [answer, { potential, plan }] = await Promise.all([answering, potentialOf(call)]);
  const { usage } = answer;
  const { strategy, source, warnings } = chosen;
  const unchanged = { ...idleReport(strategy.mode, source, warnings), potential };
  const reported = { ...unchanged, ...(await life.reports({ view: undefined, report: unchanged })) };
  const report = withDroppedReasoning(reported, call, undefined, answer.response.ok);
  const made = { view: undefined, report };
  life.settled({
    plan: plan ?? { ...made, refused: [] },
    asked: {
      made,
      added: [],
      body,
      usages: usage ? [usage] : [],
      answer: answer.response,
      observed: { error: potential.error },
    },
  });
  const complete = (relayed: Report): Report => ({
    ...relayed,
    ...(usage ? { potential: { ...potential, bill: potentialBillOf(potential, usage, call) } } : {}),
  });
  const streams = request.field('stream') === true;
  const how = { format: answers, inBody: chosen.report, streams, retrieval: undefined, life, complete };
  return relay(answer, report, how, scope);
}

/** What the strategy would have done. A failure is no reason to refuse what is sent unchanged. */
async function potentialOf(call: Call): Promise<{ potential: Potential; plan?: RunPlan }> {
  // The runtime sends what is to be sent when this work pauses.
  await pause(0);
  const options = { force: false, dryRun: true, count: true, viewOnly: false };
  try {
    const made = await makeView(call, options);
    const { view, movedAt, refused = [] } = made;
    const report = await sinceBefore(call, made);
    const { trigger, tokens, frontier, applied_edits, refs, warnings } = report;
    const counted = tokens ? { tokens } : {};
    return {
      potential: { trigger, ...counted, frontier, applied_edits, refs: refs.length, warnings },
      plan: { report, view, refused, movedAt },
    };
  } catch (error) {
    logCaught(call.scope.services.log, 'warn', 'what a strategy would have done is not known', error);
    const code = error instanceof ApiError ? error.code : 'internal_error';
    const nothing = { frontier: { unit: 0, moved: false }, applied_edits: [], refs: 0, warnings: [] };
    return { potential: { trigger: 'none', ...nothing, error: code } };
  }
}
