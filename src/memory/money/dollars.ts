/** Amounts in words, with the digits that matter. */
import type { Nanodollars } from './amounts.ts';
import { dollarsOf } from './caller-limits.ts';

/** `$1,204`, `$41.20`, `$0.41`, `$0.0012`. The sign is left to the sentence. */
export function dollarsIn(amount: Nanodollars): string {
  const value = Math.abs(dollarsOf(amount));
  if (value >= 99.995) return `$${Math.round(value).toLocaleString('en')}`;
  if (value >= 0.1) return `$${value.toFixed(2)}`;
  const short = Number(value.toPrecision(2));
  return `$${short === 0 ? '0' : short.toFixed(1 - Math.floor(Math.log10(short)))}`;
}
