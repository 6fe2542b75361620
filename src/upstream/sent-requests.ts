/**
 * What an isolate knows of the requests that went upstream: all that is Precis's before the end of
 * each, and the thinking that it left out. A later request of the same array reads here whether its
 * view extends the one before, and what of it does not (`view/sent-before.ts`).
 */
import { textBytes } from '../lib/copy.ts';

/** What is Precis's before a point of an array. Equal ones mean equal bytes. */
export interface OwnPrefix {
  /** A hash of edits, summaries and rounds. Empty without any, as the others are. */
  readonly edits: string;
  /** The kept rounds, by the message that they led to. */
  readonly rounds: string;
  /** The messages with edits that an upstream may refuse. */
  readonly hosted: string;
  /** A hash of the tools. */
  readonly tools: string;
  /** A hash of the messages that are added to the view. */
  readonly added: string;
  /** Whether the instructions went as a message. */
  readonly instructions: boolean;
}

export interface SentRequest {
  /** What its answer follows, and what its thinking is bound to. */
  readonly own: OwnPrefix;
  /** What its report says. It differs where a later round has continued another view. */
  readonly reported: OwnPrefix;
  /** The messages before this one went without their thinking. */
  readonly thinkingFrom: number;
  /** Whether rounds of Precis's led to its answer, so that its thinking is bound to them. */
  hadRounds: boolean;
}

/** In the order of a body. */
const ALL_PARTS = ['tools', 'instructions', 'added', 'edits'] as const satisfies (keyof OwnPrefix)[];

/** Those that change without the plan, and whose change is reported. */
export const REPORTED_PARTS = ['instructions', 'rounds', 'hosted'] as const satisfies (keyof OwnPrefix)[];

/** The first part that differs. Undefined if none does. */
export function changedPart(
  before: OwnPrefix,
  now: OwnPrefix,
  parts: readonly (keyof OwnPrefix)[] = ALL_PARTS,
): keyof OwnPrefix | undefined {
  return parts.find((part) => before[part] !== now[part]);
}

/** In bytes. */
export function sizeOfSent({ own, reported }: SentRequest): number {
  return bytesOf(own) + (own === reported ? 0 : bytesOf(reported));
}

function bytesOf({ instructions: _, ...texts }: OwnPrefix): number {
  return 96 + Object.values(texts).reduce((sum, text) => sum + textBytes(text), 0);
}
