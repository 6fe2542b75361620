/** Finds the prices of a model, for its bill and for the plan of its views. */
import type { UtcTime } from '../../lib/utc-time.ts';
import { bareName, baseName, rowAsNamed, rowOf, VERSION, withoutGateway } from './families.ts';
import { type Peak, PUBLISHED_PRICES, type PublishedPrices } from './published-prices.ts';
import type { DeployerPrice, HitRule, PriceStep, Schedule } from './schedule.ts';

/** Of a deployer's price: the cache that most servers have. */
const DEPLOYER_HITS = 'prefix-128';
const DEPLOYER_LIFETIME_MS = 3_600_000;

/**
 * How a model is billed; undefined if that is not known. A deployer's price takes precedence, and
 * holds for all models of its family. A published one holds for the model itself and its dated
 * versions, since a name that goes on may be another model at another price. It does not hold for a
 * gateway with names of its own, which has its own prices.
 *
 * @param at when the request is made
 * @param prices the deployer's
 * @param lifetime of the cache, as the request names it; undefined for the vendor's default. A
 *   published price without that lifetime is not known
 */
export function scheduleOf(
  model: string | null | undefined,
  at: UtcTime,
  prices: readonly DeployerPrice[] = [],
  lifetime?: string,
): Schedule | undefined {
  if (model === null || model === undefined) return undefined;
  const name = bareName(model);
  const own = rowOf(name, prices) ?? rowOf(withoutGateway(name), prices);
  if (own) return deployerSchedule(own, lifetime);
  const found = rowAsNamed(
    name,
    PUBLISHED_PRICES,
    ({ until }, rest) => VERSION.test(rest) && (until === undefined || at.day <= until),
  );
  return found && publishedSchedule(found, at, lifetime);
}

function publishedSchedule(
  { output, peak, lifetimes, ...price }: PublishedPrices,
  at: UtcTime,
  lifetime: string | undefined,
): Schedule | undefined {
  const kept = lifetime === undefined ? {} : lifetimes?.[lifetime];
  if (output === undefined || kept === undefined) return undefined;
  const schedule = { ...price, output, ...kept };
  if (!peak || !isPeak(peak, at)) return schedule;
  const { fresh, cached, written } = schedule;
  const { factor } = peak;
  return {
    ...schedule,
    fresh: factor * fresh,
    cached: factor * cached,
    written: factor * written,
    output: factor * output,
  };
}

/**
 * The prices of calls whose writes to the cache live for different times: a write has the average
 * price, so all of them together have their own.
 *
 * @param share of the written tokens that live as long as `longer` says, more than 0
 */
export function mixedLifetimes(usual: Schedule, longer: Schedule, share: number): Schedule {
  const { written, lifetimeMs } = longer;
  return { ...usual, written: usual.written + (written - usual.written) * share, lifetimeMs };
}

function isPeak({ hours }: Peak, { weekday, hour }: UtcTime): boolean {
  return weekday > 0 && weekday < 6 && hours.some(([from, to]) => hour >= from && hour < to);
}

/**
 * The lifetime that only Claude's caches have, where a write costs twice the fresh input
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing).
 */
const CLAUDE_HOUR = { name: '1h', write: 2, lifetimeMs: 3_600_000 };

function deployerSchedule(
  { output, written: write, hits = DEPLOYER_HITS, ...price }: DeployerPrice,
  lifetime: string | undefined,
): Schedule | undefined {
  if (output === undefined) return undefined;
  const written = write ?? price.fresh;
  if (lifetime !== CLAUDE_HOUR.name)
    return { ...price, output, written, hits, lifetimeMs: DEPLOYER_LIFETIME_MS };
  const { lifetimeMs } = CLAUDE_HOUR;
  return { ...price, output, written: CLAUDE_HOUR.write * price.fresh, hits, lifetimeMs };
}

/** The prices of a model's input, as a plan needs them. No price depends on the day. */
export interface InputPrices {
  /** The price of cached input relative to fresh input, in (0, 1]: `a` in the floor. */
  readonly cached: number;
  /** The price of input that is written to the cache, at least `cached`: `w` in the floor. */
  readonly written: number;
  /**
   * Whether the cache is only read at boundaries: the end of the preamble, and at marks. These may
   * be `ours` too, or the `callers` alone. Absent: it is read as far as prefixes are equal.
   */
  readonly boundaries?: 'ours' | 'callers';
  /** Absent: the price does not depend on the prompt's length. */
  readonly step?: Pick<PriceStep, 'above' | 'input'> | undefined;
}

/** The prices of a model relative to fresh input. */
export interface RelativePrices extends InputPrices {
  readonly output: number;
  /** Whether nothing is billed by the token: a model of the deployer's own, without a price. */
  readonly free?: true;
}

/** The prices of most vendors, and of an unknown model (docs/design.md#floor). */
export const USUAL_PRICES: RelativePrices = { cached: 0.1, written: 1, output: 5 };

const FREE: RelativePrices = { ...USUAL_PRICES, free: true };

/** The floor divides by the share, so free cached input must not make it 0. */
const SMALLEST_SHARE = 0.01;

/**
 * The relative prices of a model. The deployer's take precedence over the published ones; in each
 * table the longest matching family wins.
 *
 * @param ownModels see `ModelTables`
 */
export function relativePricesOf(
  model: string | undefined,
  prices: readonly DeployerPrice[] = [],
  ownModels = false,
): RelativePrices {
  const unknown = ownModels ? FREE : USUAL_PRICES;
  if (model === undefined) return unknown;
  const base = baseName(model);
  const price = rowOf(bareName(model), prices) ?? rowOf(base, prices) ?? rowOf(base, PUBLISHED_PRICES);
  if (price === undefined) return unknown;
  const { fresh, written = fresh, output, step, hits } = price;
  const cached = Math.max(SMALLEST_SHARE, price.cached / fresh);
  return {
    cached,
    written: Math.max(cached, written / fresh),
    output: output === undefined ? USUAL_PRICES.output : output / fresh,
    ...boundariesOf(hits),
    // Only facts of the input: a receipt has a hash of them.
    ...(step ? { step: { above: step.above, input: step.input } } : {}),
  };
}

/**
 * The tokens of a view over which edits that lose nothing begin, for a model whose price has no
 * step. There the reads of one request cost as much as writing 10,000 tokens anew, about what a
 * move writes in the recorded conversations (docs/benchmark.md#windows-without-a-price-step). The
 * goal is 100,000 at least, since near use falls below that.
 *
 * @returns undefined where the price has a step or is not known
 */
export function priceGoal(prices: RelativePrices): number | undefined {
  const { cached, written, step, free } = prices;
  if (step || free || prices === USUAL_PRICES) return undefined;
  return Math.max(LEAST_GOAL, Math.round((written * REWRITTEN) / cached));
}

/** In tokens. */
const REWRITTEN = 10_000;
const LEAST_GOAL = 100_000;

function boundariesOf(hits: HitRule | undefined): Pick<InputPrices, 'boundaries'> {
  if (hits === 'breakpoints-20') return { boundaries: 'ours' };
  return hits === 'marks' ? { boundaries: 'callers' } : {};
}
