/** Forwards a request as it came, and plans beside it what its strategy would have done. */
import type { Context } from 'hono';
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { idleReport, type Potential } from '../memory/plan/report.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { ApiError } from '../request/errors.ts';
import type { AppEnv } from '../request/services.ts';
import { sharedAccount } from '../request/shared-account.ts';
import { makeView } from '../view/make-view.ts';
import { archiverOf } from './archive.ts';
import { askUpstream } from './ask-upstream.ts';
import { noteVerdict } from './note-verdict.ts';
import { receiptLater, withReceipt } from './receipt-later.ts';
import { relay } from './relay.ts';
import { keepArray, workBehind } from './work-behind.ts';

/**
 * The upstream is asked first, so that the plan delays nothing before it.
 *
 * @param shared the part of the array that an earlier request has read
 */
export async function answerObserved(
  c: Context<AppEnv>,
  api: { readonly path: string; readonly answers: AnswerFormat },
  call: Call,
  came: ReadBody,
  shared: SharedArray | undefined,
): Promise<Response> {
  const { request, chosen, scope } = call;
  const { access } = scope.services.config;
  const sent = request.write(undefined, { shared: sharedAccount(scope) });
  const isSame = sent.buffer === came.bytes.buffer && sent.length === came.bytes.length;
  // With the deployer's key, bodies go up unencoded.
  const encoded = isSame && !access ? came.encoded : undefined;
  const asking = askUpstream(c, scope, api.path, encoded ?? sent, undefined, encoded !== undefined);
  const [answer, potential] = await Promise.all([asking, potentialOf(call)]);
  noteVerdict(answer.response, scope);
  const { strategy, source, warnings } = chosen;
  const unchanged = { ...idleReport(strategy.mode, source, warnings), potential };
  const receipt = chosen.report
    ? await receiptLater(call, { view: undefined, report: unchanged })
    : undefined;
  const report = withReceipt(unchanged, receipt);
  const made = { view: undefined, report };
  if (answer.response.ok)
    workBehind(made, sent, call, () => request.bytes === came.bytes && keepArray(call, shared));
  const streams = request.field('stream') === true;
  const archive = archiverOf(call);
  const options = { format: api.answers, inBody: chosen.report, streams, retrieval: undefined, archive };
  return relay(answer, made, options, scope);
}

/** What the strategy would have done. A failure is no reason to refuse what goes up as it came. */
async function potentialOf(call: Call): Promise<Potential> {
  // The runtime sends what is to go up when this work pauses.
  await pause(0);
  const options = { force: false, dryRun: true, count: true, expressly: false };
  try {
    const { trigger, tokens, frontier, applied_edits, refs, warnings } = (await makeView(call, options))
      .report;
    return { trigger, ...(tokens ? { tokens } : {}), frontier, applied_edits, refs: refs.length, warnings };
  } catch (error) {
    logCaught(call.scope.services.log, 'warn', 'what a strategy would have done is not known', error);
    const code = error instanceof ApiError ? error.code : 'internal_error';
    return {
      trigger: 'none',
      frontier: { unit: 0, moved: false },
      applied_edits: [],
      refs: 0,
      warnings: [],
      error: code,
    };
  }
}
