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

export function isRefused(
  part: Refusable,
  { model = '' }: Asked,
  { services, caller }: RequestScope,
): boolean {
  return services.memory.of('modelRefusals').get(caller.tenant?.id ?? '', `${part} ${model}`) !== undefined;
}

export function noteRefused(
  part: Refusable,
  { model = '' }: Asked,
  { services, caller }: RequestScope,
): void {
  services.memory.of('modelRefusals').set(caller.tenant?.id ?? '', `${part} ${model}`, true);
}

/** The most tokens of an answer that the upstream of a model is known to allow. */
export function longestAnswerAt(
  { model = '' }: Asked,
  { services, caller }: RequestScope,
): number | undefined {
  return services.memory.of('learnedSizes').get(caller.tenant?.id ?? '', `answer ${model}`)?.value;
}

/** @param most in tokens */
export function noteLongestAnswer(
  most: number,
  { model = '' }: Asked,
  { services, caller }: RequestScope,
): void {
  services.memory.of('learnedSizes').set(caller.tenant?.id ?? '', `answer ${model}`, most);
}
