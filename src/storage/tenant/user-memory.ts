/**
 * The Durable Object of one user: the latest summaries of the user's conversations, for
 * `memory_injection` (docs/design.md#7-storage).
 */
import { assertFits, type BlockSource } from '../conversation/memories.ts';
import { tenantIn } from '../conversation/names.ts';
import { ObjectBackup, type PutBack, type PutBackState, SavedObject } from '../object-backup.ts';
import { tenantMemory } from '../objects.ts';
import { Tables } from '../tables.ts';
import type { UserApi, UserEntry, UserSummary } from './remote.ts';

/** Number of conversations kept, the newest ones. */
const KEPT = 50;

const SCHEMA =
  'CREATE TABLE IF NOT EXISTS summaries (conversation TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL, since INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID';

/** The methods are documented in `UserApi`. */
export class UserMemoryObject extends SavedObject implements UserApi {
  protected override readonly tables = new Tables(this.ctx.storage);
  private readonly table = this.tables.lazy(SCHEMA, { oldest: 'since' });

  protected override readonly backup = new ObjectBackup(this.tables);

  put({ conversation, text, at }: UserSummary): void {
    assertFits(text);
    this.table.write(
      `INSERT INTO summaries (conversation, text, at, since) VALUES (?, ?, ?, ?)
       ON CONFLICT (conversation) DO UPDATE SET text = excluded.text, at = excluded.at WHERE excluded.at >= at`,
      conversation,
      text,
      at,
      Date.now(),
    );
    this.table.change(
      `DELETE FROM summaries WHERE conversation IN
       (SELECT conversation FROM summaries ORDER BY at DESC, conversation LIMIT -1 OFFSET ${KEPT})`,
    );
  }

  latest({ except, most }: { readonly except: string; readonly most: number }): UserEntry[] {
    return this.table.all<UserEntry>(
      'SELECT conversation, text, at, since FROM summaries WHERE conversation <> ? ORDER BY at DESC, conversation LIMIT ?',
      except,
      most,
    );
  }

  holds(sources: readonly BlockSource[]): boolean {
    return sources.every(({ conversation, since }) =>
      this.table.has('SELECT 1 FROM summaries WHERE conversation = ? AND since = ?', conversation, since),
    );
  }

  async forget(conversation: string): Promise<boolean> {
    if (!this.table.exists()) return false;
    const forgotten = this.table.all(
      'DELETE FROM summaries WHERE conversation = ? RETURNING conversation',
      conversation,
    );
    if (!this.table.has('SELECT 1 FROM summaries LIMIT 1')) await this.clear();
    return forgotten.length > 0;
  }

  /** Entries that are there stay, and those that were deleted since do not come back. */
  async putBack(saved: PutBack): Promise<PutBackState> {
    const user = this.ownName;
    const sessions = this.backup.columnAside('summaries', 'conversation').map(String);
    const names = sessions.map((session) => `${user}:${session}`);
    const what = [{ user }, ...names.flatMap((name) => [{ entry: name }, { conversation: name }])];
    const tenant = tenantMemory(this.env, tenantIn(user), this.log);
    const isDeleted = await tenant((stub) => stub.deletedSince(what, saved.at));
    if (isDeleted[0]) {
      this.backup.drop();
      return 'deleted';
    }
    const gone = new Set<unknown>(sessions.filter((_, at) => isDeleted[2 * at + 1] || isDeleted[2 * at + 2]));
    return this.backup.putBack(saved, { take: (_, row) => (gone.has(row.conversation) ? null : row) });
  }

  clear(): Promise<void> {
    return this.deleteAll();
  }
}
