/** How the models that a deployment calls are billed today (docs/money.md#prices). */
import { asObject } from '../../lib/json.ts';
import { utcTimeOf } from '../../lib/utc-time.ts';
import type { Schedule } from '../../memory/models/schedule.ts';
import { mixedLifetimes, scheduleOf } from '../../memory/models/schedules.ts';
import type { UsageTail } from '../../protocol/answers/usage-tail.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Services } from '../services.ts';

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
export const HOUR = '1h';

/** What decides about the price of a request. */
export type PricedRequest = Pick<ModelRequest, 'model'> & { field(name: string): unknown };

/** The answer of one call of the upstream, as far as it has come. */
export type BilledAnswer = Pick<UsageTail, 'usage' | 'tier' | 'hourWrites'>;

/** How a request is billed. Undefined if its model has no known price, or its tier another one. */
export function scheduleOfRequest(request: PricedRequest, services: Services): Schedule | undefined {
  // The fast mode of a model has prices of its own, as a tier has.
  const tiers = [request.field('service_tier'), request.field('speed')];
  if (!tiers.every(isStandard)) return undefined;
  const { ttl } = asObject(request.field('prompt_cache_options'));
  return billingOf(request.model, services, typeof ttl === 'string' ? ttl : undefined);
}

/** How a request is billed, with what its answers say of their tiers and of what they stored. */
export function scheduleOfAnswers(
  request: PricedRequest,
  answers: readonly BilledAnswer[],
  services: Services,
): Schedule | undefined {
  if (!answers.every((answer) => isStandard(answer.tier()))) return undefined;
  const schedule = scheduleOfRequest(request, services);
  const share = hourShare(answers);
  if (!schedule || share === 0) return schedule;
  const longer = billingOf(request.model, services, HOUR);
  return longer && mixedLifetimes(schedule, longer, share);
}

function isStandard(tier: unknown): boolean {
  return STANDARD_TIERS.includes(tier);
}

/** The share of what was written to the upstream's cache that it keeps for an hour. */
function hourShare(answers: readonly BilledAnswer[]): number {
  const written = answers.reduce((sum, answer) => sum + (answer.usage()?.cache_writes ?? 0), 0);
  const hours = answers.reduce((sum, answer) => sum + answer.hourWrites(), 0);
  return written === 0 ? 0 : Math.min(1, hours / written);
}
