/**
 * Whether a request is only observed (docs/answers-and-errors.md#observing): it is sent unchanged,
 * and the report says what the strategy would have done.
 */
import { sha256Hex } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { flagsIn } from './flag-headers.ts';

/** @throws ApiError for an invalid header */
export function isObserved(call: Call): boolean {
  const { chosen, scope } = call;
  const { strategy } = chosen;
  const { observe, observeShare } = scope.services.config;
  const isAsked = 'observe' in strategy && strategy.observe;
  return flagsIn(scope.headers).observe || isAsked || observe || isControl(call, observeShare);
}

/**
 * Whether the request's conversation is in the control group. It is so forever, also under another
 * key: the conversation's name decides, or its first user message, which every later array has.
 */
function isControl({ request, owner }: Call, share: number): boolean {
  if (share === 0) return false;
  const { user = null, conversation } = owner;
  const opening = request.messages.find(({ role }) => role === 'user')?.identity ?? '';
  const name = conversation === undefined ? opening : JSON.stringify([user, conversation]);
  const hash = sha256Hex(`control:${name}`);
  return Number.parseInt(hash.slice(0, HASH_DIGITS), 16) < share * 16 ** HASH_DIGITS;
}

/** As many hexadecimal digits as a number represents exactly. */
const HASH_DIGITS = 13;
