/**
 * The rows of a Durable Object as a backup has them: the rows of each table that `Tables` knows,
 * page by page. Any other table belongs to the runtime (`_cf_KV`) or to SQLite. A test compares
 * `Tables` with all tables that the code makes, so none is forgotten.
 */
import { Buffer } from 'node:buffer';
import { insertInto, type Tables } from './tables.ts';

/** A value in JSON; bytes as base64. */
type Cell = string | number | null | { readonly base64: string };

interface TableRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Where a page ends: the index of a table, and the key of its last row; null before the first. */
export interface RowPlace {
  readonly table: number;
  readonly after: readonly SqlStorageValue[] | null;
}

export type SavedRow = Record<string, SqlStorageValue>;

/** What is particular to the tables of a class of objects. */
export interface RowRules {
  /** What is saved of a column, as SQL; null leaves it out. Without a rule: the column itself. */
  column?(table: string, column: string): string | null;
  /** A row as this object takes it; null: it does not take it. Without a rule: as it is. */
  take?(table: string, row: SavedRow): SavedRow | null;
}

/** In characters of JSON, of which a page has a few more: at least a row. */
const PAGE = 1024 * 1024;

/** Rows of one query. It is read to its end, since an open one would lock its table. */
const FEWEST_ROWS = 8;
const MOST_ROWS = 512;

/**
 * A page of rows.
 *
 * @returns its text, and where it ends; null after the last page
 */
export function readRows(
  tables: Tables,
  place: RowPlace,
  { column = (_, name) => name }: RowRules,
): { readonly text: string; readonly next: RowPlace | null } {
  const names = savedTables(tables);
  const pages: TableRows[] = [];
  let size = 0;
  let most = FEWEST_ROWS;
  for (let { table, after } = place; table < names.length; table++, after = null) {
    const name = names[table] ?? '';
    const { key, columns } = layoutOf(tables.sql, name);
    const saved = columns.flatMap((each) => {
      const source = column(name, each);
      return source === null ? [] : [{ name: each, source }];
    });
    const rows: Cell[][] = [];
    const page = () => ({ table: name, columns: saved.map((each) => each.name), rows });
    const source = [...key, ...saved.map((each) => each.source)].join(', ');
    for (let last = after; ; ) {
      const read = rowsAfter(tables.sql, { name, key, source }, last, most);
      if (read.length === 0) break;
      for (const row of read) {
        const cells = row.slice(key.length).map(cellOf);
        rows.push(cells);
        size += JSON.stringify(cells).length;
        last = row.slice(0, key.length);
        if (size >= PAGE) return { text: JSON.stringify([...pages, page()]), next: { table, after: last } };
      }
      most = Math.min(most * 2, MOST_ROWS);
    }
    pages.push(page());
  }
  return { text: JSON.stringify(pages), next: null };
}

/**
 * Adds the rows of a page. Rows whose keys are there stay as they are.
 *
 * @param text of `readRows`
 * @returns how many rows it has that this object takes, and how many of them were added
 * @throws UnknownRows for a table or column that this version does not know
 */
export function writeRows(
  tables: Tables,
  text: string,
  { take = (_, row) => row }: RowRules,
): Record<'taken' | 'added', number> {
  const rows = { taken: 0, added: 0 };
  for (const { table, columns, rows: saved } of JSON.parse(text) as TableRows[]) {
    const group = tables.groupOf(table);
    if (!group || group.isPassing) throw new UnknownRows(table);
    group.make();
    const layout = layoutOf(tables.sql, table);
    const known = new Set([...layout.columns, ...layout.key]);
    const unknown = columns.find((column) => !known.has(column) && !group.isRetired(column));
    if (unknown !== undefined) throw new UnknownRows(`${table}.${unknown}`);
    const before = changesOf(tables.sql);
    for (const cells of saved) {
      const row = columns.flatMap((name, at) => (known.has(name) ? [[name, valueIn(cells[at])]] : []));
      const taken = take(table, Object.fromEntries(row));
      if (!taken) continue;
      const into = insertInto(table, Object.keys(taken), 'IGNORE');
      rows.taken += 1;
      tables.sql.exec(into, ...Object.values(taken));
    }
    rows.added += changesOf(tables.sql) - before;
  }
  return rows;
}

/** How many rows this life of the object has changed. */
export function changesOf(sql: SqlStorage): number {
  return sql.exec<{ n: number }>('SELECT total_changes() AS n').one().n;
}

/** The values of a column. @param text of `readRows` */
export function columnIn(text: string, table: string, column: string): SqlStorageValue[] {
  return (JSON.parse(text) as TableRows[])
    .filter((page) => page.table === table)
    .flatMap(({ columns, rows }) => rows.map((row) => valueIn(row[columns.indexOf(column)])));
}

/** Rows of a later version. */
export class UnknownRows extends Error {
  override readonly name = 'UnknownRows';
}

/** Rows after a key, each with its own before the columns. */
function rowsAfter(
  sql: SqlStorage,
  { name, key, source }: { readonly name: string; readonly key: readonly string[]; readonly source: string },
  after: readonly SqlStorageValue[] | null,
  most: number,
): SqlStorageValue[][] {
  const order = key.join(', ');
  const beyond = after === null ? '' : `WHERE (${order}) > (${key.map(() => '?').join(', ')})`;
  return [
    ...sql
      .exec(`SELECT ${source} FROM ${name} ${beyond} ORDER BY ${order} LIMIT ${most}`, ...(after ?? []))
      .raw(),
  ];
}

/**
 * The tables that exist. The tables of an earlier version may be fewer than are made together now.
 */
function savedTables(tables: Tables): string[] {
  const there = tables.sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .toArray();
  return tables.saved().filter((name) => there.some((each) => each.name === name));
}

/** The columns of a table, and those that order its rows. */
function layoutOf(sql: SqlStorage, table: string): Record<'key' | 'columns', readonly string[]> {
  // `wr` is 1 if rows have no `rowid`.
  const [known] = sql
    .exec<{ wr: number }>('SELECT wr FROM pragma_table_list WHERE name = ?', table)
    .toArray();
  const columns = sql
    .exec<{ name: string; type: string; pk: number }>(
      'SELECT name, type, pk FROM pragma_table_info(?)',
      table,
    )
    .toArray();
  const primary = columns.filter(({ pk }) => pk > 0).toSorted((one, other) => one.pk - other.pk);
  const names = columns.map(({ name }) => name);
  if (known?.wr === 1) return { key: primary.map(({ name }) => name), columns: names };
  const [id] = primary.length === 1 && primary[0]?.type === 'INTEGER' ? primary : [];
  return id ? { key: [id.name], columns: names } : { key: ['rowid'], columns: ['rowid', ...names] };
}

function cellOf(value: SqlStorageValue): Cell {
  return value instanceof ArrayBuffer ? { base64: Buffer.from(value).toString('base64') } : value;
}

function valueIn(cell: Cell | undefined): SqlStorageValue {
  if (typeof cell !== 'object' || cell === null) return cell ?? null;
  const bytes = Buffer.from(cell.base64, 'base64');
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}
