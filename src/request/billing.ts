/** How the models that a deployment calls are billed today (docs/money.md#prices). */
import { type Schedule, scheduleOf } from '../memory/money/schedules.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Services } from './services.ts';

/** Undefined if the price of the model is not known. */
export function billingOf(
  model: string | undefined,
  { config }: Pick<Services, 'config'>,
): Schedule | undefined {
  return scheduleOf(model, new Date().toISOString().slice(0, 'YYYY-MM-DD'.length), config.modelPrices);
}

/** Values of `service_tier` at the prices of the standard tier. */
const STANDARD_TIERS: readonly unknown[] = [undefined, null, 'auto', 'default', 'standard_only'];

/** How a request is billed. Undefined if its model has no known price, or its tier another one. */
export function scheduleOfRequest(request: ModelRequest, services: Services): Schedule | undefined {
  if (!STANDARD_TIERS.includes(request.field('service_tier'))) return undefined;
  return billingOf(request.model, services);
}
