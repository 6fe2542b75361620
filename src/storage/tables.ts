/**
 * Tables of a Durable Object. The first write makes them, so that reading an unknown name leaves no
 * trace.
 */

/** The part of an object's storage that tables need. */
type TableStorage = Pick<DurableObjectStorage, 'sql' | 'transactionSync'>;

/** A value of a statement's parameter. A list is bound as JSON, for `json_each` and `AMONG`. */
type Bound = SqlStorageValue | Uint8Array | readonly (string | number)[];

/** A condition on a column, with one parameter: the list that has its value. */
export const AMONG = 'IN (SELECT value FROM json_each(?))';

/** The names of tables in the statements that make them. */
const MADE = /CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)/g;

/** What else is known of tables that are made or found. */
interface TableHooks {
  /** Called before they are made. */
  readonly making?: () => void;
  /** A column of the first table, without which they are of 0.7 or earlier: they are dropped. */
  readonly oldest?: string;
  /** Columns that the first table has got since, which it may lack. */
  readonly added?: readonly `${string} ${string}`[];
  /** Columns that the first table had. A backup may still have them. */
  readonly retired?: readonly string[];
  /** Whether their rows are of no use elsewhere, so that no backup has them. */
  readonly passing?: boolean;
}

export class Tables {
  readonly sql: SqlStorage;
  readonly now: () => number;
  private readonly storage: TableStorage;
  private readonly all: LazyTables[] = [];

  /** @param now the clock of the object, in milliseconds since 1970 */
  constructor(storage: TableStorage, now: () => number = Date.now) {
    this.sql = storage.sql;
    this.now = now;
    this.storage = storage;
  }

  /**
   * Tables that are made together.
   *
   * @param schema the statements that make them; the first one shows whether they exist
   */
  lazy(schema: string, hooks?: TableHooks): LazyTables {
    const tables = new LazyTables(this, schema, hooks);
    this.all.push(tables);
    return tables;
  }

  /** The tables that are made together with one of this name; undefined if there is none. */
  groupOf(name: string): LazyTables | undefined {
    return this.all.find(({ names }) => names.includes(name));
  }

  /** The tables that exist and that a backup has. */
  saved(): string[] {
    return this.all.filter((tables) => !tables.isPassing && tables.exists()).flatMap(({ names }) => names);
  }

