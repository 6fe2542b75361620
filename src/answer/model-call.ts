/** A request to a model, in either protocol: sends the view, relays the answer. */

import type { Result } from '../lib/result.ts';
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { BodyFault } from '../protocol/body.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { tryBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { agentOf, chooseStrategy } from '../request/choose-strategy.ts';
import { settingsOf } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { upstreamCompacts, withCompaction } from '../request/native-compaction.ts';
import { isObserved } from '../request/observation.ts';
import { openSealed } from '../request/open-sealed.ts';
import { type Owner, ownerOf, withNames } from '../request/owner.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Agent } from '../request/services.ts';
import { Rounds } from '../retrieval/rounds.ts';
import { archiverOf } from '../tell/archive.ts';
import { withCaptureWarning } from '../tell/capture.ts';
import { hasEvent, type Run, recorded, startRun } from '../tell/run-event.ts';
import { tellReport } from '../tell/tell-report.ts';
import { keepArray, tracked, workBehind } from '../tell/upkeep.ts';
import { noteVerdict } from '../tell/verdict.ts';
import { type Compaction, compactConversation } from '../view/compaction.ts';
import { injectionFor } from '../view/inject.ts';
import type { MakeViewOptions } from '../view/made-view.ts';
import { makeView } from '../view/make-view.ts';
import type { OfferedTools } from '../view/offer-tools.ts';
import { withSession } from '../view/session-memory.ts';
import { askAgain } from './ask-again.ts';
import { Attempts } from './attempt.ts';
import { inTime } from './late-stream.ts';
import { answerObserved, type ReadCall } from './observe.ts';
import { passRead, passUnread } from './pass-unread.ts';
import { callerError, KEEPALIVE_MS, relay } from './relay.ts';
import { withoutThinking } from './retries/bound-thinking.ts';
import { withoutMarks } from './retries/cache-marks.ts';
import { reasoningOf, withoutReasoning } from './retries/encrypted-reasoning.ts';
import { withinLimit } from './retries/too-long.ts';
import { startRounds } from './start-rounds.ts';

/** A protocol: how to read its requests, where to send them, and how to relay its answers. */
export interface ModelApi<Read extends ModelRequest = ModelRequest> {
  /** Below the upstream's base URL. */
  readonly path: string;
  /** The field that holds the conversation. */
  readonly field: ModelRequest['conversationField'];
  readonly answers: AnswerFormat;
  read(bytes: Uint8Array, shared?: SharedArray): Result<Read, BodyFault>;
  /**
   * The response to a request for a compaction, where the protocol has them.
   *
   * @param inBody whether the body includes the report
   */
  compaction?(request: ModelRequest, compaction: Compaction, inBody: boolean): Response;
}

export async function answerCall(scope: RequestScope, api: ModelApi): Promise<Response> {
  const came = await tryBody(scope.incoming, api.field);
  if ('fault' in came) return passUnread(api, came, scope);
  const passed = passRead(api, came, scope);
  if (passed) return passed;
  const shared = sharedArray(came.bytes, api, scope);
  const request = await readRequest(came.bytes, api, scope, shared);
  checkState(request, scope);
  const read = await readCall(request, scope);
  const call = withCaptureWarning(read, hasEvent(read));
  const { signal } = scope.incoming;
  const { name: protocol } = api.answers;
  if (api.compaction && request.isCompaction && isOurs(request, scope)) {
    const run = startRun(call, { protocol, kind: 'compaction' }, signal);
    return answerCompaction(api.compaction, api.answers, call, run);
  }
  const run = startRun(call, { protocol, kind: 'answer' }, signal);
  return recorded(run, () => {
    const asked: ReadCall = { call, came, shared, run };
    return isObserved(call) ? answerObserved(api, asked) : answerRead(api, asked);
  });
}

async function answerRead(api: ModelApi, { call, came, shared, run }: ReadCall): Promise<Response> {
  const { request, chosen, scope } = call;
  const options = { force: false, dryRun: false, count: chosen.report, expressly: false };
  const make = (viewOptions: MakeViewOptions) => makeView(call, viewOptions);
  const [first, frozen] = await Promise.all([make(options), injectionFor(call)]);
  const { path, answers } = api;
  const attempts = new Attempts({ path, call, came, run, frozen });
  const { services } = scope;
  const asking = { request, answers, services, make: attempts.make };
  const retries = [
    withoutReasoning(request, scope),
    // What goes up as it came is not shortened.
    ...(passesThrough(first.report)
      ? []
      : [withoutThinking(call), withinLimit({ request, options, make }, scope)]),
    withoutMarks(request, scope),
  ];
  const attempt = await askAgain(attempts.first(first), retries, asking);
  const { made, answer, beside } = attempt;
  const report = await attempt.report;
  run?.settles(attempt);
  noteVerdict(answer.response, scope);
  if (answer.response.ok) {
    // A body with items of ours was opened, and is not kept (see `readRequest`).
    const keep = () => request.bytes === came.bytes && keepArray(call, shared);
    workBehind({ ...made, report }, attempt.sent, call, keep);
  }
  const { tools } = made;
  const count = async () => (await make({ ...options, count: true })).report;
  const start = (offered: OfferedTools) => {
    const { body } = attempts.bodyOf(attempt);
    return startRounds({ body, report: made.report, beside: beside.tokens, count }, offered, made, call);
  };
  const rounds = tools && new Rounds(tools.rounds, api.answers.goOn, () => start(tools), attempts.send);
  const retrieval = tools && rounds && { tools, reasoning: reasoningOf(attempt, request, scope), rounds };
  run?.planned({ report, view: made.view, refused: made.refused ?? [] }, { ...made, report }, rounds);
  const archive = archiverOf(call);
  const streams = request.field('stream') === true;
  const relayed = { format: api.answers, inBody: chosen.report, streams, retrieval, archive, run };
  return relay(answer, { ...tracked(await withSession(made, call), call), report }, relayed, scope);
}

