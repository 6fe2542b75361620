/** How the models that a deployment calls are billed today (docs/money.md#prices). */
import { asObject } from '../lib/json.ts';
import { utcTimeOf } from '../lib/utc-time.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import { scheduleOf } from '../memory/models/schedules.ts';
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

/**
 * How a request is billed. Undefined if its model has no known price, or its tier another one.
 *
 * @param served the tiers that the upstream says it has served
 */
export function scheduleOfRequest(
  request: Pick<ModelRequest, 'model'> & { field(name: string): unknown },
  served: readonly (string | undefined)[],
  services: Services,
): Schedule | undefined {
  const tiers = [request.field('service_tier'), ...served];
  if (!tiers.every((tier) => STANDARD_TIERS.includes(tier))) return undefined;
  const { ttl } = asObject(request.field('prompt_cache_options'));
  return billingOf(request.model, services, typeof ttl === 'string' ? ttl : undefined);
}
