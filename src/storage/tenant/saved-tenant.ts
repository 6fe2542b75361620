/**
 * A tenant's object in a backup. Conversations go by their names, since their ids differ between
 * deployments.
 *
 * What is there stays: a conversation's row, a label of blocks with all its versions. What was
 * deleted after it was saved does not come back, nor what would have expired.
 *
 * Calls under way do not come back, since their ends are reported, or were reported, to the object
 * that reserved them. Nor does a caller's state: the register decides, and it has a backup of its
 * own.
 */

import { userNameIn } from '../conversation/names.ts';
import {
  type NotTaken,
  ObjectBackup,
  type PutBack,
  type PutBackState,
  type SavedPart,
  type SavePlace,
} from '../object-backup.ts';
import type { RowRules, SavedRow } from '../table-rows.ts';
import type { Tables } from '../tables.ts';
import type { BlockRows } from './blocks.ts';
import type { Deletions } from './deletions.ts';
import type { TenantRows } from './rows.ts';

export interface SavedConversation {
  /** Ascending in the order in which they were first noted. */
  readonly id: number;
  readonly name: string;
  /** In milliseconds; null if only its settings are left. */
  readonly used: number | null;
}

/** A content to put back. */
export interface SavedRef {
  readonly ref: string;
  /** The conversations that refer to it. */
  readonly users: readonly string[];
  /** In milliseconds. */
  readonly uploaded: number;
}

interface TenantParts {
  readonly rows: TenantRows;
  readonly blocks: BlockRows;
  readonly deletions: Deletions;
  /** See `Retention`. */
  unusedSince(): number | undefined;
}

/** Refers to a row of `conversations`, wherever it is. */
const REFERENCE = 'conversation_id';

/** Tables whose rows hold for the moment in which they were saved. */
const OF_THE_MOMENT: readonly string[] = ['spend_calls', 'caller_state'];

const SAVE: RowRules = {
  column(table, column) {
    if (column !== REFERENCE) return column;
    if (table === 'conversations') return null;
    return `(SELECT name FROM conversations c WHERE c.${REFERENCE} = ${table}.${REFERENCE})`;
  },
};

export class TenantBackup extends ObjectBackup {
  private readonly parts: TenantParts;

  constructor(tables: Tables, parts: TenantParts) {
    super(tables);
    this.parts = parts;
  }

  /** Nothing is saved while it is being erased. Deletions are noted from then on. */
  override save(place: SavePlace | null): SavedPart | null {
    if (this.parts.rows.erasure() || this.tables.saved().length === 0) return null;
    this.parts.deletions.begin();
    return super.save(place, SAVE);
  }

  override putBack(saved: PutBack): PutBackState {
    this.parts.deletions.begin();
    const state = super.putBack(saved, { take: this.taker(saved) });
    // So that isolates read the register again, if this is its object.
    if (state === 'restored')
      this.tables.groupOf('register_version')?.change('UPDATE register_version SET version = version + 1');
    return state;
  }

  /**
   * The next conversation.
   *
   * @param id of the one before, or 0
   * @param only the name of the only one that is saved, whose deletion is noted from now on
   */
  conversationAfter(id: number, only: string | null): SavedConversation | null {
    const { rows, deletions } = this.parts;
    if (rows.erasure()) return null;
    if (only !== null && rows.tables.exists()) deletions.begin();
    const next = rows.tables.first<SavedConversation>(
      `SELECT ${REFERENCE} AS id, name, last_used AS used FROM conversations
       WHERE ${REFERENCE} > ?1 AND (?2 IS NULL OR name = ?2) ORDER BY ${REFERENCE} LIMIT 1`,
      id,
      only,
    );
    return next ?? null;
  }

  /** The name of the next user with conversations. @param user the one before, or empty */
  userAfter(user: string): string | null {
    const { rows } = this.parts;
    if (rows.erasure()) return null;
    const next = rows.tables.value<string>(
      // Without a user, two colons follow each other.
      "SELECT name FROM conversations WHERE name > ? AND name NOT LIKE '%::%' ORDER BY name LIMIT 1",
      // After all of that user's conversations.
      user === '' ? '' : `${user}:\u{10ffff}`,
    );
    return (next && userNameIn(next)) ?? null;
  }

  /** The conversations that refer to each of the refs. */
  usersOf(refs: readonly string[]): string[][] {
    const query = `SELECT c.name FROM uses u JOIN conversations c ON c.${REFERENCE} = u.${REFERENCE} WHERE u.ref = ?`;
    return refs.map((ref) => this.parts.rows.tables.column(query, ref));
  }

  /**
   * Whether each content comes back: one that a conversation refers to which is here, or none has
   * referred to. Notes these uses.
   *
   * @param at when they were saved, in milliseconds
   */
  takeRefs(refs: readonly SavedRef[], at: number): boolean[] {
    const unusedSince = this.parts.unusedSince() ?? 0;
    return refs.map(({ ref, users, uploaded }) => {
      if (this.parts.deletions.since({ ref }, at)) return false;
      if (users.length === 0) return uploaded >= unusedSince;
      return users.filter((user) => this.parts.rows.noteUse(user, ref)).length > 0;
    });
  }

  /**
   * Why a conversation does not come back; null if nothing here speaks against it.
   *
   * @param used when it was last used; null if only settings are left
   * @param at when it was saved
   */
  refuses(conversation: string, used: number | null, at: number): NotTaken | null {
    this.parts.deletions.begin();
    if (this.parts.deletions.since({ conversation }, at)) return 'deleted';
    const unusedSince = this.parts.unusedSince() ?? 0;
    return used !== null && used < unusedSince ? 'expired' : null;
  }

  private taker({ at }: PutBack): NonNullable<RowRules['take']> {
    const { blocks, deletions } = this.parts;
    const standing = new Set(blocks.list().map(({ label }) => label));
    return (table, row) => {
      if (OF_THE_MOMENT.includes(table)) return null;
      if (table === 'deletions') {
        deletions.set(String(row.what), Number(row.at));
        return null;
      }
      if (table === 'conversations') {
        const used = row.last_used === null ? null : Number(row.last_used);
        return this.refuses(String(row.name), used, at) === null ? row : null;
      }
      if (table === 'block_versions') {
        const label = String(row.label);
        return standing.has(label) || deletions.since({ block: label }, at) ? null : row;
      }
      return this.withReference(row);
    };
  }

  /** A row with the id that its conversation has here; null if it is not here. */
  private withReference(row: SavedRow): SavedRow | null {
    const name = row[REFERENCE];
    if (name === undefined) return row;
    const id = this.parts.rows.idOf(String(name));
    return id === undefined ? null : { ...row, [REFERENCE]: id };
  }
}
