/**
 * Why a request does not extend the one before it: one cause, which report, event and bill name.
 * The frontier has moved where Precis has a cause.
 */
import type { CallerChange } from '../conversation/request-prefix.ts';
import { CALLER_CAUSES, type OwnCause } from './change-schema.ts';
import type { Trigger } from './trigger.ts';

/** What is Precis's before a point of an array. Equal ones mean equal bytes. */
export interface OwnPrefix {
  /** A hash of edits, summaries and rounds. Empty without any, as the others are. */
  readonly edits: string;
  /** A hash of the reasoning that was removed. None is bound to it. */
  readonly reasoning: string;
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

/** What a view has changed before a message, as short hashes. Empty ones: nothing. */
export interface EditedAt {
  /** The index of the message. */
  readonly messages: number;
  readonly edits: string;
  /** Of the kept rounds. */
  readonly rounds: string;
}

/** By the part of what is Precis's that differs. */
const PART_CAUSES = {
  tools: 'own_tools',
  instructions: 'instructions',
  added: 'added',
  edits: 'move',
  reasoning: 'move',
  rounds: 'rounds',
  hosted: 'hosted',
} as const satisfies Record<keyof OwnPrefix, OwnCause>;

export interface OwnChange {
  readonly cause: OwnCause;
  /** Of a move by the plan of this request. */
  readonly trigger?: Trigger;
}

export type Change = CallerChange | OwnChange;

/** Whether a cause is Precis's. */
export function isOwn(change: Change): change is OwnChange {
  return !(CALLER_CAUSES as readonly string[]).includes(change.cause);
}

/** Whether a cause of Precis's is about the view itself. */
export function isOfView({ cause }: OwnChange): boolean {
  return cause === 'move' || cause === 'rounds' || cause === 'hosted' || cause === 'unread';
}

/** What is known of how a view follows the one before. Absent: nothing. */
interface OwnFacts {
  /** The trigger, if the plan of this request has moved the frontier. */
  readonly planned?: Trigger | undefined;
  /** The part that differs from what was sent before. */
  readonly part?: keyof OwnPrefix | undefined;
  /** Whether the frontier has moved in a request that the caller has left out. */
  readonly hasMovedBetween?: boolean;
  /** Whether thinking is left out that the request before had. */
  readonly hasLessThinking?: boolean;
  /** Whether it could not be read what earlier views followed from. */
  readonly isUnread?: boolean;
}

/** Precis's cause. Undefined if there is none: the frontier has not moved. */
export function ownChange({
  planned,
  part,
  hasMovedBetween = false,
  hasLessThinking = false,
  isUnread = false,
}: OwnFacts): OwnChange | undefined {
  if (planned !== undefined) return { cause: 'move', trigger: planned };
  if (part) return { cause: PART_CAUSES[part] };
  if (hasMovedBetween || hasLessThinking) return { cause: 'move' };
  return isUnread ? { cause: 'unread' } : undefined;
}
