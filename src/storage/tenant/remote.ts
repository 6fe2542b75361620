/** What other isolates can call on the objects of a tenant and of a user. */
import type { KnownConversation, NotedConversation } from './rows.ts';

export interface TenantApi {
  /** See `TenantRows` for what these do. */
  note(conversation: string, refs: readonly string[]): Promise<void>;
  noteRead(ref: string): void;
  find(conversation: string): KnownConversation | null;
  release(conversation: NotedConversation): void;
  unreferenced(refs: readonly string[]): readonly string[];
  /** See `expireStep`. */
  expire(unusedSince: number): Promise<boolean>;
  /**
   * Deletes all that the tenant has, and goes on by itself where that takes long, hangs or fails.
   *
   * @returns whether all is deleted
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
   * Keeps a conversation's summary, unless a newer one is there.
   *
   * @throws RangeError when the text is too long
   */
  put(summary: UserSummary): void;
  /**
   * Newest first.
   *
   * @param request `except`: a conversation to leave out; `most`: how many at most
   */
  latest(request: { readonly except: string; readonly most: number }): UserSummary[];
  forget(conversation: string): Promise<void>;
  clear(): Promise<void>;
}
