/**
 * What the list of conversations shows: which, in which order, and which columns. The address has
 * it, so that it is the same after going back, after reloading, and for whoever gets the address.
 */
import type { ListQuery } from '../api/answers.ts';
import { NANODOLLARS } from './money.ts';

/** By its name in the address. Empty: not filtered. */
export interface ListView {
  readonly q: string;
  readonly user: string;
  readonly model: string;
  readonly agent: string;
  /** Of the newest request, or of the summaries. */
  readonly status: string;
  /** Last used within this time. */
  readonly used: string;
  /** The least that it has cost, in dollars. */
  readonly cost: string;
  readonly sort: string;
  readonly order: string;
  /** The columns, separated by commas. */
  readonly columns: string;
}

/** Names of columns, in their order, with what the list is sorted by. */
export const COLUMNS = [
  { name: 'user', label: 'User', sort: undefined },
  { name: 'model', label: 'Model', sort: undefined },
  { name: 'agent', label: 'Agent', sort: undefined },
  { name: 'requests', label: 'Requests', sort: 'requests' },
  { name: 'tokens', label: 'Tokens, newest', sort: undefined },
  { name: 'cost', label: 'Cost', sort: 'paid' },
  { name: 'saved', label: 'Saved', sort: 'net' },
  { name: 'summary', label: 'Summary', sort: undefined },
  { name: 'used', label: 'Last request', sort: 'used' },
] as const;

export type ColumnName = (typeof COLUMNS)[number]['name'];

export const USUAL: ListView = {
  q: '',
  user: '',
  model: '',
  agent: '',
  status: '',
  used: '',
  cost: '',
  sort: 'used',
  order: 'desc',
  columns: 'user,model,requests,tokens,cost,saved,used',
};

export const STATUS_CHOICES = [
  ['', 'Any status'],
  ['failed', 'Newest request failed'],
  ['answered', 'Newest request answered'],
  ['degraded', 'Summaries degraded'],
  ['stuck', 'Summaries stuck'],
] as const;

export const USED_CHOICES = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

export const COST_CHOICES = [
  ['', 'Any cost'],
  ['0.01', '$0.01 or more'],
  ['0.1', '$0.10 or more'],
  ['1', '$1 or more'],
  ['10', '$10 or more'],
] as const;

const SORTS: readonly string[] = ['created', 'used', 'requests', 'net', 'paid'];
const LONGEST = 256;

/** The view in a fragment. What is unknown in it is as usual. */
export function viewIn(fragment: string): ListView {
  const [, query = ''] = /^#\/conversations\?(.*)$/.exec(fragment) ?? [];
  const given = new URLSearchParams(query);
  const of = (name: keyof ListView): string => (given.get(name) ?? USUAL[name]).slice(0, LONGEST);
  const among = (name: keyof ListView, values: readonly string[]): string =>
    values.includes(of(name)) ? of(name) : USUAL[name];
  const choices = (all: readonly (readonly [string, string])[]) => all.map(([value]) => value);
  return {
    q: of('q'),
    user: of('user'),
    model: of('model'),
    agent: of('agent'),
    status: among('status', choices(STATUS_CHOICES)),
    used: among('used', choices(USED_CHOICES)),
    cost: among('cost', choices(COST_CHOICES)),
    sort: among('sort', SORTS),
    order: among('order', ['asc', 'desc']),
    columns: columnsIn(of('columns')).join(','),
  };
}

/** The known columns of a list of names, in the table's order. */
export function columnsIn(columns: string): ColumnName[] {
  const wanted = columns.split(',');
  return COLUMNS.map(({ name }) => name).filter((name) => wanted.includes(name));
}

/** The fragment of a view, with what differs from the usual one. */
export function fragmentOfView(view: ListView): string {
  const names = Object.keys(USUAL) as (keyof ListView)[];
  const query = new URLSearchParams(
    names.filter((name) => view[name] !== USUAL[name]).map((name) => [name, view[name]]),
  );
  return `#/conversations${query.size > 0 ? `?${query}` : ''}`;
}

/** Whether the view leaves conversations out. */
export function isFiltered({ q, user, model, agent, status, used, cost }: ListView): boolean {
  return [q, user, model, agent, status, used, cost].some((value) => value.trim() !== '');
}

/** In seconds. */
const UNITS: Readonly<Record<string, number>> = { h: 3_600, d: 86_400 };

/** The parameters of `GET /v1/conversations`. @param now in seconds since 1970 */
export function parametersOf({ sort, order, ...view }: ListView, now: number): ListQuery {
  const [, count = '', unit = ''] = /^(\d+)([hd])$/.exec(view.used) ?? [];
  const within = Number(count) * (UNITS[unit] ?? 0);
  const isOutcome = view.status === 'failed' || view.status === 'answered';
  return {
    sort,
    order,
    q: view.q.trim(),
    user: view.user.trim(),
    model: view.model.trim(),
    agent: view.agent.trim(),
    outcome: isOutcome ? view.status : '',
    status: isOutcome ? '' : view.status,
    used_since: within > 0 ? String(Math.floor(now - within)) : '',
    paid_from: view.cost === '' ? '' : String(Math.round(Number(view.cost) * NANODOLLARS)),
  };
}
