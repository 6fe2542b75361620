/**
 * The table of a tenant's memory blocks: the newest versions of each. See `storage-schema.md`.
 *
 * The object makes each change in one step, with an id, since a call may be repeated. `erase`
 * begins with the blocks.
 */
import {
  type BlockEdit,
  charactersIn,
  type EditFault,
  editedText,
} from '../../memory/strategy/memory-blocks.ts';
import { AMONG, type LazyTables, type Tables } from '../tables.ts';

export const MOST_BLOCKS = 100;

/** Versions kept of each block, the newest ones. */
const KEPT_VERSIONS = 20;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS block_versions (
    label TEXT NOT NULL,
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    change_id TEXT NOT NULL,
    PRIMARY KEY (label, version)
  ) WITHOUT ROWID;
`;

export interface StoredBlock {
  readonly label: string;
  /** From 1 on; each change of the text adds one. */
  readonly version: number;
  readonly text: string;
  /** In milliseconds. */
  readonly updated_at: number;
}

export interface ListedBlock extends Omit<StoredBlock, 'text'> {
  /** The length of the text. */
  readonly characters: number;
}

/** A version, and which ones are kept, newest first. */
export interface FoundBlock {
  readonly block: StoredBlock;
  readonly versions: readonly number[];
}

/** The version that a caller expects: 0 for none, `any` for one that exists. Absent: whichever. */
export type ExpectedVersion = number | 'any' | undefined;

export interface BlockChange {
  readonly label: string;
  readonly edit: BlockEdit;
  readonly expected: ExpectedVersion;
  /** Unique. A call that is repeated, since its answer was lost, changes nothing more. */
  readonly id: string;
  /** The version that a block goes on from if there is none here. */
  readonly earlier: StoredBlock | null;
}

/** What became of a change. @see EditFault */
export type Changed =
  | { readonly state: 'changed'; readonly block: StoredBlock; readonly isNew: boolean }
  /** Another version than the expected one is there; 0: none. */
  | { readonly state: 'stale'; readonly version: number }
  | { readonly state: 'too_many' }
  | EditFault;

export type Deleted = { readonly state: 'deleted' | 'absent' } | Extract<Changed, { state: 'stale' }>;

/** The newest version of each label. */
const CURRENT = `SELECT label, max(version) AS version, text, updated_at FROM block_versions`;

export class BlockRows {
  private readonly table: LazyTables;

  constructor(tables: Tables) {
    this.table = tables.lazy(SCHEMA);
  }

  /** All blocks, by label. */
  list(): ListedBlock[] {
    return this.table
      .all<StoredBlock>(`${CURRENT} GROUP BY label ORDER BY label`)
      .map(({ text, ...block }) => ({ ...block, characters: charactersIn(text) }));
  }

  /** The blocks of the labels that exist. */
  read(labels: readonly string[]): StoredBlock[] {
    return this.table.all<StoredBlock>(`${CURRENT} WHERE label ${AMONG} GROUP BY label`, labels);
  }

  /** A version of a block. @param version null: the newest one */
  find(label: string, version: number | null): FoundBlock | null {
    const all = this.table.all<StoredBlock>(
      'SELECT label, version, text, updated_at FROM block_versions WHERE label = ? ORDER BY version DESC',
      label,
    );
    const block = version === null ? all[0] : all.find((one) => one.version === version);
    return block ? { block, versions: all.map((one) => one.version) } : null;
  }

  /** Makes a new version, unless the text stays the same. */
  change({ label, edit, expected, id, earlier }: BlockChange): Changed {
    const own = this.read([label])[0];
    const current = own ?? earlier ?? undefined;
    if (own && this.madeBy(id, own)) return { state: 'changed', block: own, isNew: true };
    const version = current?.version ?? 0;
    if (!isExpected(version, expected)) return { state: 'stale', version };
    const edited = editedText(current?.text ?? '', edit);
    if (!edited.ok) return edited.reason;
    if (current && current.text === edited.value) return { state: 'changed', block: current, isNew: false };
    if (!own && this.count() >= MOST_BLOCKS) return { state: 'too_many' };
    const block = { label, version: version + 1, text: edited.value, updated_at: this.table.now() };
    this.table.insert({ ...block, change_id: id });
    this.table.change(
      'DELETE FROM block_versions WHERE label = ? AND version <= ?',
      label,
      block.version - KEPT_VERSIONS,
    );
    return { state: 'changed', block, isNew: true };
  }

  /** Deletes a block with all its versions. */
  delete(label: string, expected: ExpectedVersion): Deleted {
    const version = this.read([label])[0]?.version ?? 0;
    if (!isExpected(version, expected)) return { state: 'stale', version };
    if (version === 0) return { state: 'absent' };
    this.table.change('DELETE FROM block_versions WHERE label = ?', label);
    return { state: 'deleted' };
  }

  isEmpty(): boolean {
    return this.count() === 0;
  }

  clear(): void {
    this.table.drop();
  }

  private madeBy(id: string, { label, version }: StoredBlock): boolean {
    return this.table.has(
      'SELECT 1 FROM block_versions WHERE label = ? AND version = ? AND change_id = ?',
      label,
      version,
      id,
    );
  }

  private count(): number {
    return this.table.value<number>('SELECT count(DISTINCT label) FROM block_versions') ?? 0;
  }
}

function isExpected(version: number, expected: ExpectedVersion): boolean {
  if (expected === undefined) return true;
  return expected === 'any' ? version > 0 : version === expected;
}