  /** Runs work in a transaction, which also undoes the tables that it has made. */
  atOnce<Result>(work: () => Result): Result {
    try {
      return this.storage.transactionSync(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Call this when all tables were deleted. */
  forget(): void {
    for (const tables of this.all) tables.forget();
  }
}

/**
 * Tables that are made together. All statements of their part are called here, so none has to look
 * whether they exist: a query finds nothing before they do, and `write` makes them.
 */
export class LazyTables implements StoredPart {
  private readonly sql: SqlStorage;
  readonly now: () => number;
  readonly names: readonly string[];
  /** Of the first one. */
  private readonly name: string;
  private readonly schema: string;
  private readonly hooks: TableHooks;
  /** Undefined before the first look. */
  private isThere: boolean | undefined;

  constructor({ sql, now }: Pick<Tables, 'sql' | 'now'>, schema: string, hooks: TableHooks = {}) {
    this.sql = sql;
    this.now = now;
    this.names = Array.from(schema.matchAll(MADE), ([, name = '']) => name);
    this.name = this.names[0] ?? '';
    this.schema = schema;
    this.hooks = hooks;
  }

  get isPassing(): boolean {
    return this.hooks.passing ?? false;
  }

  exists(): boolean {
    this.isThere ??= this.find();
    return this.isThere;
  }

  /** See `TableHooks`. */
  isRetired(column: string): boolean {
    return this.hooks.retired?.includes(column) ?? false;
  }

  /** Makes them unless they exist. */
  make(): void {
    if (this.exists()) return;
    this.hooks.making?.();
    this.sql.exec(this.schema);
    this.isThere = true;
  }

  /** The rows that a query finds, or that a statement returns. */
  all<Row>(query: string, ...values: Bound[]): Row[] {
    return [...this.each<Row>(query, ...values)];
  }

  /**
   * The rows of a query, read one by one as they are asked for. To be read to the end: while a
   * query is open, no table can be dropped.
   */
  each<Row>(query: string, ...values: Bound[]): Iterable<Row> {
    return this.exists() ? (this.run(query, values) as Iterable<unknown> as Iterable<Row>) : [];
  }

  /** The only row, or the first one. */
  first<Row>(query: string, ...values: Bound[]): Row | undefined {
    return this.all<Row>(query, ...values)[0];
  }

  /** The only row. The tables must exist. @throws if there is none, or more than one */
  one<Row>(query: string, ...values: Bound[]): Row {
    return this.run(query, values).one() as unknown as Row;
  }

  /** The only column of a query. */
  column<Value extends SqlStorageValue>(query: string, ...values: Bound[]): Value[] {
    return this.all<Record<string, Value>>(query, ...values).flatMap((row) => Object.values(row));
  }

  /** The only value of a query, or the first one. */
  value<Value extends SqlStorageValue>(query: string, ...values: Bound[]): Value | undefined {
    return this.column<Value>(query, ...values)[0];
  }

  has(query: string, ...values: Bound[]): boolean {
    return this.all(query, ...values).length > 0;
  }

  /**
   * The row of each key; null where there is none.
   *
   * @param column of the first table that has the keys, each once
   */
  ofKeys<Row>(keys: readonly string[], column: string, columns: string): (Row | null)[] {
    const rows = this.all<Row & { ofKey: string }>(
      `SELECT ${column} AS ofKey, ${columns} FROM ${this.name} WHERE ${column} ${AMONG}`,
      keys,
    );
    const byKey = new Map(rows.map(({ ofKey, ...row }) => [ofKey, row as Row]));
    return keys.map((key) => byKey.get(key) ?? null);
  }

  /** Changes or deletes rows, if the tables exist. */
  change(statement: string, ...values: Bound[]): void {
    if (this.exists()) this.run(statement, values);
  }

  /** Adds rows. Makes the tables unless they exist. */
  write(statement: string, ...values: Bound[]): void {
    this.make();
    this.run(statement, values);
  }

  /**
   * Adds a row. Makes the tables unless they exist.
   *
   * @param ifThere what becomes of a row with the same key; absent: there is none
   */
  insert(row: Readonly<Record<string, Bound>>, ifThere?: 'IGNORE' | 'REPLACE', table = this.name): void {
    this.write(insertInto(table, Object.keys(row), ifThere), ...Object.values(row));
  }

  /** Deletes all rows of the first table but the newest. @param id its column that ascends */
  keepNewest(most: number, id: string): void {
    const { name } = this;
    this.change(`DELETE FROM ${name} WHERE ${id} <= (SELECT max(${id}) FROM ${name}) - ?`, most);
  }

  /** Deletes all rows. */
  clear(): void {
    for (const name of this.names) this.change(`DELETE FROM ${name}`);
  }

  /** Deletes the tables. */
  drop(): void {
    for (const name of this.names) this.sql.exec(`DROP TABLE IF EXISTS ${name}`);
    this.isThere = false;
  }

  forget(): void {
    this.isThere = undefined;
  }

  /** As a part all of whose rows are worth keeping. */
  any(): boolean {
    return this.exists();
  }

  strip(): void {
    this.drop();
  }

  private run(statement: string, values: readonly Bound[]) {
    return this.sql.exec(statement, ...values.map((one) => (Array.isArray(one) ? JSON.stringify(one) : one)));
  }

  /** Looks for them. The tables of an earlier version become the present ones, or are dropped. */
  private find(): boolean {
    const { name } = this;
    const { oldest, added = [], retired = [] } = this.hooks;
    const columns = this.sql.exec<{ name: string }>('SELECT name FROM pragma_table_info(?)', name).toArray();
    const has = (column: string) => columns.some(({ name }) => column === name);
    if (columns.length === 0) return false;
    if (oldest !== undefined && !has(oldest)) {
      this.drop();
      return false;
    }
    const lacking = added.filter((column) => !has(column.split(' ', 1).join()));
    for (const column of lacking) this.sql.exec(`ALTER TABLE ${name} ADD COLUMN ${column}`);
    // The indices that came with the columns.
    if (lacking.length > 0) this.sql.exec(this.schema);
    for (const column of retired.filter(has)) this.sql.exec(`ALTER TABLE ${name} DROP COLUMN ${column}`);
    return true;
  }
}

/** A statement that adds a row, whose parameters are the values of these columns. */
export function insertInto(
  table: string,
  columns: readonly string[],
  ifThere?: 'IGNORE' | 'REPLACE',
): string {
  const values = columns.map(() => '?').join(', ');
  return `INSERT ${ifThere ? `OR ${ifThere} ` : ''}INTO ${table} (${columns.join(', ')}) VALUES (${values})`;
}

/** The tables of a conversation, as the parts of its memory see them. */
export interface MemoryTables extends Tables {
  /** Whether there is a memory. */
  exists(): boolean;
  /** Tables of a part of the memory. See `lazy`. @param retired see `TableHooks` */
  lazyOfMemory(schema: string, retired?: readonly string[]): LazyTables;
}

/**
 * A part of what a conversation stores, in tables of its own, or these themselves. The object has a
 * list of them (`conversation/object.ts`), which every deletion goes through.
 */
export interface StoredPart {
  /** Whether it has anything that is worth keeping. */
  any(): boolean;
  /** Deletes everything. @param settings whether the caller's settings stay */
  strip(settings: boolean): void;
}
