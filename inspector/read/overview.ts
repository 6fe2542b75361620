/** The words of the operator's overview. */
import type { ShownOverview } from '../api/answers.ts';
import { count, roundDollars, UNKNOWN } from '../parts/numbers.ts';
import { inDollars } from './money.ts';

type Code = ShownOverview['alerts'][number]['code'];

/** Where an alert leads: to a caller or the parts of the deployment on the page, or to the docs. */
type AlertLink =
  | { readonly to: 'page' }
  | { readonly to: 'docs'; readonly page: string; readonly section: string; readonly text: string };

const HERE: AlertLink = { to: 'page' };

export const ALERT_LINKS: Readonly<Record<Code, AlertLink>> = {
  upstream: HERE,
  failing: HERE,
  budget: HERE,
  losing: HERE,
  unpriced: { to: 'docs', page: 'money', section: 'What is not known', text: 'Why' },
  misses: { to: 'docs', page: 'money', section: 'Misses', text: 'The causes' },
  retiring: { to: 'docs', page: 'deploying', section: 'Models that retire', text: 'What to do' },
};

/** Ids of the page that alerts lead to. */
export const partsHeading = 'parts';
export const callersHeading = 'callers';

export function callerAnchor(name: string): string {
  return `caller-${name}`;
}

/** What is not known is “n/a”, and what did not happen is empty. */
export function amountWords(amount: number | null, requests: number): string {
  if (amount !== null) return roundDollars(inDollars(amount));
  return requests === 0 ? '' : UNKNOWN;
}

/** From what the sums are made, and how old they may be. */
export function readWords(
  { active, read, failed, storage_calls: calls }: ShownOverview['read'],
  behindMs: number,
): string {
  const callers =
    active === 1
      ? 'the only caller'
      : read < active
        ? `${count(read)} of ${count(active)} callers`
        : `${count(active)} callers`;
  return [
    active === 0
      ? 'No caller was active in these days.'
      : `From the sums of ${callers} active in these days, by ${count(calls)} calls of storage; up to ${Math.ceil(behindMs / 60_000)} minutes late.`,
    ...(read < active ? ['The others, seen longer ago, are left out.'] : []),
    ...(failed > 0 ? [`${count(failed)} could not be read, and are left out.`] : []),
  ].join(' ');
}
