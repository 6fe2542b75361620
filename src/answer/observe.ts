/** Forwards a request as it came, and plans beside it what its strategy would have done. */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { idleReport, type Potential, type Report } from '../memory/plan/report.ts';
import type { RunPlan } from '../memory/run/build-event.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { ApiError } from '../request/errors.ts';
import { sharedAccount } from '../request/shared-account.ts';
import { archiverOf } from '../tell/archive.ts';
import { potentialBillOf } from '../tell/bill-order.ts';
import { sinceBefore } from '../tell/moved-since.ts';
import { receiptLater, withReceipt } from '../tell/receipt.ts';
import type { Run } from '../tell/run-event.ts';
import { keepArray, tellingTurn, workBehind } from '../tell/upkeep.ts';
import { noteVerdict } from '../tell/verdict.ts';
import { makeView } from '../view/make-view.ts';
import { askUpstream } from './ask-upstream.ts';
import { relay } from './relay.ts';

/** A call, and what it was read from. */
export interface ReadCall {
  readonly call: Call;
  readonly came: ReadBody;
  /** The part of the array that an earlier request has read. */
  readonly shared: SharedArray | undefined;
  /** Undefined if the request has no event. */
  readonly run: Run | undefined;
}

/** The upstream is asked first, so that the plan delays nothing before it. */
export async function answerObserved(
  api: { readonly path: string; readonly answers: AnswerFormat },
  { call, came, shared, run }: ReadCall,
): Promise<Response> {
  const { request, chosen, scope } = call;
  const { access } = scope.services.config;
  const sent = request.write(undefined, { shared: sharedAccount(scope) });
  run?.sends(sent);
  const isSame = sent.buffer === came.bytes.buffer && sent.length === came.bytes.length;
  // With the deployer's key, bodies go up unencoded.
  const encoded = isSame && !access ? came.encoded : undefined;
  const counts = run !== undefined || chosen.report;
  const options = { asItCame: encoded !== undefined, counts };
  const asking = askUpstream(scope, api.path, encoded ?? sent, options);
  const [answer, { potential, plan }] = await Promise.all([asking, potentialOf(call)]);
  const { usage } = answer;
  run?.hears(usage);
  noteVerdict(answer.response, scope);
  const { strategy, source, warnings } = chosen;
  const unchanged = { ...idleReport(strategy.mode, source, warnings), potential };
  const receipt = chosen.report
    ? await receiptLater(call, { view: undefined, report: unchanged })
    : undefined;
  const report = withReceipt(unchanged, receipt);
  const made = tellingTurn({ view: undefined, report }, call);
  run?.observes(plan ?? { report, view: undefined, refused: [] }, potential.error);
  if (answer.response.ok)
    workBehind(made, sent, call, () => request.bytes === came.bytes && keepArray(call, shared));
  const streams = request.field('stream') === true;
  const archive = archiverOf(call);
  const relayed = { format: api.answers, inBody: chosen.report, streams, retrieval: undefined, archive, run };
  const complete = (told: Report): Report => ({
    ...told,
    ...(usage ? { potential: { ...potential, bill: potentialBillOf(potential, usage, call) } } : {}),
  });
  return relay(answer, made, { ...relayed, complete }, scope);
}

/** What the strategy would have done. A failure is no reason to refuse what goes up as it came. */
async function potentialOf(call: Call): Promise<{ potential: Potential; plan?: RunPlan }> {
  // The runtime sends what is to go up when this work pauses.
  await pause(0);
  const options = { force: false, dryRun: true, count: true, expressly: false };
  try {
    const made = await makeView(call, options);
    const { view, refused = [] } = made;
    const report = await sinceBefore(call, made);
    const { trigger, tokens, frontier, applied_edits, refs, warnings } = report;
    const counted = tokens ? { tokens } : {};
    return {
      potential: { trigger, ...counted, frontier, applied_edits, refs: refs.length, warnings },
      plan: { report, view, refused },
    };
  } catch (error) {
    logCaught(call.scope.services.log, 'warn', 'what a strategy would have done is not known', error);
    const code = error instanceof ApiError ? error.code : 'internal_error';
    const nothing = { frontier: { unit: 0, moved: false }, applied_edits: [], refs: 0, warnings: [] };
    return { potential: { trigger: 'none', ...nothing, error: code } };
  }
}
