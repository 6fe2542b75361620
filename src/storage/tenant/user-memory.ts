/**
 * The Durable Object of one user: the latest summaries of the user's conversations, for
 * `memory_injection` (docs/design.md#7-storage).
 */
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../config.ts';
import { InvariantError } from '../../lib/invariant-error.ts';
import { createObjectLog, type Log } from '../../log.ts';
import { assertFits, type BlockSource } from '../conversation/memories.ts';
import { tenantIn } from '../conversation/names.ts';
import {
  ObjectBackup,
  type PartName,
  type PutBack,
  type PutBackState,
  type SavedPart,
  type SavePlace,
} from '../object-backup.ts';
import { tenantMemory } from '../objects.ts';
import { Tables } from '../tables.ts';
import type { UserApi, UserEntry, UserSummary } from './remote.ts';

/** Number of conversations kept, the newest ones. */
const KEPT = 50;

const SCHEMA =
  'CREATE TABLE IF NOT EXISTS summaries (conversation TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL, since INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID';

/** The methods are documented in `UserApi`. */
export class UserMemoryObject extends DurableObject<Env> implements UserApi {
  protected log: Log = createObjectLog(this.env);

  private readonly tables = new Tables(this.ctx.storage);
  private readonly table = this.tables.lazy(['summaries'], SCHEMA, { oldest: 'since' });

  private readonly backup = new ObjectBackup(this.tables);

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

  saveRows(place: SavePlace | null): SavedPart | null {
    return this.backup.save(place);
  }

  async putAside(name: PartName, text: string): Promise<void> {
    this.backup.putAside(name, text);
  }

  /** Entries that are there stay, and those that were deleted since do not come back. */
  async putBack(saved: PutBack): Promise<PutBackState> {
    const user = this.ctx.id.name;
    if (user === undefined) throw new InvariantError('the object of a user is opened by its name');
    const sessions = this.backup.columnAside('summaries', 'conversation').map(String);
    const names = sessions.map((session) => `${user}:${session}`);
    const isDeleted = await tenantMemory(
      this.env,
      tenantIn(user),
      this.log,
    )((stub) =>
      stub.deletedSince(
        [{ user }, ...names.flatMap((name) => [{ entry: name }, { conversation: name }])],
        saved.at,
      ),
    );
    if (isDeleted[0]) {
      this.backup.drop();
      return 'deleted';
    }
    const gone = new Set<unknown>(sessions.filter((_, at) => isDeleted[2 * at + 1] || isDeleted[2 * at + 2]));
    return this.backup.putBack(saved, { take: (_, row) => (gone.has(row.conversation) ? null : row) });
  }

  async clear(): Promise<void> {
    const deleted = this.ctx.storage.deleteAll();
    this.tables.forget();
    await deleted;
  }
}
