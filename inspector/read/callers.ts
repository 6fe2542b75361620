/** The callers of a deployment as its operator sees them: their order, their use, their limits. */
import type { CallerLimits, ShownCaller } from '../api/answers.ts';
import { cents, count, dollars, short, UNKNOWN } from '../parts/numbers.ts';
import { inDollars } from './money.ts';

type Usage = ShownCaller['today'];

/** By the value of the choice; a larger one comes first, and what is not known last. */
const ORDERS: Readonly<Record<string, (caller: ShownCaller) => number | null>> = {
  seen: ({ last_seen_at: at }) => at,
  paid: ({ month }) => usedIn(month).paid,
  requests: ({ month }) => usedIn(month).requests,
  tokens: ({ month }) => usedIn(month).tokens,
};

export const CALLER_SORTS = [
  ['seen', 'last seen'],
  ['paid', 'most paid this month'],
  ['requests', 'most requests this month'],
  ['tokens', 'most tokens this month'],
  ['name', 'name'],
] as const;

/** Callers with equal values keep their order, which is by name. */
export function sortedCallers(callers: readonly ShownCaller[], sort: string): readonly ShownCaller[] {
  const order = Object.hasOwn(ORDERS, sort) ? ORDERS[sort] : undefined;
  if (!order) return callers;
  return callers.toSorted((a, b) => (order(b) ?? -1) - (order(a) ?? -1));
}

/** What a caller has used. Money in nanodollars; null where it is not known. */
interface Used {
  readonly requests: number;
  readonly tokens: number;
  readonly paid: number | null;
}

/**
 * By the count that knows of more requests: the bills of conversations, which come up to five
 * minutes late and know no request without a conversation, or what was counted since there were
 * limits. Bills that leave requests out count for no less than the limits do.
 */
export function usedIn({ requests: reported, counted }: Usage): Used {
  if (counted && counted.requests >= reported.requests)
    return { requests: counted.requests, tokens: counted.tokens, paid: counted.amount };
  const isPartial = unbilledIn(reported) > 0;
  const paid = isPartial && counted ? Math.max(counted.amount, reported.actual ?? 0) : reported.actual;
  return { requests: reported.requests, tokens: reported.tokens_sent, paid };
}

/** Answers without a price. Failed requests cost nothing. */
export function unbilledIn({
  requests,
  failed,
  billed,
}: Pick<Usage['requests'], 'requests' | 'failed' | 'billed'>): number {
  return Math.max(0, requests - failed - billed);
}

/** How many requests have no price, where what was paid is only known of the others. */
function unpricedIn(usage: Usage): number {
  const { requests: reported } = usage;
  return usedIn(usage).paid === reported.actual ? unbilledIn(reported) : 0;
}

/** `3 requests, $0.0120, 900 tokens`. */
export function usedWords(usage: Usage): string {
  const { requests, tokens, paid } = usedIn(usage);
  if (requests === 0) return 'no request';
  const many = `${count(requests)} ${requests === 1 ? 'request' : 'requests'}`;
  const unpriced = unpricedIn(usage);
  const without = paid !== null && unpriced > 0 ? ` without ${count(unpriced)} whose price is not known` : '';
  return `${many}, ${paid === null ? UNKNOWN : cents(inDollars(paid))}${without}, ${short(tokens)} tokens`;
}

/** What a caller may spend, a line for each limit, with what it has spent. */
export function limitLines({ limits, today, month }: ShownCaller): string[] {
  if (!limits) return [];
  const { usd_per_day, usd_per_month, tokens_per_minute, requests_per_minute, models } = limits;
  const spent = (usage: Usage, most: number, each: string): string => {
    const { counted } = usage;
    const line = `${counted ? cents(inDollars(counted.amount)) : UNKNOWN} of ${dollars(most)} a ${each}`;
    // More was paid before the limit was set.
    const isLess = counted !== null && usedIn(usage).paid !== counted.amount;
    return isLess ? `${line}, counted since there is a limit` : line;
  };
  const lines = [
    usd_per_day !== undefined && spent(today, usd_per_day, 'day'),
    usd_per_month !== undefined && spent(month, usd_per_month, 'month'),
    tokens_per_minute !== undefined && `${count(tokens_per_minute)} tokens a minute`,
    requests_per_minute !== undefined && `${count(requests_per_minute)} requests a minute`,
    models !== undefined && (models.length === 0 ? 'no model' : `only ${models.join(', ')}`),
    limits.unpriced_models === 'allow' && 'also models without a known price',
  ];
  return lines.filter((line) => line !== false);
}

const DAY = 86_400;

/**
 * The day on which a caller was last seen. It is known to the day, in UTC.
 *
 * @param now in seconds since 1970
 */
export function seenWords(at: number | null, now: number): string {
  if (at === null) return 'never';
  const days = Math.floor(now / DAY) - Math.floor(at / DAY);
  if (days <= 0) return 'today (UTC)';
  return days === 1 ? 'yesterday (UTC)' : `${days} days ago`;
}

/** The fields of the form of limits that are numbers, with their labels. */
export const LIMIT_FIELDS = [
  ['usd_per_day', 'Dollars a day'],
  ['usd_per_month', 'Dollars a month'],
  ['tokens_per_minute', 'Tokens a minute'],
  ['requests_per_minute', 'Requests a minute'],
] as const;

/** Means a list without a model, which allows none. */
const NO_MODEL = 'none';

/** What the form of limits holds; an empty field is no limit. */
export type TypedLimits = Readonly<
  Record<(typeof LIMIT_FIELDS)[number][0] | 'models', string> & { allowsUnpriced: boolean }
>;

export function typedLimits(limits: CallerLimits | null): TypedLimits {
  const typed = (value: number | undefined): string => (value === undefined ? '' : String(value));
  return {
    usd_per_day: typed(limits?.usd_per_day),
    usd_per_month: typed(limits?.usd_per_month),
    tokens_per_minute: typed(limits?.tokens_per_minute),
    requests_per_minute: typed(limits?.requests_per_minute),
    models: limits?.models?.length === 0 ? NO_MODEL : (limits?.models?.join('\n') ?? ''),
    allowsUnpriced: limits?.unpriced_models === 'allow',
  };
}

/** The limits that a form holds. Without a model in it, all may be asked. */
export function limitsOf({ models, allowsUnpriced, ...numbers }: TypedLimits): CallerLimits {
  const set = Object.entries(numbers).filter(([, value]) => value.trim() !== '');
  const lines = models.split('\n').map((line) => line.trim());
  const named = lines.filter((line) => line !== '' && line !== NO_MODEL);
  return {
    ...Object.fromEntries(set.map(([field, value]) => [field, Number(value)])),
    ...(lines.some((line) => line !== '') ? { models: named } : {}),
    ...(allowsUnpriced ? { unpriced_models: 'allow' } : {}),
  };
}
