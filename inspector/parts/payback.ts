/** What a compaction has cost, and when that was paid back, in words. */
import { inDollars } from '../read/money.ts';
import type { Payback } from '../read/savings.ts';
import { dollars, roundDollars } from './numbers.ts';

export function paybackWords({ cache, summary, isSummaryApart, ...rest }: Payback): string {
  const of = [...(cache > 0 ? ['cache'] : []), ...(summary > 0 ? ['summary'] : [])].join(' and ');
  return `compacted here, which cost ${dollars(inDollars(cache + summary))} of ${of}${apart(isSummaryApart)}: ${until(rest)}`;
}

/** The same for a narrow place. */
export function paybackTag({ cache, summary, isSummaryApart, ...rest }: Payback): string {
  const without = isSummaryApart ? ', its summary not counted' : '';
  return `compacted for ${roundDollars(inDollars(cache + summary))}${without}: ${until(rest)}`;
}

function apart(isSummaryApart: boolean): string {
  return isSummaryApart ? ' (not counted: its summary, which no request waited for)' : '';
}

function until({ at, removesMore }: Pick<Payback, 'at' | 'removesMore'>): string {
  if (!removesMore) return 'nothing more was removed';
  return at === null ? 'not paid back yet' : `paid back at request ${at}`;
}
