/**
 * Prices of tokens as integers. One dollar per million tokens is a million picodollars per token,
 * so every published price is a whole number of them, and sums are exact.
 */
import type { Rates, Schedule } from '../models/schedule.ts';
import type { PricedTokens, TokenUsage } from './bill-schema.ts';

/** A billionth of a US dollar, as an integer: ten million of them are a cent. */
export type Nanodollars = number;

/** Tokens of one model call, by how they are billed. Each input token counts once. */
export type BilledTokens = Readonly<Omit<PricedTokens, 'amount'>>;

export const NO_TOKENS: BilledTokens = { fresh: 0, cached: 0, written: 0, output: 0 };

const PICO_IN_NANO = 1_000;
/** Picodollars per token of one dollar per million tokens. */
const PICO_PER_RATE = 1_000_000;

/**
 * The price of the tokens of one call, rounded to nanodollars once.
 *
 * @param prompt the input tokens of the call that decide about the step. Absent: the amounts of
 *   `tokens`
 */
export function amountOf(tokens: BilledTokens, schedule: Schedule, prompt = inputOf(tokens)): Nanodollars {
  const rates = ratesAt(schedule, prompt);
  const pico =
    tokens.fresh * picoOf(rates.fresh) +
    tokens.cached * picoOf(rates.cached) +
    tokens.written * picoOf(rates.written) +
    tokens.output * picoOf(rates.output);
  return Math.round(pico / PICO_IN_NANO);
}

/** All input tokens of a call. */
export function inputOf({ fresh, cached, written }: BilledTokens): number {
  return fresh + cached + written;
}

/** The rates for a prompt of this many input tokens. */
export function ratesAt(schedule: Schedule, prompt: number): Rates {
  const { fresh, cached, written, output, step } = schedule;
  if (!step || prompt <= step.above) return { fresh, cached, written, output };
  return {
    fresh: fresh * step.input,
    cached: cached * step.input,
    written: written * step.input,
    output: output * step.output,
  };
}

function picoOf(rate: number): number {
  return Math.round(rate * PICO_PER_RATE);
}

/**
 * The price of several calls together: undefined without a call, null if one of them has none that
 * is known.
 */
export function costOf(usages: readonly Pick<TokenUsage, 'cost'>[]): Nanodollars | null | undefined {
  const costs = usages.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  if (costs.length === 0) return undefined;
  return costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost));
}

/**
 * The price of one call of the summarizer; null if its schedule is not known, or if it reports no
 * usage. Input of which it does not say that it was cached is priced as fresh.
 */
export function summarizerAmount(
  usage: Omit<TokenUsage, 'total_tokens' | 'cost'>,
  schedule: Schedule | undefined,
): Nanodollars | null {
  const { prompt_tokens: input, completion_tokens: output } = usage;
  if (!schedule || input === 0) return null;
  const cached = Math.min(usage.cached_tokens ?? 0, input);
  const written = Math.min(usage.cache_write_tokens ?? 0, input - cached);
  return amountOf({ fresh: input - cached - written, cached, written, output }, schedule);
}

const NANO_IN_DOLLAR = 1_000_000_000;

export function nanodollarsOf(dollars: number): Nanodollars {
  return Math.round(dollars * NANO_IN_DOLLAR);
}

export function dollarsOf(amount: Nanodollars): number {
  return amount / NANO_IN_DOLLAR;
}

/**
 * In words, with the digits that matter: `$1,204`, `$41.20`, `$0.02`, `under $0.01`, `$0`. The sign
 * is left to the sentence.
 */
export function dollarsIn(amount: Nanodollars): string {
  const value = Math.abs(dollarsOf(amount));
  if (value >= 99.995) return `$${Math.round(value).toLocaleString('en')}`;
  if (value === 0) return '$0';
  return value < 0.01 ? 'under $0.01' : `$${value.toFixed(2)}`;
}
