/** How long the upstream's prompt cache keeps what a request has sent. */
import { bufferOf } from '../lib/bytes.ts';
import { asObject } from '../lib/json.ts';
import { statedLifetimeOf } from '../memory/models/cache-lifetime.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { HOUR } from './callers/billing.ts';

/** The longest time, in milliseconds. Undefined where the vendor does not say. */
export function cacheLifetimeOf(
  request: Pick<ModelRequest, 'model' | 'bytes' | 'marks' | 'field'>,
): number | undefined {
  const { ttl } = asObject(request.field('prompt_cache_options'));
  const named = [ttl, request.field('prompt_cache_retention')].filter((name) => typeof name === 'string');
  // Another text that reads like it makes the time longer, which is the safe side.
  const hasHours = request.marks > 0 && bufferOf(request.bytes).includes(`"${HOUR}"`);
  return statedLifetimeOf(request.model, hasHours ? [...named, HOUR] : named);
}
