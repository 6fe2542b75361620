/**
 * What requests of some days have saved, in a few sentences that can be forwarded: numbers and
 * reasons, and no word of a caller's. Pure.
 */
import { dollarsIn } from '../money/amounts.ts';
import { type DaySums, netOf } from './day-sums.ts';
import { type Losses, lossReasons } from './ranked-conversations.ts';

export interface Period {
  readonly days: number;
  /** YYYY-MM-DD, of UTC. */
  readonly from: string;
  readonly to: string;
  readonly total: DaySums;
  readonly losses: Losses;
}

/** Answers of the model without a complete bill. Days of 0.9 and earlier have no sums by model. */
export function unbilledOf({ models = {}, requests, failed, billed, observed }: DaySums): number {
  const all = Object.values(models);
  const known = all.reduce((sum, one) => sum + one.requests, 0);
  if (known === requests) return all.reduce((sum, one) => sum + one.unbilled, 0);
  return Math.max(0, requests - failed - billed - observed);
}

/** Bills with estimated cache writes. */
export function aboutOf({ models = {} }: DaySums): number {
  return Object.values(models).reduce((sum, { about }) => sum + about, 0);
}

/**
 * Answers that nobody got: statuses of 500 and more, and streams that broke off. Null where days
 * of 0.9 and earlier don't say which answers have failed.
 */
export function lostOf({ failures = {}, failed }: DaySums): number | null {
  const all = Object.entries(failures);
  const sum = (of: (status: string) => boolean): number =>
    all.reduce((many, [status, { requests }]) => many + (of(status) ? requests : 0), 0);
  if (sum((status) => status !== 'broken') !== failed) return null;
  return sum((status) => status === 'broken' || Number(status) >= 500);
}

/** `This week (23 to 29 Nov 2026, UTC): $412 saved of $990 (42 %), 0 lost answers, …`. */
export function summaryText(period: Period): string {
  const { total, losses } = period;
  const when = `${periodWords(period)}:`;
  if (total.requests === 0) return `${when} no request is recorded.`;
  const first = [savedWords(total), lostWords(total), refusedWords(total), losingWords(losses)];
  return [
    `${when} ${first.filter((part) => part !== '').join(', ')}.`,
    ...lossSentence(losses),
    ...unknownSentences(total),
    ...observedSentence(total),
  ].join(' ');
}

function periodWords({ days, from, to }: Pick<Period, 'days' | 'from' | 'to'>): string {
  if (days === 1) return `Today (${dateWords(to)}, UTC)`;
  const range = `${dateWords(from)} to ${dateWords(to)}, UTC`;
  return days === 7 ? `This week (${range})` : `In ${days} days (${range})`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dateWords(date: string): string {
  const [, month, day] = date.split('-');
  return `${Number(day)} ${MONTHS[Number(month) - 1]}`;
}

function savedWords(total: DaySums): string {
  const net = netOf(total);
  const { requests, would_be: wouldBe, unpriced, billed } = total;
  if (net === null) {
    const why = billed > 0 ? `, since ${many(unpriced, 'summary has', 'summaries have')} no known cost` : '';
    return `${many(requests, 'request')} whose savings are not known${why}`;
  }
  const amount = dollarsIn(net === 0 ? wouldBe : net);
  const about = aboutOf(total) > 0 && amount.startsWith('$') ? `about ${amount}` : amount;
  if (net < 0) return `${about} lost: without Precis it would have been ${dollarsIn(wouldBe)}`;
  if (net === 0) return `${about} paid, nothing saved`;
  return `${about} saved of ${dollarsIn(wouldBe)} (${percent(net / wouldBe)})`;
}

/** A share of 1, in percent. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return 'under 1 %';
  return `${Math.round(100 * share)} %`;
}

function lostWords(total: DaySums): string {
  const lost = lostOf(total);
  return lost === null ? `${many(total.failed, 'failed answer')}` : many(lost, 'lost answer');
}

function refusedWords({ failures = {} }: DaySums): string {
  const refused = Object.entries(failures).filter(([status]) => Number(status) < 500);
  const sum = refused.reduce((all, [, { requests }]) => all + requests, 0);
  if (sum === 0) return '';
  const [[status] = ['']] = refused.toSorted(([, one], [, other]) => other.requests - one.requests);
  return `${many(sum, 'refused request')} (${refused.length > 1 ? 'mostly ' : ''}${status})`;
}

function losingWords({ conversations }: Losses): string {
  return `${conversations === 0 ? 'no conversation' : many(conversations, 'conversation')} cost more`;
}

function lossSentence(losses: Losses): string[] {
  const { conversations, amount } = losses;
  const known = lossReasons(losses).toSorted((one, other) => other.conversations - one.conversations);
  const [first] = known;
  if (!first) return [];
  if (conversations === 1) return [`It cost ${dollarsIn(amount)} more because ${first.because}.`];
  const reasons =
    known.length === 1
      ? `because ${first.because}`
      : known.map((one) => `${one.conversations.toLocaleString('en')} because ${one.because}`).join('; ');
  return [`They cost ${dollarsIn(amount)} more together${known.length === 1 ? ' ' : ': '}${reasons}.`];
}

function unknownSentences(total: DaySums): string[] {
  const unbilled = unbilledOf(total);
  if (unbilled === 0) return [];
  const [have, are] = unbilled === 1 ? ['has', 'it is'] : ['have', 'they are'];
  return [
    `${many(unbilled, 'request')} of ${total.requests.toLocaleString('en')} ${have} no known cost; ${are} left out.`,
  ];
}

function observedSentence({ observed, potential_billed: known, potential_net: net }: DaySums): string[] {
  if (observed === 0) return [];
  const [were, they] = observed === 1 ? ['was', 'it'] : ['were', 'they'];
  const said = `${many(observed, 'request')} ${were} only observed`;
  if (known === 0) return [`${said}; what ${they} would have saved is not known.`];
  return [`${said}; ${they} would have ${net < 0 ? 'lost' : 'saved'} ${dollarsIn(net)}.`];
}

/** `3 conversations`. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : more}`;
}
