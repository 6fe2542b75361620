/**
 * What follows from a request and the one that it continues: why its answer has missed the cache,
 * and what reasoning was dropped. Pure.
 */
import {
  callerChange,
  hasLeftBefore,
  isSameTools,
  lineOf,
  MESSAGE_CHARACTERS,
  type RequestPrefix,
  withLine,
} from '../conversation/request-prefix.ts';
import { readsThinkingOf } from '../models/past-reasoning.ts';
import type { BillOrder } from '../money/bill.ts';
import { type LeftInCache, leftInCache, missOf } from '../money/cache-miss.ts';
import { editedBefore } from '../plan/edits-before.ts';
import {
  type Change,
  type EditedAt,
  isOfView,
  isOwn,
  type OwnChange,
  ownChange,
  type VendorVerdict,
} from '../replay/change.ts';
import type { CacheMiss, DroppedReasoning } from '../replay/change-schema.ts';
import {
  type Blocks,
  type BoundReasoning,
  droppedReasoning,
  type Runs,
} from '../replay/dropped-reasoning.ts';

export interface ComparedRequest {
  readonly prefix: RequestPrefix;
  /** Precis's cause that its view does not extend the one before. */
  readonly own?: OwnChange;
  /** What of its view is Precis's, before its messages (see `editedAt`). */
  readonly edited?: readonly EditedAt[];
  /** Absent where the API binds none, and Precis keeps none. */
  readonly reasoning?: BoundReasoning;
  /** When its answer began, in milliseconds since 1970. */
  readonly ready: number;
  /** See `PricedRequest`. */
  readonly isFar: boolean;
  readonly verdict?: VendorVerdict;
}

/** A request of a conversation, as it is kept for the next one. */
export interface Line extends RequestPrefix {
  readonly at: number;
  /** The blocks of reasoning that it was sent without. */
  readonly left: number;
  /** The reasoning that it had and that was invalid. Absent: none. */
  readonly lost?: Runs;
  /** Of its reasoning, the blocks that its vendor has dropped, as far as is known. Absent: none. */
  readonly named?: number;
  /** The reasoning that Precis has kept, and that it was sent with. Absent: none. */
  readonly kept?: Blocks;
  /** The models that have made its answers, each from a message on. Absent: its own. */
  readonly makers?: Makers;
  /** What of its view was Precis's, at its end. Absent in lines of versions before. */
  readonly edited?: EditedAt;
  /** Absent where that is not known. */
  readonly cache?: LeftInCache;
}

type Makers = readonly (readonly [from: number, model: string])[];

/** Changes of the model. Bounds what is kept of a request. */
const MOST_MAKERS = 16;

/** Of the reasoning that is kept, in answers. */
const MOST_KEPT = 200;

interface Followed {
  /** Whether Precis has changed what precedes the end of the request before. */
  readonly isOwn: boolean;
  /** Whether nothing of that has changed, which both requests show. */
  readonly isExtended: boolean;
  readonly miss: CacheMiss | null;
  readonly dropped: DroppedReasoning | null;
  readonly lines: readonly Line[];
}

/** @param order of its bill. Absent: no answer is known, so it can have missed nothing */
export function followed(
  lines: readonly Line[],
  request: ComparedRequest,
  at: number,
  order?: BillOrder,
): Followed {
  const { prefix, edited = [], reasoning, ready, isFar, verdict } = request;
  const before = lineOf(lines, prefix);
  // One that is kept late belongs before those that are known.
  if (before && before.at > at) return { isOwn: false, isExtended: false, miss: null, dropped: null, lines };
  const change = changeOf(request, before);
  const isCompared = before !== undefined && nowOf(before, edited) !== undefined;
  const priced = order && {
    ...{ order, at, change, isFar, isCompared },
    ...{ model: prefix.model, verdict: verdict?.cache },
  };
  const cache = priced && leftInCache(priced, ready);
  const left = reasoning?.left ?? 0;
  const end = edited.at(-1);
  const makers = makersOf(before, prefix);
  const { dropped, lost, named } = lostIn(request, before, makers);
  const line = {
    ...{ ...prefix, at, left },
    ...(lost.length > 0 ? { lost } : {}),
    ...(named > 0 ? { named } : {}),
    ...(makers ? { makers } : {}),
    ...(reasoning?.kept ? { kept: reasoning.kept.slice(-MOST_KEPT) } : {}),
    ...(end ? { edited: end } : {}),
    ...(cache ? { cache } : {}),
  };
  return {
    isOwn: change !== undefined && isOwn(change),
    // Rounds were sent in the course of an answer, and are in no request that is compared.
    isExtended: isCompared && change === undefined && request.own?.cause !== 'rounds',
    miss: priced && before?.cache ? missOf(priced, before.cache) : null,
    dropped,
    lines: withLine(lines, line, before),
  };
}

