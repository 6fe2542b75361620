/**
 * Why a request does not extend the one before it: one cause, which report, event and bill name.
 * The frontier has moved where Precis has a cause.
 */
import type { CallerChange } from '../conversation/request-prefix.ts';
import { CALLER_CAUSES, type CacheMiss, type MissCause, type OwnCause } from './change-schema.ts';
import type { Trigger } from './reasons.ts';

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

/** The part of a request that has changed. A vendor does not know whose change it was. */
export type ChangedPart = 'model' | 'key' | 'user' | 'tools' | 'effort' | 'format' | 'tier' | 'input';

/** What a vendor says of a request in its answer. */
export interface VendorVerdict {
  /** Why its cache was missed. `none`: nothing that it compares has changed. */
  readonly cache?: ChangedPart | 'none';
  /**
   * All reasoning of the request that it has dropped, in this answer or before. Without a part,
   * what precedes the reasoning has changed.
   */
  readonly dropped?: { readonly blocks: number; readonly part?: 'model' | 'user' };
}

/** By the causes that are known of a request. Others are parts of the same name. */
const PARTS: Readonly<Partial<Record<MissCause, ChangedPart>>> = {
  own_tools: 'tools',
  message: 'input',
  move: 'input',
  instructions: 'input',
  added: 'input',
  rounds: 'input',
  hosted: 'input',
  unread: 'input',
};

/** @param change that is known of the request. It explains the part if it is a change of that */
export function causeOfPart(
  part: ChangedPart,
  change: Change | undefined,
): Pick<CacheMiss, 'cause' | 'message' | 'trigger'> {
  if (change && (PARTS[change.cause] ?? change.cause) === part) return change;
  return { cause: part === 'input' ? 'message' : part };
}
