/** What a run has cost by Precis's own bill, as the inspector shows it (docs/money.md#sums). */
import type { ShownSums } from '../src/memory/money/bill-schema.ts';

/** Nanodollars in a dollar. */
const DOLLAR = 1_000_000_000;

type Priced = NonNullable<ShownSums['sent']>;

/** Amounts are in nanodollars. */
export interface RunBill {
  readonly sent: Priced;
  /** What the whole arrays would have cost. */
  readonly whole: Priced;
  readonly summarizer: number;
  /** Of what was sent, and of the summarizer. */
  readonly paid: number;
}

/** @returns undefined if a price is not known */
export async function billOfRun(
  workerUrl: string,
  apiKey: string,
  conversation: string,
): Promise<RunBill | undefined> {
  const url = `${workerUrl}/v1/conversations/${conversation}/requests?limit=1`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
  const { bill } = (await answer.json()) as { bill?: ShownSums };
  if (!bill?.sent || !bill.would_be || bill.billed < bill.requests) return undefined;
  const { actual: paid, sent, would_be: whole } = bill;
  const { summarizer } = bill.debits;
  return paid === null || summarizer === null ? undefined : { sent, whole, summarizer, paid };
}

/** The sentence that the inspector's page of the conversation begins with. */
export function paidSentence({ paid, whole }: Pick<RunBill, 'paid' | 'whole'>): string {
  if (paid === whole.amount) return `Paid ${dollars(paid)}, the same as without Precis.`;
  return `Paid ${dollars(paid)}; without Precis it would have been ${dollars(whole.amount)}: ${less(paid, whole.amount)}.`;
}

function less(paid: number, whole: number): string {
  const share = Math.abs(100 * (1 - paid / whole));
  return `${share < 1 ? 'under 1' : Math.round(share)} % ${paid < whole ? 'less' : 'more'}`;
}

export function dollars(nanodollars: number): string {
  return `$${(nanodollars / DOLLAR).toFixed(4)}`;
}
