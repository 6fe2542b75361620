/**
 * The Durable Object of one user: the latest summaries of the user's conversations, for
 * `memory_injection` (docs/design.md#7-storage).
 */
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../config.ts';
import { assertFits } from '../conversation/memories.ts';
import type { UserApi, UserSummary } from './remote.ts';

/** Number of conversations kept, the newest ones. */
const KEPT = 50;

/** The first write makes the table, so that reading an unknown user leaves no trace. */
const TABLE =
  'CREATE TABLE IF NOT EXISTS summaries (conversation TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID';

/** The methods are documented in `UserApi`. */
export class UserMemoryObject extends DurableObject<Env> implements UserApi {
  private readonly sql = this.ctx.storage.sql;

  put({ conversation, text, at }: UserSummary): void {
    assertFits(text);
    this.sql.exec(TABLE);
    this.sql.exec(
      `INSERT INTO summaries (conversation, text, at) VALUES (?, ?, ?)
       ON CONFLICT (conversation) DO UPDATE SET text = excluded.text, at = excluded.at WHERE excluded.at >= at`,
      conversation,
      text,
      at,
    );
    this.sql.exec(
      `DELETE FROM summaries WHERE conversation IN
       (SELECT conversation FROM summaries ORDER BY at DESC, conversation LIMIT -1 OFFSET ${KEPT})`,
    );
  }

  latest({ except, most }: { readonly except: string; readonly most: number }): UserSummary[] {
    if (!this.exists()) return [];
    return this.sql
      .exec<Pick<UserSummary, keyof UserSummary>>(
        'SELECT conversation, text, at FROM summaries WHERE conversation <> ? ORDER BY at DESC, conversation LIMIT ?',
        except,
        most,
      )
      .toArray();
  }

  async forget(conversation: string): Promise<void> {
    if (!this.exists()) return;
    this.sql.exec('DELETE FROM summaries WHERE conversation = ?', conversation);
    if (this.sql.exec('SELECT 1 FROM summaries LIMIT 1').toArray().length === 0) await this.clear();
  }

  async clear(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  private exists(): boolean {
    return this.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'summaries'").toArray().length > 0;
  }
}
