/** What `precis replay` prints: the answer in a paragraph, then conversations. */
import type { CourseSums } from '../../inspector/read/course.ts';
import { NANODOLLARS } from '../../inspector/read/money.ts';
import { dollarsIn } from '../../src/memory/money/amounts.ts';

/** A conversation, with and without a strategy. */
export interface Replayed extends CourseSums {
  readonly name: string;
  readonly model: string | undefined;
  /** Tokens of its largest request, without the strategy. */
  readonly largest: number;
  /** Whether any of its requests would have been smaller. */
  readonly isShortened: boolean;
}

/** How many conversations are listed without `--all`. */
const LISTED = 10;
/** A conversation that costs this much more is dearer; less is rounding. */
const DEARER = 1.0005;

interface Options {
  /** Lists all conversations. */
  readonly all?: boolean;
  /** Conversations that the plan has refused, each with why. */
  readonly skipped?: readonly string[];
  /** The strategy's `token_budget`. */
  readonly budget?: number | undefined;
}

export function wordsOf(
  replayed: readonly Replayed[],
  strategy: string,
  { all = false, skipped = [], budget = Number.POSITIVE_INFINITY }: Options = {},
): string {
  const parts = [
    ...(replayed.some(({ isShortened }) => isShortened)
      ? savings(replayed, strategy)
      : [nothing(replayed, strategy, budget)]),
    ...(skipped.length > 0 ? [`Left out: ${skipped.join('; ')}.`] : []),
    tableOf(replayed, all),
    `Prices are list prices, with the answers of the log. Each request is taken to come while the
vendor's cache holds the one before. What summaries and fetches cost is not in it, nor how a model
works with less in view.`,
  ];
  return parts.join('\n\n');
}

interface Priced extends Replayed {
  readonly without: number;
  readonly price: number;
}

function isPriced(one: Replayed): one is Priced {
  return one.without !== undefined && one.price !== undefined;
}

function savings(replayed: readonly Replayed[], strategy: string): string[] {
  const priced = replayed.filter(isPriced);
  const unpriced = replayed.filter((one) => !isPriced(one));
  return [
    ...(priced.length > 0 ? [dollars(priced, strategy)] : []),
    ...(unpriced.length > 0 ? [tokens(unpriced, strategy)] : []),
  ];
}

/** Why nothing is saved. A request carries the tools of Precis even where nothing is removed. */
function nothing(replayed: readonly Replayed[], strategy: string, budget: number): string {
  const largest = Math.max(...replayed.map((one) => one.largest));
  const waits =
    largest > budget ? ', and no edit would have freed enough for the cached prefix that it breaks' : '';
  const priced = replayed.filter(isPriced);
  const [without, price] = [sum(priced.map((one) => one.without)), sum(priced.map((one) => one.price))];
  const tools =
    price > without * DEARER
      ? ` The tools that Precis adds would have cost ${usd(price - without)} (${percent(price / without - 1)}).`
      : '';
  return `Nothing would have been removed by ${strategy}: the largest of ${requestsOf(replayed)} has ${count(largest)} tokens${waits}.${tools}`;
}

function dollars(priced: readonly Priced[], strategy: string): string {
  const [without, price] = [sum(priced.map((one) => one.without)), sum(priced.map((one) => one.price))];
  const changes = priced.map((one) => one.price / one.without).filter((change) => change > DEARER);
  const dearer =
    changes.length === 0
      ? 'None would have cost more.'
      : `${changes.length} would have cost more, by at most ${percent(Math.max(...changes) - 1)}.`;
  const [change, how] = price <= without ? ['saved', without - price] : ['cost you', price - without];
  return `Of ${usd(without)} for ${requestsOf(priced)}, ${strategy} would have ${change} ${usd(how)} (${percent(how / without)}). ${dearer}`;
}

function tokens(unpriced: readonly Replayed[], strategy: string): string {
  const [came, sent] = [sum(unpriced.map((one) => one.came)), sum(unpriced.map((one) => one.sent))];
  const models = [...new Set(unpriced.map(({ model }) => model ?? 'no model'))].slice(0, 5).join(', ');
  return `Without a known price (${models}): of ${count(came)} input tokens of ${requestsOf(unpriced)}, ${strategy} would have sent ${count(sent)}. --model names a model with a price.`;
}

function requestsOf(replayed: readonly Replayed[]): string {
  const requests = sum(replayed.map((one) => one.requests));
  const [one, other] = [requests === 1 ? '' : 's', replayed.length === 1 ? '' : 's'];
  return `${count(requests)} request${one} in ${count(replayed.length)} conversation${other}`;
}

/** Those with the largest savings, and those that cost more. */
function tableOf(replayed: readonly Replayed[], all: boolean): string {
  const sorted = replayed.toSorted((one, other) => weight(other) - weight(one));
  const listed = all ? sorted : sorted.slice(0, LISTED);
  const rows = listed.map((one) => [
    one.name.slice(0, 40),
    count(one.requests),
    isPriced(one) ? usd(one.without) : `${count(one.came)} tokens`,
    isPriced(one) ? usd(one.price) : count(one.sent),
    changeOf(one),
  ]);
  const more = replayed.length - listed.length;
  const table = aligned([['conversation', 'requests', 'without', 'with', ''], ...rows]);
  return more > 0 ? `${table}\n${count(more)} more with --all` : table;
}

const weight = (one: Replayed): number =>
  isPriced(one) ? Math.abs(one.without - one.price) : (one.came - one.sent) / 1e9;

function changeOf(one: Replayed): string {
  const change = isPriced(one) ? one.price / one.without - 1 : one.sent / one.came - 1;
  if (!one.isShortened && change < DEARER - 1) return 'nothing removed';
  return Math.abs(change) < 0.0005 ? 'the same' : `${change < 0 ? '−' : '+'}${percent(Math.abs(change))}`;
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const count = (value: number): string => value.toLocaleString('en-US');
const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const usd = (amount: number): string => dollarsIn(amount * NANODOLLARS);
