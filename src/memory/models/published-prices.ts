/** Vendors' published prices. The only place that has them (docs/money.md#prices). */
import type { HitRule, PriceStep, Rates } from './schedule.ts';

/**
 * A family's prices with the vendor's page, where they can be checked. Rows that no copy of the
 * page at hand showed are from the dataset @pydantic/genai-prices 0.1.8
 * (https://github.com/pydantic/genai-prices), and so are most prices of output.
 */
export interface PublishedPrices extends Omit<Rates, 'output'> {
  /** Prefix of the models' bare names: `gpt-4.1` includes `gpt-4.1-mini`, but not `gpt-4.10`. */
  readonly family: string;
  /** Absent where only the proportions of the others are known, or hold all day. */
  readonly output?: number;
  readonly step?: PriceStep | undefined;
  readonly hits: HitRule;
  /** The longest time that the cache keeps an unused prefix by default, in milliseconds. */
  readonly lifetimeMs: number;
  /** Whether the vendor says that nothing is kept longer. */
  readonly isLifetimeStated?: boolean;
  readonly source: string;
  /** The day of the copy of the page, or of the dataset's row where no copy had it (YYYY-MM-DD). */
  readonly asOf: string;
  /** Whether the source is not the vendor's, or was not read itself. */
  readonly isSecondHand?: boolean;
  /** The last day for which the source promises them, if it names one (YYYY-MM-DD). */
  readonly until?: string | undefined;
  /** Absent where prices are the same at all hours. */
  readonly peak?: Peak | undefined;
  /** Other lifetimes of the cache, by the name that a request gives them. */
  readonly lifetimes?: Readonly<Record<string, Pick<PublishedPrices, 'written' | 'lifetimeMs'>>>;
}

/** Hours of higher prices, on weekdays. Holidays of the vendor are not known. */
export interface Peak {
  /** On all prices. */
  readonly factor: number;
  /** Hours of the day in UTC, from the first to before the second. */
  readonly hours: readonly (readonly [from: number, to: number])[];
}

const MINUTE_MS = 60_000;

/** What the families of one page share. */
interface Page
  extends Pick<
    PublishedPrices,
    'hits' | 'step' | 'isLifetimeStated' | 'source' | 'asOf' | 'isSecondHand' | 'until' | 'peak'
  > {
  readonly lifetimeMinutes: number;
  /** The price of a write ÷ the price of fresh input. */
  readonly write?: number;
  /** The same for other lifetimes, by name. */
  readonly lifetimes?: Readonly<Record<string, Pick<Page, 'lifetimeMinutes'> & { readonly write: number }>>;
}

type Row = readonly [family: string, fresh: number, cached: number, output?: number];

/** https://developers.openai.com/api/docs/pricing, "Prompts with >272K input tokens". */
const OPENAI_STEP: PriceStep = { above: 272_000, input: 2, output: 1.5 };
/** https://ai.google.dev/gemini-api/docs/pricing, "prompts > 200k tokens". */
const GEMINI_STEP: PriceStep = { above: 200_000, input: 2, output: 1.5 };
/** https://docs.x.ai/developers/pricing, for prompts from 200,000 tokens on. */
const XAI_STEP: PriceStep = { above: 199_999, input: 2, output: 2 };

/**
 * Prices of the standard tier. https://developers.openai.com/api/docs/guides/prompt-caching has the
 * rules of the cache: prefixes live for an hour at most, or for 24 hours since GPT-5. Since GPT-5.6
 * they live for 30 minutes, and a write costs 1.25 times as much as fresh input.
 */
const OPENAI = 'https://developers.openai.com/api/docs/pricing';
const OPENAI_HOUR: Page = {
  source: OPENAI,
  asOf: '2026-10-03',
  hits: 'prefix-128',
  lifetimeMinutes: 60,
  isLifetimeStated: true,
};
const OPENAI_DAY: Page = { ...OPENAI_HOUR, asOf: '2026-09-22', lifetimeMinutes: 24 * 60 };
const OPENAI_WRITES: Page = {
  source: OPENAI,
  asOf: '2026-10-07',
  hits: 'breakpoints-20',
  lifetimeMinutes: 30,
  isLifetimeStated: true,
  write: 1.25,
  step: OPENAI_STEP,
};
/** `prompt_cache_options.ttl` of the Responses API, on the models' pages since GPT-6.1. */
const OPENAI_LIFETIMES: Page = {
  ...OPENAI_WRITES,
  lifetimes: { '30m': { lifetimeMinutes: 30, write: 1.25 }, '12h': { lifetimeMinutes: 720, write: 2.5 } },
};

