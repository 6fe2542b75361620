/** How long the upstream's prompt cache keeps what a request has sent. */
import { bufferOf } from '../lib/bytes.ts';
import { asObject } from '../lib/json.ts';
import { statedLifetimeOf } from '../memory/models/cache-lifetime.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { HOUR } from './callers/billing.ts';

type TimedRequest = Pick<ModelRequest, 'model' | 'bytes' | 'marks' | 'field'>;

/** The longest time, in milliseconds. Undefined where the vendor does not say. */
export function cacheLifetimeOf(request: TimedRequest): number | undefined {
  // Another text that reads like it makes the time longer, which is the safe side.
  const hasHours = request.marks > 0 && bufferOf(request.bytes).includes(`"${HOUR}"`);
  return statedLifetimeOf(request.model, hasHours ? [...namedIn(request), HOUR] : namedIn(request));
}

/**
 * The same by the fields of the request alone. How long marks of Anthropic's API ask for, its
 * answers say.
 */
export function askedLifetimeOf(request: Pick<TimedRequest, 'model' | 'field'>): number | undefined {
  return statedLifetimeOf(request.model, namedIn(request));
}

function namedIn(request: Pick<TimedRequest, 'field'>): string[] {
  const { ttl } = asObject(request.field('prompt_cache_options'));
  return [ttl, request.field('prompt_cache_retention')].filter((name) => typeof name === 'string');
}
