/**
 * What a request sent, and what it would have sent. One that was only observed was sent unchanged:
 * its event says what was planned beside it.
 */
import type { ListedRun } from '../api/answers.ts';

type Counted = Pick<ListedRun, 'tokens' | 'observed'>;

/** In tokens; null where nothing was counted. */
export interface SentTokens {
  readonly came: number | null;
  readonly sent: number | null;
  /** What an observed request would have sent; null for any other. */
  readonly potential: number | null;
}

export function sentTokens({ tokens, observed }: Counted): SentTokens {
  if (!tokens) return { came: null, sent: null, potential: null };
  const { before, after } = tokens;
  return observed
    ? { came: before, sent: before, potential: after }
    : { came: before, sent: after, potential: null };
}

/** The sums of several requests, as far as their tokens were counted. */
export interface SentSums {
  readonly came: number;
  readonly sent: number;
  /** Of the observed requests alone: what came, and what would have been sent. */
  readonly observed: { readonly requests: number; readonly came: number; readonly potential: number };
}

/** Undefined if nothing was counted. */
export function sentSums(events: readonly Counted[]): SentSums | undefined {
  const counted = events.filter(({ tokens }) => tokens !== null);
  if (counted.length === 0) return undefined;
  const sum = (of: readonly Counted[], name: keyof SentTokens): number =>
    of.reduce((total, event) => total + (sentTokens(event)[name] ?? 0), 0);
  const observed = counted.filter((event) => event.observed);
  return {
    came: sum(counted, 'came'),
    sent: sum(counted, 'sent'),
    observed: {
      requests: observed.length,
      came: sum(observed, 'came'),
      potential: sum(observed, 'potential'),
    },
  };
}
