/** The words of the operator's overview. */
import type { ShownOverview } from '../api/answers.ts';
import { count } from '../parts/numbers.ts';
import { beginning } from './visible.ts';

type Code = ShownOverview['alerts'][number]['code'];

/** Ids of the parts of the operator's screen. */
export const PARTS = { parts: 'parts', callers: 'callers', models: 'models', misses: 'misses' } as const;

interface AlertLink {
  /** The part that shows it. The caller's own part is shown if the alert names a caller. */
  readonly part: keyof typeof PARTS;
  readonly words: string;
  /** Where the docs say what it means. */
  readonly rule?: { readonly page: string; readonly section: string; readonly text: string };
}

export const ALERT_LINKS: Readonly<Record<Code, AlertLink>> = {
  upstream: { part: 'parts', words: 'See the parts' },
  failing: { part: 'callers', words: 'See the caller' },
  budget: { part: 'callers', words: 'See the caller' },
  losing: { part: 'callers', words: 'See the caller' },
  unpriced: {
    part: 'models',
    words: 'See the models',
    rule: { page: 'money', section: 'What is not known', text: 'Why' },
  },
  misses: {
    part: 'misses',
    words: 'See the causes',
    rule: { page: 'money', section: 'Misses', text: 'What they mean' },
  },
  retiring: {
    part: 'models',
    words: 'See the models',
    rule: { page: 'deploying', section: 'Models that retire', text: 'What to do' },
  },
};

/** In characters, of a caller's name in the middle of a sentence. */
const MOST_NAME = 40;

/** The sentence of an alert, without the rest of a long name. */
export function shortAlert({ message, caller }: ShownOverview['alerts'][number]): string {
  if (caller === null || caller.length <= MOST_NAME) return message;
  return message.replace(caller, () => `${beginning(caller, MOST_NAME)}…`);
}

export function callerAnchor(name: string): string {
  return `caller-${name}`;
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
