/**
 * The price of cached input relative to fresh input, by model family: `a` in the floor
 * (docs/design.md#floor). Prices are those of the standard tier for short prompts; long prompts,
 * faster tiers and peak hours raise both in the same proportion.
 */
import { bareName } from './models.ts';

/** Input prices in dollars per million tokens: 0 < `fresh`, 0 ≤ `cached` ≤ `fresh`. */
export interface Price {
  /** Prefix of the models' bare names: `gpt-4.1` includes `gpt-4.1-mini`, but not `gpt-4.10`. */
  readonly family: string;
  readonly fresh: number;
  readonly cached: number;
}

/** A price with its source. */
interface PublishedPrice extends Price {
  readonly source: string;
  /**
   * The day on which the page had this price (YYYY-MM-DD); for an undated copy, the earliest
   * possible day.
   */
  readonly asOf: string;
}

/** For an unknown model: the share of most vendors (docs/design.md#floor). */
export const UNKNOWN_SHARE = 0.1;

/** The floor divides by the share, so free cached input must not make it 0. */
const SMALLEST_SHARE = 0.01;

/**
 * Families whose share differs from that of the family that their name extends, or from a tenth
 * where it extends none: OpenAI since GPT-5, Anthropic and Google take a tenth of most models. Both
 * prices are equal where a vendor gives no discount for cached input.
 */
export const PUBLISHED_PRICES: readonly PublishedPrice[] = [
  ...page('https://developers.openai.com/api/docs/pricing', '2026-10-07', [['gpt-6.1-sol', 2, 0.1]]),
  ...page('https://developers.openai.com/api/docs/pricing', '2026-10-03', [
    ['gpt-4.1', 2, 0.5],
    ['gpt-4o', 2.5, 1.25],
    ['o3', 2, 0.5],
    ['o4-mini', 1.1, 0.275],
  ]),
  ...page('https://developers.openai.com/api/docs/pricing', '2026-09-22', [
    ['gpt-5.5-pro', 30, 30],
    ['gpt-5.4-pro', 30, 30],
    ['gpt-5.2-pro', 21, 21],
    ['gpt-5-pro', 15, 15],
    ['gpt-4o-2024-05-13', 5, 5],
    ['o1', 15, 7.5],
    ['o1-pro', 150, 150],
    ['o3-pro', 20, 20],
    ['o3-mini', 1.1, 0.55],
    ['gpt-4', 30, 30],
    ['gpt-3.5-turbo', 0.5, 0.5],
  ]),
  ...page('https://platform.claude.com/docs/en/about-claude/pricing', '2026-10-09', [
    ['claude-sonnet-5.5', 2, 0.1],
    ['claude-opus-5.5', 4, 0.2],
  ]),
  ...page('https://platform.claude.com/docs/en/about-claude/pricing', '2026-10-07', [
    ['claude-fable-5.1', 10, 0.25],
  ]),
  ...page('https://platform.claude.com/docs/en/about-claude/pricing', '2026-09-25', [
    ['claude-mythos-5.1', 10, 0.25],
  ]),
  // Off-peak.
  ...page('https://api-docs.deepseek.com/quick_start/pricing', '2026-10-06', [
    ['deepseek-flash', 0.15, 0.003],
    ['deepseek-v4-pro', 0.66, 0.022],
  ]),
  ...page('https://api-docs.deepseek.com/quick_start/pricing', '2026-08-16', [
    ['deepseek-v4-flash', 0.22, 0.007],
  ]),
  ...page('https://docs.x.ai/developers/pricing', '2026-09-25', [
    ['grok-4.7', 2, 0.5],
    ['grok-4.6', 2, 0.5],
    ['grok-4.5', 2, 0.3],
    ['grok-4.3', 1.25, 0.2],
    ['grok-build-0.1', 1, 0.2],
  ]),
  ...page('https://docs.x.ai/developers/models/grok-4.20-0309.md', '2026-08-19', [['grok-4.20', 1.25, 0.2]]),
  ...page('https://docs.x.ai/developers/models.md', '2026-03-09', [['grok-4.1-fast', 0.2, 0.05]]),
  ...page('https://archive.fo/dYUtw', '2025-06-02', [['grok-3', 3, 0.75]]),
  ...page('https://platform.kimi.ai/docs/pricing/chat', '2026-09-24', [['kimi-k2.6', 0.95, 0.16]]),
  ...page('https://platform.kimi.ai/docs/pricing/chat-k27-code', '2026-06-23', [
    ['kimi-k2.7-code', 0.95, 0.19],
  ]),
  ...page('https://docs.z.ai/guides/overview/pricing', '2026-09-04', [
    ['glm-5.3', 1.4, 0.26],
    ['glm-5.3-flash', 0.15, 0.03],
    ['glm-5.2', 1.4, 0.26],
    ['glm-5.1', 1.4, 0.26],
    ['glm-5', 1, 0.2],
    ['glm-4.7', 0.6, 0.11],
    ['glm-4.7-flashx', 0.07, 0.01],
  ]),
  ...page('https://docs.z.ai/guides/overview/pricing', '2026-07-31', [
    ['glm-4.6', 0.6, 0.11],
    ['glm-4.5', 0.6, 0.11],
    ['glm-4.5-air', 0.2, 0.03],
  ]),
];

/**
 * The price of cached input ÷ that of fresh input, in (0, 1]. The deployer's `prices` take
 * precedence over the published ones; in each table the longest matching family wins. 0.1 for a
 * model in neither.
 */
export function cachedShare(model: string | undefined, prices: readonly Price[] = []): number {
  if (model === undefined) return UNKNOWN_SHARE;
  const name = spelling(bareName(model));
  const price = longestFamily(name, prices) ?? longestFamily(name, PUBLISHED_PRICES);
  return price === undefined ? UNKNOWN_SHARE : Math.max(SMALLEST_SHARE, price.cached / price.fresh);
}

/** The row with the longest family of a name (see `spelling`). */
export function longestFamily<Row extends Pick<Price, 'family'>>(
  name: string,
  prices: readonly Row[],
): Row | undefined {
  let longest: Row | undefined;
  for (const price of prices)
    if (price.family.length > (longest?.family.length ?? 0) && isOf(spelling(price.family), name))
      longest = price;
  return longest;
}

/**
 * A family ends at the end of a word or number of the name, so that `gpt-4.1` does not include
 * `gpt-4-1106-preview`.
 */
function isOf(family: string, name: string): boolean {
  const seam = name.slice(family.length - 1, family.length + 1);
  return name.startsWith(family) && !/[a-z\d]{2}/.test(seam);
}

/**
 * Routers spell names differently: `claude-opus-5.5` for Anthropic's `claude-opus-5-5`, `GLM-5.2`
 * for `glm-5.2`.
 */
export function spelling(name: string): string {
  return name.toLowerCase().replaceAll('.', '-');
}

function page(
  source: string,
  asOf: string,
  rows: readonly (readonly [family: string, fresh: number, cached: number])[],
): PublishedPrice[] {
  return rows.map(([family, fresh, cached]) => ({ family, fresh, cached, source, asOf }));
}
