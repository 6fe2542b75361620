/** What the upstream of a model is known to refuse. Requests go without it for a while. */
import type { BridgedApi } from '../protocol/bridges/bridge.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { RequestScope } from './scope.ts';

/**
 * Marks and keys of its prompt cache, to be asked for the usage of a stream or for the cause of a
 * cache miss, summaries that its API has signed; tools over chat, each of the APIs that a chat
 * request can be sent over, ids of reasoning there, and strict tools.
 */
type Refusable =
  | 'marks'
  | 'key'
  | 'usage'
  | 'signed'
  | 'diagnostics'
  | 'chat'
  | BridgedApi
  | 'ids'
  | 'strict';

type Asked = Pick<ModelRequest, 'model'>;

export function isRefused(part: Refusable, { model = '' }: Asked, scope: RequestScope): boolean {
  return refusalsOf(scope).get(`${part} ${model}`) !== undefined;
}

export function noteRefused(part: Refusable, { model = '' }: Asked, scope: RequestScope): void {
  refusalsOf(scope).keep(`${part} ${model}`, true, Date.now());
}

/** The most tokens of an answer that the upstream of a model is known to allow. */
export function longestAnswerAt({ model = '' }: Asked, scope: RequestScope): number | undefined {
  return lengthsOf(scope).get(`answer ${model}`)?.value;
}

/** @param most in tokens */
export function noteLongestAnswer(most: number, { model = '' }: Asked, scope: RequestScope): void {
  lengthsOf(scope).keep(`answer ${model}`, most, Date.now());
}

function refusalsOf({ services, caller }: RequestScope) {
  return services.memory.of('modelRefusals').of(caller.tenant?.id ?? '');
}

function lengthsOf({ services, caller }: RequestScope) {
  return services.memory.of('learnedSizes').of(caller.tenant?.id ?? '');
}
