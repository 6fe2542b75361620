/** How the models that a deployment calls are billed today (docs/money.md#prices). */
import { asObject } from '../lib/json.ts';
import { utcTimeOf } from '../lib/utc-time.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import { mixedLifetimes, scheduleOf } from '../memory/models/schedules.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Services } from './services.ts';

/**
 * Undefined if the price of the model is not known.
 *
 * @param lifetime see `scheduleOf`
 */
export function billingOf(
  model: string | undefined,
  { config }: Pick<Services, 'config'>,
  lifetime?: string,
): Schedule | undefined {
  return scheduleOf(model, utcTimeOf(new Date()), config.modelPrices, lifetime);
}

/** Values of `service_tier` at the prices of the standard tier, in requests and in answers. */
const STANDARD_TIERS: readonly unknown[] = [undefined, null, 'auto', 'default', 'standard', 'standard_only'];

/** The lifetime of the cache that a mark of Anthropic's API asks for by `ttl`. */
const HOUR = '1h';

/**
 * How a request is billed. Undefined if its model has no known price, or its tier another one.
 *
 * @param served the tiers that the upstream says it has served
 * @param hourShare of what it has written to its cache, the share that it keeps for an hour
 */
export function scheduleOfRequest(
  request: Pick<ModelRequest, 'model'> & { field(name: string): unknown },
  served: readonly (string | undefined)[],
  services: Services,
  hourShare = 0,
): Schedule | undefined {
  const tiers = [request.field('service_tier'), ...served];
  if (!tiers.every((tier) => STANDARD_TIERS.includes(tier))) return undefined;
  const { ttl } = asObject(request.field('prompt_cache_options'));
  const schedule = billingOf(request.model, services, typeof ttl === 'string' ? ttl : undefined);
  if (!schedule || hourShare === 0) return schedule;
  const longer = billingOf(request.model, services, HOUR);
  return longer && mixedLifetimes(schedule, longer, hourShare);
}
