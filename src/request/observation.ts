/**
 * Whether a request is only observed (docs/answers-and-errors.md#observing): it is sent unchanged,
 * and the report says what the strategy would have done.
 */
import { sha256Hex } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { flagsIn } from './own-headers.ts';

/** @throws ApiError for an invalid header */
export function isObserved(call: Call): boolean {
  const share = observedShare(call);
  return share === 1 || (share > 0 && placeOf(call) < share);
}

/**
 * The share of conversations of which this request's is observed, if it is among them: the largest
 * that header, strategy or deployment say. Who is in a smaller share is in a larger one, too.
 *
 * @returns from 0 to 1
 * @throws ApiError for an invalid header
 */
export function observedShare({ chosen: { strategy }, scope }: Call): number {
  const { observe, observeShare } = scope.services.config;
  const asked = 'observe' in strategy ? Number(strategy.observe) : 0;
  return Math.max(flagsIn(scope.headers).observe, asked, Number(observe), observeShare);
}

/**
 * Where a conversation is among all, from 0 to 1. It is there forever, also under another key: the
 * conversation's name decides, or its first user message, which every later array has.
 */
function placeOf({ request, owner }: Call): number {
  const { user = null, conversation } = owner;
  const opening = request.messages.find(({ role }) => role === 'user')?.identity ?? '';
  const name = conversation === undefined ? opening : JSON.stringify([user, conversation]);
  const hash = sha256Hex(`control:${name}`);
  return Number.parseInt(hash.slice(0, HASH_DIGITS), 16) / 16 ** HASH_DIGITS;
}

/** As many hexadecimal digits as a number represents exactly. */
const HASH_DIGITS = 13;
