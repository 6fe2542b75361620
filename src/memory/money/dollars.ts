/** Amounts in words, with the digits that matter. */
import type { Nanodollars } from './amounts.ts';
import { dollarsOf } from './caller-limits.ts';

/** `$1,204`, `$41.20`, `$0.02`, `under $0.01`, `$0`. The sign is left to the sentence. */
export function dollarsIn(amount: Nanodollars): string {
  const value = Math.abs(dollarsOf(amount));
  if (value >= 99.995) return `$${Math.round(value).toLocaleString('en')}`;
  if (value === 0) return '$0';
  return value < 0.01 ? 'under $0.01' : `$${value.toFixed(2)}`;
}