/**
 * Writes for five minutes, or for an hour where a mark says so
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
const ANTHROPIC: Page = {
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  asOf: '2026-10-07',
  hits: 'marks',
  lifetimeMinutes: 5,
  isLifetimeStated: true,
  write: 1.25,
  lifetimes: { '5m': { lifetimeMinutes: 5, write: 1.25 }, '1h': { lifetimeMinutes: 60, write: 2 } },
};

const GOOGLE: Page = {
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  asOf: '2026-09-25',
  hits: 'prefix',
  lifetimeMinutes: 60,
};

const XAI: Page = {
  source: 'https://docs.x.ai/developers/pricing',
  asOf: '2026-09-25',
  hits: 'prefix',
  lifetimeMinutes: 60,
  step: XAI_STEP,
};

const KIMI: Page = {
  source: 'https://platform.kimi.ai/docs/pricing/chat',
  asOf: '2026-09-24',
  hits: 'prefix',
  lifetimeMinutes: 60,
};

const ZAI: Page = {
  source: 'https://docs.z.ai/guides/overview/pricing',
  asOf: '2026-09-04',
  hits: 'prefix',
  lifetimeMinutes: 60,
};

/** Its cache is on disk, for hours to days (https://api-docs.deepseek.com/guides/kv_cache). */
const DEEPSEEK: Page = {
  source: 'https://api-docs.deepseek.com/quick_start/pricing',
  asOf: '2026-10-27',
  hits: 'prefix',
  lifetimeMinutes: 24 * 60,
  peak: {
    factor: 2,
    hours: [
      [1, 4],
      [6, 10],
    ],
  },
};

/**
 * DeepSeek's rows are the prices of the cheap hours. Where a vendor gives no discount for cached
 * input, both prices are equal.
 */