/** The response to a request for a compaction. A stream is kept alive until it is there. */
function answerCompaction(
  write: NonNullable<ModelApi['compaction']>,
  answers: AnswerFormat,
  call: Call,
  run: Run | undefined,
): Promise<Response> | Response {
  const { request, chosen, scope } = call;
  const answer = recorded(run, async () => {
    const compaction = await compactConversation(await withSettings(call));
    const response = write(request, compaction, chosen.report);
    tellReport(response, compaction.report, answers, scope);
    run?.planned(compaction);
    run?.answered(response);
    return response;
  });
  if (request.field('stream') !== true) return answer;
  const format = answers.stream(undefined, undefined);
  return inTime(answer, { format, errorOf: (error) => callerError(error, scope), keepaliveMs: KEEPALIVE_MS });
}

/** Whether Precis makes the compaction: the upstream can't, and does not store the conversation. */
function isOurs(request: ModelRequest, { services }: RequestScope): boolean {
  return !upstreamCompacts(request, services.config) && request.upstreamState === undefined;
}

/**
 * The request with its owner and all of its settings, for a view whose report is not joined with
 * that of an injection. @throws ApiError
 */
export async function readWholeCall<Request extends ModelRequest>(
  ...read: Parameters<typeof readCall<Request>>
): Promise<Call<Request>> {
  return withSettings(await readCall(...read));
}

async function withSettings<Request extends ModelRequest>(call: Call<Request>): Promise<Call<Request>> {
  const { warnings } = await call.chosen.injection;
  return { ...call, chosen: { ...call.chosen, warnings } };
}

/** The request with its owner and strategy. @throws ApiError */
async function readCall<Request extends ModelRequest>(
  request: Request,
  scope: RequestScope,
): Promise<Call<Request>> {
  const { headers, services } = scope;
  const { agent, owner } = whose(request, scope);
  scope.trace?.asks({
    model: request.model,
    conversation: owner.conversation,
    stream: request.field('stream') === true,
  });
  const settings = () => settingsOf(owner, scope);
  const chosen = await chooseStrategy(request, headers, agent, settings, services);
  return { request, chosen: withCompaction(chosen, request, services.config), owner, scope };
}

/** The agent that a request chooses, and the request's owner. @throws ApiError */
function whose(
  request: ModelRequest,
  { headers, caller, services, named, agent: agentInPath }: RequestScope,
): { agent: Agent | undefined; owner: Owner } {
  const agent = agentOf(request, headers, agentInPath, caller, services);
  const owner = ownerOf(request, headers, agent?.isolation ?? services.config.isolation);
  return { agent, owner: named ? withNames(owner, named) : owner };
}

/** The beginning of a body's array, as far as the isolate knows it. */
function sharedArray(
  body: Uint8Array,
  { field }: Pick<ModelApi, 'field'>,
  { caller, learned }: RequestScope,
): SharedArray | undefined {
  return caller.tenant && learned.arrays.find(body, field);
}

/**
 * Reads a request's body and opens its compaction items.
 *
 * @param shared the part of its array that an earlier request has read
 * @throws ApiError
 */
export async function readRequest<Read extends ModelRequest>(
  body: Uint8Array,
  { read: reader }: Pick<ModelApi<Read>, 'read'>,
  scope: RequestScope,
  shared?: SharedArray,
): Promise<Read> {
  const sealed = reader(body, shared);
  // Arrays with items of ours are not kept, so there are none in the shared part.
  const bytes = sealed.ok ? await opened(sealed.value, scope, shared?.end) : undefined;
  const read = bytes ? reader(bytes) : sealed;
  if (read.ok) return read.value;
  const { code, message, param } = read.reason;
  throw new ApiError(code, message, param);
}

function opened(
  request: ModelRequest,
  scope: RequestScope,
  from: number | undefined,
): Promise<Uint8Array | undefined> {
  const owner = () => whose(request, scope).owner;
  return openSealed(request, scope.caller.tenant, owner, from);
}

/**
 * Callers with access keys share an account, and must not name what another one stored there.
 *
 * @throws ApiError `not_forwarded`
 */
export function checkState(request: ModelRequest, { services }: RequestScope): void {
  const { access } = services.config;
  if (!access) return;
  const { upstreamState } = request;
  const field = upstreamState === request.conversationField ? undefined : upstreamState;
  const found = field === undefined ? request.storedName(access.opened) : undefined;
  if (found) throw new ApiError('not_forwarded', found.message, found.param, 400);
  if (upstreamState === undefined) return;
  throw new ApiError(
    'not_forwarded',
    `${upstreamState} may name what the upstream has stored, which this deployment's callers share; send the items themselves, 20 000 at the most.`,
    upstreamState,
  );
}
