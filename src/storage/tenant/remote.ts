/** Methods of a tenant's and a user's object that other isolates can call. */
import type { KnownConversation, NotedConversation } from './rows.ts';

export interface TenantApi {
  /** See `TenantRows`. */
  note(conversation: string, refs: readonly string[]): Promise<void>;
  noteRead(ref: string): void;
  find(conversation: string): KnownConversation | null;
  release(conversation: NotedConversation): void;
  unreferenced(refs: readonly string[]): readonly string[];
  /** See `expireStep`. */
  expire(unusedSince: number): Promise<boolean>;
  /**
   * Deletes all of the tenant's data. If that takes long, hangs or fails, it goes on by itself.
   *
   * @returns whether everything is deleted
   */
  erase(): Promise<boolean>;
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

export interface UserApi {
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
  latest(request: { readonly except: string; readonly most: number }): UserSummary[];
  forget(conversation: string): Promise<void>;
  clear(): Promise<void>;
}