/** Undefined if its own model has made all answers. */
function makersOf(before: Line | undefined, { model, messages }: RequestPrefix): Makers | undefined {
  if (!before || before.model === model) return before?.makers;
  const { makers = [[0, before.model]] } = before;
  return [...makers, [messages.length / MESSAGE_CHARACTERS, model] as const].slice(-MOST_MAKERS);
}

/** Reasoning with what is lost alone, where the API drops only what its model can't read. */
function unreadOf(reasoning: BoundReasoning, { model }: RequestPrefix, makers: Makers = []): BoundReasoning {
  if (!reasoning.dropsUnread) return reasoning;
  const makerOf = (at: number) => makers.findLast(([from]) => from <= at)?.[1] ?? model;
  return { ...reasoning, sent: reasoning.sent?.filter(([at]) => !readsThinkingOf(model, makerOf(at))) ?? [] };
}

function lostIn(
  request: ComparedRequest,
  before: Line | undefined,
  makers: Makers | undefined,
): ReturnType<typeof droppedReasoning> {
  const { prefix, verdict, own } = request;
  const reasoning = unreadOf(request.reasoning ?? { left: 0 }, prefix, makers);
  // No reasoning is bound to the key of a cache.
  const change = changeOf(before ? { ...request, prefix: { ...prefix, key: before.key } } : request, before);
  // What an isolate knows of, it leaves out.
  const isForeseen = (change === own && own?.cause !== 'unread') || (before && isLess(reasoning, before));
  const at = change && !isOwn(change) ? change.message : undefined;
  const isCut = before !== undefined && at !== undefined && hasLeftBefore(before, prefix, at);
  return droppedReasoning(reasoning, change, before && { ...before, isCut }, isForeseen, verdict?.dropped);
}

/**
 * Why a request does not extend the one that it continues. What its caller has changed counts
 * first.
 */
export function changeOf(request: ChangedRequest, before: Line | undefined): Change | undefined {
  const { prefix, own } = request;
  const callers = before && callerChange(before, prefix);
  if (callers) return callers;
  return before ? ownChangeSince(before, request) : own;
}

type ChangedRequest = Pick<ComparedRequest, 'prefix' | 'own' | 'edited' | 'reasoning'>;

/**
 * Precis's cause, by what both requests had of it, since another isolate may have sent the one
 * before. Of a view, the isolate of this one may know the cause more exactly.
 */
function ownChangeSince(
  before: Line,
  { prefix, own, edited = [], reasoning = { left: 0 } }: ChangedRequest,
): OwnChange | undefined {
  const ofHead = headChange(before, prefix);
  const now = nowOf(before, edited);
  if (!now || !before.edited) return own ?? ofHead;
  const isEdited = now.edits !== before.edited.edits;
  const part = isEdited ? 'edits' : now.rounds === before.edited.rounds ? undefined : 'rounds';
  const ofView = ownChange({ part, hasLessThinking: isLess(reasoning, before) });
  return ofView && own && isOfView(own) ? own : (ofView ?? ofHead);
}

/** What a view has where the request before ended. Undefined if they can't be compared. */
function nowOf(before: Line, edited: readonly EditedAt[]): EditedAt | undefined {
  return before.edited && editedBefore(edited, before.edited.messages);
}

/** Of what is Precis's beside the view. */
function headChange(before: RequestPrefix, now: RequestPrefix): OwnChange | undefined {
  if (now.own !== before.own) return ownChange({ part: isSameTools(now, before) ? 'instructions' : 'tools' });
  const isKnown = now.added !== undefined && before.added !== undefined;
  return isKnown && now.added !== before.added ? ownChange({ part: 'added' }) : undefined;
}

/** Whether a request was sent without reasoning that the one before had. */
function isLess({ left }: BoundReasoning, before: Line): boolean {
  return left > before.left;
}
