/**
 * What an isolate knows of the requests that went upstream: all that is Precis's before the end of
 * each, and the thinking that it left out. A later request of the same array reads here whether its
 * view extends the one before, and what of it does not (`view/sent-before.ts`).
 */
import { textBytes } from '../lib/copy.ts';
import type { OwnPrefix } from '../memory/replay/change.ts';

/** What a view follows from beside the array, as its caller has chosen it. */
export interface SentTerms {
  /** A hash. */
  readonly strategy: string;
  readonly model: string;
  /** Of the answer, in tokens; 0 without one. */
  readonly limit: number;
  /** The digest of the caller's tools. */
  readonly tools: string;
}

export interface SentRequest {
  readonly terms: SentTerms;
  /** What its answer follows, and what its thinking is bound to. */
  readonly own: OwnPrefix;
  /** What its report says. It differs where a later round has continued another view. */
  readonly reported: OwnPrefix;
  /** The messages before this one went without their thinking. */
  readonly thinkingFrom: number;
  /** See `PlanRequest`. Undefined: not known, or no matter. */
  readonly cold?: readonly number[] | undefined;
  /** Whether rounds of Precis's led to its answer, so that its thinking is bound to them. */
  hadRounds: boolean;
  /** The vendor's id of its answer, where a later request is to be compared with it. */
  answerId?: string;
}

/** The newest request of an array, or of a beginning of it, that this isolate has sent. */
export interface SentBefore {
  /** How many messages it had. */
  readonly messages: number;
  readonly sent: SentRequest;
  /** When it was sent, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether no request can have come between. */
  readonly isNext: boolean;
}

/** In the order of a body. */
const ALL_PARTS = ['tools', 'instructions', 'added', 'edits'] as const satisfies (keyof OwnPrefix)[];

/**
 * Those whose change is a move. What is added to the view is renewed at a move, and makes none.
 * Under other terms the plan is another one, and only what changes without it is a move.
 */
const MOVING_PARTS = ['tools', 'instructions', 'edits', 'reasoning'] as const satisfies (keyof OwnPrefix)[];
const UNPLANNED_PARTS = ['instructions', 'rounds', 'hosted'] as const satisfies (keyof OwnPrefix)[];

/** The first part that differs. Undefined if none does. */
export function changedPart(
  before: OwnPrefix,
  now: OwnPrefix,
  parts: readonly (keyof OwnPrefix)[] = ALL_PARTS,
): keyof OwnPrefix | undefined {
  return parts.find((part) => before[part] !== now[part]);
}

/** The first part whose change is a move. Undefined if there is none. */
export function movedPart(
  { terms, reported }: Pick<SentRequest, 'terms' | 'reported'>,
  now: OwnPrefix,
  nowTerms: SentTerms,
): keyof OwnPrefix | undefined {
  return changedPart(reported, now, areSame(terms, nowTerms) ? MOVING_PARTS : UNPLANNED_PARTS);
}

export function areSame(terms: SentTerms, others: SentTerms): boolean {
  const names = Object.keys(terms) as (keyof SentTerms)[];
  return names.every((name) => terms[name] === others[name]);
}

/** In bytes. */
export function sizeOfSent({ terms, own, reported, cold = [], answerId = '' }: SentRequest): number {
  const { strategy, model, tools } = terms;
  const named =
    64 +
    8 * cold.length +
    textBytes(answerId) +
    [strategy, model, tools].reduce((sum, text) => sum + textBytes(text), 0);
  return named + bytesOf(own) + (own === reported ? 0 : bytesOf(reported));
}

function bytesOf({ instructions: _, ...texts }: OwnPrefix): number {
  return 96 + Object.values(texts).reduce((sum, text) => sum + textBytes(text), 0);
}
