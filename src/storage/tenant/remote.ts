/**
 * What other isolates can call of a tenant's and a user's object: parts, and methods of their own.
 * What other objects call are methods of the object itself: the test plug-in finds none of a part.
 */

import type { CallerLimits, CallerState } from '../../memory/money/caller-limits.ts';
import type { SumsByDay } from '../../memory/run/day-sums.ts';
import type { RankedConversations } from '../../memory/run/ranked-conversations.ts';
import type { TrialTotals } from '../../memory/run/trials.ts';
import type { BlockSource } from '../conversation/memories.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import type { BackupApi, NotTaken } from '../object-backup.ts';
import type { Part } from '../remote.ts';
import type { BlockRows } from './blocks.ts';
import type { CallerRows } from './callers.ts';
import type { Deletable } from './deletions.ts';
import type { NotedConversation, TenantRows } from './rows.ts';
import type { TenantBackup } from './saved-tenant.ts';
import type { SignOuts } from './sign-outs.ts';
import type { EndedCall, Refused, Reservation, Reserved, SpentDay } from './spending.ts';
import type { UsedConversation } from './usage.ts';

export interface TenantApi extends BackupApi {
  readonly conversations: Part<
    TenantRows,
    'list' | 'refsOf' | 'namesOfSession' | 'namesWith' | 'find' | 'unreferenced' | 'noteRead'
  > & {
    /** See `TenantRows`. No backup brings the conversation back. */
    release(conversation: NotedConversation): void;
  };
  readonly blocks: Part<BlockRows, 'list' | 'read' | 'find' | 'change' | 'delete'>;
  readonly saved: Part<TenantBackup, 'conversationAfter' | 'userAfter' | 'usersOf' | 'takeRefs'>;

  /** See `TenantRows`. */
  note(conversation: string, refs: readonly string[]): Promise<readonly string[]>;
  /** Sets what a conversation has sent and cost. One that is not known is not noted by this. */
  noteSums(conversation: string, sums: ConversationSums): void;
  /** See `SpendingRows`. */
  reserve(call: Reservation): Reserved;
  check(limits: CallerLimits): Refused | null;
  settle(call: EndedCall): void;
  /** See `UsageRows`. */
  days(from: number, to: number): SumsByDay;
  /**
   * `spent` is at least since the beginning of the month.
   *
   * @param most of the conversations of each list
   */
  overview(from: number, to: number, most: number): TenantOverview;
  /** Both sides of its trials. */
  trials(from: number, to: number): TrialTotals;
  /** What the caller has spent by day, and when it has last used a conversation. */
  usage(from: number, to: number): CallerUsage;
  /** See `expireStep`. */
  expire(unusedSince: number): Promise<boolean>;
  /** Notes what other objects, or R2, have deleted. See `Deletions`. */
  noteDeleted(what: Deletable): void;
  deletedSince(what: readonly Deletable[], at: number): readonly boolean[];
  /** See `TenantBackup`. */
  refuses(conversation: string, used: number | null, at: number): NotTaken | null;
  /**
   * Deletes all of the tenant's data. If that takes long, hangs or fails, it goes on by itself.
   *
   * @returns whether everything is deleted
   */
  erase(): Promise<boolean>;
  /**
   * Closes the caller, or opens it again. One that is deleted also loses all data, as by `erase`,
   * and what isolates still write that have not heard of it.
   *
   * @returns whether everything is deleted, if it was to be
   */
  setState(state: CallerState): Promise<boolean>;
}

/** What a tenant's conversations have sent and cost in some days. */
export interface TenantOverview extends Pick<CallerUsage, 'days' | 'spent'> {
  readonly ranked: RankedConversations<UsedConversation>;
}

/** What an operator may know of a tenant. */
export interface CallerUsage {
  /** Of its conversations. */
  readonly days: SumsByDay;
  /** Under limits. */
  readonly spent: readonly SpentDay[];
  /** In milliseconds since 1970; null if it has no conversation. */
  readonly lastUsed: number | null;
}

export interface RegisterApi {
  readonly callers: Part<CallerRows, 'read' | 'change' | 'unsee' | 'seenAmong' | 'seenSince' | 'seen'>;
  readonly signOuts: Part<SignOuts, 'note' | 'latest'>;
  /** See `CallerRows`. */
  see(tenant: string): void;
}

/** The latest summary of one conversation. */
export interface UserSummary {
  /** See `sessionIn`. */
  readonly conversation: string;
  /** At most 1 MB in UTF-8. */
  readonly text: string;
  /** When it was made, in milliseconds. */
  readonly at: number;
}

/** A summary in a user's memory. */
export interface UserEntry extends UserSummary {
  /** When the conversation's entry was made, in milliseconds. It stays when the summary changes. */
  readonly since: number;
}

export interface UserApi extends BackupApi {
  /**
   * Stores a conversation's summary, unless there is a newer one.
   *
   * @throws RangeError if the text is too long
   */
  put(summary: UserSummary): void;
  /**
   * The latest summaries, newest first.
   *
   * @param request `except`: a conversation to leave out; `most`: the maximum
   */
  latest(request: { readonly except: string; readonly most: number }): UserEntry[];
  /** Whether all entries are there that a block was made of. */
  holds(sources: readonly BlockSource[]): boolean;
  /** @returns whether there was an entry */
  forget(conversation: string): Promise<boolean>;
  clear(): Promise<void>;
}