export const PUBLISHED_PRICES: readonly PublishedPrices[] = [
  ...page(
    {
      ...OPENAI_LIFETIMES,
      source: 'https://developers.openai.com/api/docs/models/gpt-6.2-sol',
      asOf: '2026-11-17',
    },
    [['gpt-6.2-sol', 2, 0.1, 10]],
  ),
  // Second hand, as is GPT-6.2 Astra: cached input of the newest models costs a twentieth of fresh
  // input.
  ...page(
    {
      ...OPENAI_LIFETIMES,
      source: 'https://apidog.com/blog/gpt-6-1-terra-pricing',
      asOf: '2026-10-26',
      isSecondHand: true,
    },
    [['gpt-6.1-terra', 1, 0.05, 5]],
  ),
  ...page({ ...OPENAI_LIFETIMES, asOf: '2026-11-24', isSecondHand: true }, [['gpt-6.2-astra', 8, 0.4, 40]]),
  ...page(OPENAI_WRITES, [
    ['gpt-6.1-sol', 2, 0.1, 10],
    ['gpt-6-astra', 10, 1, 50],
    ['gpt-6-sol', 2, 0.2, 10],
    ['gpt-6-luna', 0.1, 0.01, 0.5],
    ['gpt-5.6-terra', 2, 0.2, 12],
    ['gpt-5.6-luna', 0.2, 0.02, 1.2],
  ]),
  // `gpt-5.6` is another name of Sol.
  ...page(
    {
      ...OPENAI_WRITES,
      source: 'https://developers.openai.com/api/docs/models/gpt-5.6-sol',
      asOf: '2026-08-21',
      until: '2026-11-21',
    },
    [
      ['gpt-5.6', 4, 0.4, 20],
      ['gpt-5.6-sol', 4, 0.4, 20],
    ],
  ),
  ...page({ ...OPENAI_DAY, step: OPENAI_STEP }, [
    ['gpt-5.5', 5, 0.5, 30],
    ['gpt-5.5-pro', 30, 30, 180],
    ['gpt-5.4', 2.5, 0.25, 15],
    ['gpt-5.4-pro', 30, 30, 180],
  ]),
  ...page(OPENAI_DAY, [
    ['gpt-5.4-mini', 0.75, 0.075, 4.5],
    ['gpt-5.4-nano', 0.2, 0.02, 1.25],
    ['gpt-5.3-codex', 1.75, 0.175, 14],
    ['gpt-5.2', 1.75, 0.175, 14],
    ['gpt-5.2-codex', 1.75, 0.175, 14],
    ['gpt-5.2-pro', 21, 21, 168],
    ['gpt-5.1', 1.25, 0.125, 10],
    ['gpt-5.1-codex', 1.25, 0.125, 10],
    ['gpt-5.1-codex-max', 1.25, 0.125, 10],
    ['gpt-5.1-codex-mini', 0.25, 0.025, 2],
    ['gpt-5', 1.25, 0.125, 10],
    ['gpt-5-codex', 1.25, 0.125, 10],
    ['gpt-5-mini', 0.25, 0.025, 2],
    ['gpt-5-nano', 0.05, 0.005, 0.4],
    ['gpt-5-pro', 15, 15, 120],
  ]),
  ...page(OPENAI_HOUR, [
    ['gpt-4.1', 2, 0.5, 8],
    ['gpt-4.1-mini', 0.4, 0.1, 1.6],
    ['gpt-4.1-nano', 0.1, 0.025, 0.4],
    ['gpt-4o', 2.5, 1.25, 10],
    ['gpt-4o-2024-05-13', 5, 5, 15],
    ['gpt-4o-mini', 0.15, 0.075, 0.6],
    ['gpt-4-turbo', 10, 10, 30],
    ['gpt-4', 30, 30, 60],
    ['gpt-4-0613', 30, 30, 60],
    ['gpt-3.5-turbo', 0.5, 0.5, 1.5],
    ['gpt-3.5-turbo-0125', 0.5, 0.5, 1.5],
    ['o1', 15, 7.5, 60],
    ['o1-pro', 150, 150, 600],
    ['o3', 2, 0.5, 8],
    ['o3-mini', 1.1, 0.55, 4.4],
    ['o3-pro', 20, 20, 80],
    ['o4-mini', 1.1, 0.275, 4.4],
  ]),
  // Mythos has the prices of Fable of the same number, as on the page of 5.
  ...page({ ...ANTHROPIC, asOf: '2026-11-24' }, [
    ['claude-fable-5.2', 8, 0.2, 40],
    ['claude-mythos-5.2', 8, 0.2, 40],
  ]),
  ...page(ANTHROPIC, [
    ['claude-fable-5.1', 10, 0.25, 50],
    ['claude-mythos-5.1', 10, 0.25, 50],
    ['claude-fable-5', 10, 1, 50],
    ['claude-mythos-5', 10, 1, 50],
    ['claude-opus-5.5', 4, 0.2, 20],
    ['claude-opus-5', 5, 0.5, 25],
    ['claude-opus-4.8', 5, 0.5, 25],
    ['claude-opus-4.7', 5, 0.5, 25],
    ['claude-opus-4.6', 5, 0.5, 25],
    ['claude-opus-4.5', 5, 0.5, 25],
    ['claude-opus-4.1', 15, 1.5, 75],
    ['claude-opus-4', 15, 1.5, 75],
    ['claude-sonnet-5.5', 2, 0.1, 10],
    ['claude-sonnet-5', 2, 0.2, 10],
    ['claude-sonnet-4.6', 3, 0.3, 15],
    ['claude-sonnet-4', 3, 0.3, 15],
    ['claude-haiku-4.5', 1, 0.1, 5],
    ['claude-haiku-3.5', 0.8, 0.08, 4],
    ['claude-3.5-haiku', 0.8, 0.08, 4],
  ]),
  ...page({ ...ANTHROPIC, step: { above: 200_000, input: 2, output: 1.5 } }, [
    ['claude-sonnet-4.5', 3, 0.3, 15],
  ]),
  ...page({ ...ANTHROPIC, step: { above: 100_000, input: 5, output: 5 } }, [
    ['claude-haiku-5.5', 0.1, 0.01, 0.5],
  ]),
  // https://github.com/BerriAI/litellm/discussions/46238 (2026-10): Google's introductory price.
  ...page({ ...GOOGLE, asOf: '2026-11-11', until: '2026-11-30' }, [
    ['gemini-4-argon', 2, 0.1, 10],
    ['gemini-4-carbon', 2, 0.1, 10],
  ]),
  ...page({ ...GOOGLE, asOf: '2026-11-11' }, [
    ['gemini-4-argon', 4, 0.2, 20],
    ['gemini-4-carbon', 4, 0.2, 20],
  ]),
  ...page({ ...GOOGLE, step: GEMINI_STEP }, [
    ['gemini-3.1-pro', 2, 0.2, 12],
    ['gemini-3-pro', 2, 0.2, 12],
    ['gemini-2.5-pro', 1.25, 0.125, 10],
  ]),
  ...page({ ...GOOGLE, until: '2026-12-31' }, [
    ['gemini-3.8-flash', 0.75, 0.075, 3.75],
    ['gemini-3.7-flash', 0.75, 0.075, 3.75],
    ['gemini-3.6-flash', 0.75, 0.075, 3.75],
  ]),
  ...page(GOOGLE, [
    ['gemini-3.8-flash', 1.5, 0.15, 7.5],
    ['gemini-3.7-flash', 1.5, 0.15, 7.5],
    ['gemini-3.6-flash', 1.5, 0.15, 7.5],
    ['gemini-3.5-flash', 1.5, 0.15, 9],
    ['gemini-3.5-flash-lite', 0.3, 0.03, 2.5],
    ['gemini-3.1-flash-lite', 0.25, 0.025, 1.5],
    ['gemini-3-flash', 0.5, 0.05, 3],
    ['gemini-2.5-flash', 0.3, 0.03, 2.5],
    ['gemini-2.5-flash-lite', 0.1, 0.01, 0.4],
  ]),
  ...page(XAI, [
    ['grok-4.7', 2, 0.5, 6],
    ['grok-4.6', 2, 0.5, 6],
    ['grok-4.5', 2, 0.3, 6],
    ['grok-4.3', 1.25, 0.2, 2.5],
    ['grok-build-0.1', 1, 0.2, 2],
  ]),
  ...page({ ...XAI, source: 'https://docs.x.ai/developers/models/grok-4.20-0309.md', asOf: '2026-08-19' }, [
    ['grok-4.20', 1.25, 0.2],
  ]),
  ...page({ ...XAI, source: 'https://docs.x.ai/developers/models.md', asOf: '2026-03-09' }, [
    ['grok-4.1-fast', 0.2, 0.05],
  ]),
  ...page({ ...XAI, source: 'https://archive.fo/dYUtw', asOf: '2025-06-02', step: undefined }, [
    ['grok-3', 3, 0.75],
  ]),
  ...page(KIMI, [
    ['kimi-k3', 3, 0.3, 15],
    ['kimi-k2.7-code', 0.95, 0.19, 4],
    ['kimi-k2.6', 0.95, 0.16, 4],
  ]),
  ...page(ZAI, [
    ['glm-5.3', 1.4, 0.26, 4.4],
    ['glm-5.3-flash', 0.15, 0.03, 0.5],
    ['glm-5.2', 1.4, 0.26, 4.4],
    ['glm-5.1', 1.4, 0.26, 4.4],
    ['glm-5', 1, 0.2, 3.2],
    ['glm-4.7', 0.6, 0.11],
    ['glm-4.7-flashx', 0.07, 0.01],
  ]),
  ...page({ ...ZAI, asOf: '2026-07-31' }, [
    ['glm-4.6', 0.6, 0.11],
    ['glm-4.5', 0.6, 0.11],
    ['glm-4.5-air', 0.2, 0.03],
  ]),
  ...page(DEEPSEEK, [
    ['deepseek-flash', 0.15, 0.003, 0.6],
    ['deepseek-v4-pro', 0.66, 0.022, 1.98],
    // Retired: its requests are served by `deepseek-flash`.
    ['deepseek-v4-flash', 0.15, 0.003, 0.6],
  ]),
];

function page(
  { lifetimeMinutes, write = 1, lifetimes, ...shared }: Page,
  rows: readonly Row[],
): PublishedPrices[] {
  return rows.map(([family, fresh, cached, output]) => ({
    ...shared,
    family,
    fresh,
    cached,
    written: write * fresh,
    ...(output === undefined ? {} : { output }),
    lifetimeMs: lifetimeMinutes * MINUTE_MS,
    ...(lifetimes ? { lifetimes: lifetimesOf(lifetimes, fresh) } : {}),
  }));
}

function lifetimesOf(
  lifetimes: NonNullable<Page['lifetimes']>,
  fresh: number,
): NonNullable<PublishedPrices['lifetimes']> {
  const entries = Object.entries(lifetimes).map(([name, { lifetimeMinutes, write }]) => [
    name,
    { written: write * fresh, lifetimeMs: lifetimeMinutes * MINUTE_MS },
  ]);
  return Object.fromEntries(entries);
}
