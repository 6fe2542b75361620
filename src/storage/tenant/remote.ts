/** Methods of a tenant's and a user's object that other isolates can call. */

import type { CallerLimits } from '../../memory/money/caller-limits.ts';
import type { CallerState } from '../../memory/money/caller-schema.ts';
import type { SumsByDay } from '../../memory/run/day-sums.ts';
import type { RankedConversations } from '../../memory/run/ranked-conversations.ts';
import type { TrialTotals } from '../../memory/run/trials.ts';
import type { BlockSource } from '../conversation/memories.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import type { BackupApi, NotTaken } from '../object-backup.ts';
import type {
  BlockChange,
  Changed,
  Deleted,
  ExpectedVersion,
  FoundBlock,
  ListedBlock,
  StoredBlock,
} from './blocks.ts';
import type {
  CallerChange,
  RegisteredCaller,
  RegisteredCallers,
  SeenTenant,
  SeenTenants,
} from './callers.ts';
import type { Deletable } from './deletions.ts';
import type { ListPart, ListPlace, ListQuery } from './listing.ts';
import type { KnownConversation, NotedConversation } from './rows.ts';
import type { SavedConversation, SavedRef } from './saved-tenant.ts';
import type { EndedCall, Refused, Reservation, Reserved, SpentDay } from './spending.ts';
import type { UsedConversation } from './usage.ts';

export interface TenantApi extends BackupApi {
  /** See `TenantRows`. */
  note(conversation: string, refs: readonly string[]): Promise<void>;
  noteRead(ref: string): void;
  /** Sets what a conversation has sent and cost. One that is not known is not noted by this. */
  noteSums(conversation: string, sums: ConversationSums): void;
  /** Without the conversations with a user's passages. See `listConversations`. */
  list(query: ListQuery, after: ListPlace | null, most: number): ListPart;
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
  find(conversation: string): KnownConversation | null;
  refsOf(conversation: string, most: number, after?: string): readonly string[] | null;
  namesWith(prefix: string, most: number): readonly string[];
  namesOfSession(session: string, most: number): readonly string[];
  release(conversation: NotedConversation): void;
  unreferenced(refs: readonly string[]): readonly string[];
  /** See `expireStep`. */
  expire(unusedSince: number): Promise<boolean>;
  /** See `BlockRows`. */
  listBlocks(): readonly ListedBlock[];
  readBlocks(labels: readonly string[]): readonly StoredBlock[];
  findBlock(label: string, version: number | null): FoundBlock | null;
  changeBlock(change: BlockChange): Changed;
  deleteBlock(label: string, expected: ExpectedVersion): Deleted;
  /** Notes what other objects, or R2, have deleted. See `Deletions`. */
  noteDeleted(what: Deletable): void;
  deletedSince(what: readonly Deletable[], at: number): readonly boolean[];
  /** See `TenantBackup`. */
  refuses(conversation: string, used: number | null, at: number): NotTaken | null;
  toSave(after: number, only: string | null): SavedConversation | null;
  userToSave(after: string): string | null;
  usersOf(refs: readonly string[]): readonly (readonly string[])[];
  takeRefs(refs: readonly SavedRef[], at: number): readonly boolean[];
  /**
   * Deletes all of the tenant's data. If that takes long, hangs or fails, it goes on by itself.
   *
   * @returns whether everything is deleted
   */
  erase(): Promise<boolean>;
  /** See `SpendingRows`. */
  reserve(call: Reservation): Reserved;
  check(limits: CallerLimits): Refused | null;
  settle(call: EndedCall): void;
  /**
   * Closes the caller, or opens it again. One that is deleted also loses all data, as by `erase`,
   * and what isolates still write that have not heard of it.
   *
   * @returns whether everything is deleted, if it was to be
   */
  setState(state: CallerState): Promise<boolean>;
  /** What the caller has spent by day, and when it has last used a conversation. */
  usage(from: number, to: number): CallerUsage;
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

/** Methods of the register of callers. See `CallerRows`. */
export interface RegisterApi {
  readCallers(known: number | null): RegisteredCallers | null;
  changeCaller(change: CallerChange): RegisteredCaller;
  see(tenant: string): void;
  unsee(tenants: readonly string[]): void;
  seenAmong(tenants: readonly string[]): readonly SeenTenant[];
  seenSince(since: number, most: number): SeenTenants;
  seenTenants(after: string, most: number): readonly SeenTenant[];
  /** See `SignOuts`. */
  signOut(owners: readonly string[], at: number): void;
  signedOutAt(owners: readonly string[]): number;
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
