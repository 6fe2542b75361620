/** Reads a request: its body, its owner, and the strategy that it is answered by. */
import { edits } from '../memory/modes/strategy.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { agentOf, asideStrategy, chooseStrategy } from '../request/choose-strategy.ts';
import { isAside } from '../request/claude-code.ts';
import { settingsOf } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { actingOn, withCompaction } from '../request/native-compaction.ts';
import { isObserved } from '../request/observation.ts';
import { openSealed } from '../request/open-sealed.ts';
import { checkOwnHeaders } from '../request/own-headers.ts';
import { type Owner, ownerOf, withNames } from '../request/owner.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Agent } from '../request/services.ts';
import type { ModelApi } from './model-api.ts';

/**
 * Reads a request to a model, but for what is known of its array from an earlier one.
 *
 * @throws ApiError
 */
export async function readModelCall(came: ReadBody, api: ModelApi, scope: RequestScope): Promise<Call> {
  const { caller, caches } = scope;
  const found = caller.tenant && caches.arrays.find(came.bytes, api.answers.name);
  const request = found?.same ?? (await readRequest(came.bytes, api, scope, found));
  checkState(request, scope);
  // No summary is made for a request that is refused when it is sent.
  scope.spending?.checkPrice(request);
  const call = await readCall(request, scope, goesAside(request, scope));
  // A body with Precis's items was opened, and is not kept.
  const kept = found?.same || request.bytes === came.bytes ? { found } : undefined;
  return { ...call, kept };
}

/**
 * The request with its owner and all of its settings, for a view whose report is not joined with an
 * injection's. @throws ApiError
 */
export async function readWholeCall<Request extends ModelRequest>(
  ...read: Parameters<typeof readCall<Request>>
): Promise<Call<Request>> {
  return withSettings(await readCall(...read));
}

/** The call with the warnings of its settings, which it waits for. */
export async function withSettings<Request extends ModelRequest>(
  call: Call<Request>,
): Promise<Call<Request>> {
  const { warnings } = await call.chosen.injection;
  const all = [...new Set([...call.chosen.warnings, ...warnings])];
  return { ...call, chosen: { ...call.chosen, warnings: all } };
}

/**
 * Whether a request goes to a model beside its conversation: its class says so, or it asks its API
 * for a summary, which must read all that it is to replace.
 */
export function goesAside({ protocol, isCompaction }: ModelRequest, { headers }: RequestScope): boolean {
  return isAside(headers) || (protocol === 'messages' && isCompaction);
}

/** Nothing is kept of a request that is none of a conversation. */
const NOBODY: Owner = { user: undefined, conversation: undefined, off: [] };

/**
 * The request with its owner and strategy.
 *
 * @param aside whether it goes to a model beside its conversation, and so has no memory
 * @throws ApiError
 */
async function readCall<Request extends ModelRequest>(
  request: Request,
  scope: RequestScope,
  aside = false,
): Promise<Call<Request>> {
  const { headers, services, spending } = scope;
  checkOwnHeaders(headers);
  if (request.model !== undefined) spending?.checkModel(request.model);
  const { agent, owner: named } = whose(request, scope);
  const owner = aside ? NOBODY : named;
  scope.trace?.asks({
    model: request.model,
    conversation: owner.conversation,
    stream: request.field('stream') === true,
  });
  const settings = () => settingsOf(owner, scope);
  const chosen = aside
    ? asideStrategy(request, headers, agent, services)
    : await chooseStrategy(request, headers, agent, settings, services);
  const chooses = agent ? { agent: agent.key } : {};
  const archivedFor = aside && chosen.archives ? { archivedFor: named } : {};
  const whole = withCompaction(chosen, request, services.config);
  const call = { request, chosen: whole, owner, scope, ...chooses, ...archivedFor };
  checkThread(call);
  return call;
}

/** Whether the upstream has stored the messages before the body's own, as a message thread. */
function isThread({ protocol, upstreamState }: ModelRequest): boolean {
  return protocol === 'messages' && upstreamState !== undefined;
}

/**
 * A view is made of a whole conversation, and what Precis adds to it would be stored in a thread.
 * Clients that thread by themselves send the whole conversation once they have been refused.
 *
 * @throws ApiError `thread_unsupported_request`
 */
function checkThread(call: Call): void {
  const { request, chosen } = call;
  if (!isThread(request) || isObserved(call)) return;
  if (edits(actingOn(call)))
    throw threadRefused(
      `the strategy of this request (mode ${chosen.strategy.mode}) edits the conversation, and must read all of it`,
    );
}

function threadRefused(because: string): ApiError {
  return new ApiError(
    'thread_unsupported_request',
    `A message thread is not possible here: ${because}. Send the whole conversation, without thread.`,
    'thread',
  );
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
  // Arrays with Precis's items are not kept, so there are none in the shared part.
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
 * @throws ApiError `not_forwarded`, `thread_unsupported_request`
 */
export function checkState(request: ModelRequest, { services }: RequestScope): void {
  const { access } = services.config;
  if (!access) return;
  const { upstreamState } = request;
  if (isThread(request)) throw threadRefused('callers of this deployment share the account that stores it');
  const field = upstreamState === request.conversationField ? undefined : upstreamState;
  const found = field === undefined ? request.storedName(access.opened) : undefined;
  if (found) throw new ApiError('not_forwarded', found.message, found.param, 400);
  if (upstreamState === undefined) return;
  throw new ApiError(
    'not_forwarded',
    `${upstreamState} may name what the upstream has stored, which this deployment's callers share; send the items themselves, 20,000 at most.`,
    upstreamState,
    400,
  );
}
