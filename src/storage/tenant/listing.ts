/**
 * A tenant's conversations in order: sorted, searched, filtered, and page by page. A page is read
 * along the index of its order and looks at a bounded number of conversations, however many there
 * are: one that reaches the bound ends early, and says where.
 */
import { idsIn, isBeside, openingIn } from '../conversation/names.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import type { LazyTables } from '../tables.ts';

export const SORTS = ['created', 'used', 'requests', 'net', 'paid'] as const;
export const ORDERS = ['desc', 'asc'] as const;
export const OUTCOMES = ['answered', 'failed'] as const;

/** The conversations that a page looks at, at most. Each is about three rows. */
export const MOST_LOOKED_AT = 4_000;

/** Both ends are part of it; null: none. */
export interface Range {
  readonly from: number | null;
  readonly to: number | null;
}

export interface ListQuery {
  /**
   * By when they were first seen, by their newest request (without one, by their last use), by the
   * number of their requests, by what they have saved, net, or by what they have cost.
   */
  readonly sort: (typeof SORTS)[number];
  readonly order: (typeof ORDERS)[number];
  /** Only those whose name, user, opening or model contains this text; empty: all. */
  readonly text: string;
  /** Only those whose object's name starts with this text, as of a user; empty: all. */
  readonly names?: string;
  /** Of the newest request. */
  readonly model?: string | undefined;
  readonly agent?: string | undefined;
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
  /** When they were last used, in milliseconds, as the order `used` has it. */
  readonly used?: Range;
  /** What they have cost, in nanodollars. */
  readonly paid?: Range;
}

/** A place in a list, such as the end of a page. */
export interface ListPlace {
  /** Which walk has it. Conversations without the value follow the others, in either order. */
  readonly walk: number;
  /** What the list is sorted by; 0 if by `created`. */
  readonly value: number;
  /** Orders those with one value. */
  readonly at: number;
}

export interface ListedConversation extends ListPlace {
  readonly name: string;
  /** In milliseconds; null if only its settings are left. */
  readonly lastUsed: number | null;
}

export interface ListPart {
  readonly found: readonly ListedConversation[];
  /** The last place that it has looked at, if it has ended early; null if not. */
  readonly stopped: ListPlace | null;
}

/** Places before and after all others. */
export const FIRST_AT = 0;
export const LAST_AT = Number.MAX_SAFE_INTEGER;

/** The sums are null where none were reported. */
type Row = Pick<ListedConversation, 'at' | 'name' | 'lastUsed'> & {
  readonly [Sum in Exclude<keyof ConversationSums, 'days'>]: ConversationSums[Sum] | null;
};

const COLUMNS = `c.conversation_id AS at, c.name, c.last_used AS lastUsed, s.last_request AS lastRequest,
  s.model, s.agent, s.requests, s.net, s.paid, s.last_status AS lastStatus`;

/**
 * A way along an index: of a column, or null, of the conversations' ids. Rows without its value, or
 * on a walk before, are not on it.
 */
type Walk = 'lastRequest' | 'lastUsed' | 'requests' | 'net' | 'paid' | null;

const WALKS: Readonly<Record<ListQuery['sort'], readonly Walk[]>> = {
  created: [null],
  used: ['lastRequest', 'lastUsed', null],
  requests: ['requests', null],
  net: ['net', null],
  paid: ['paid', null],
};

/** @returns less than 0 if the first comes first */
export function comparePlaces(order: ListQuery['order']): (one: ListPlace, other: ListPlace) => number {
  const direction = order === 'desc' ? -1 : 1;
  return (one, other) =>
    one.walk - other.walk || direction * (one.value - other.value) || direction * (one.at - other.at);
}

/**
 * All conversations but those that are `isBeside`.
 *
 * @param sums a table as `conversation_sums`
 * @param after the place to go on from; null: the beginning
 */
export function listConversations(
  tables: LazyTables,
  sums: string,
  query: ListQuery,
  after: ListPlace | null,
  most: number,
): ListPart {
  const walks = WALKS[query.sort];
  const isWanted = filterOf(query);
  const few = query.names ? fewNamed(tables, sums, query.names) : undefined;
  if (few) {
    const compare = comparePlaces(query.order);
    const found = few
      .filter(isWanted)
      .map((row) => listed(row, walks))
      .filter((one) => after === null || compare(after, one) < 0)
      .sort(compare);
    return { found: found.slice(0, most), stopped: null };
  }
  const found: ListedConversation[] = [];
  let looked = 0;
  for (let walk = after?.walk ?? 0; walk < walks.length && found.length < most; walk++) {
    const from = after?.walk === walk ? after : null;
    const column = walks[walk] ?? null;
    for (const row of along(tables, sums, column, query.order, from)) {
      const one = listed(row, walks);
      if (one.walk === walk && isWanted(row)) found.push(one);
      if (found.length === most) break;
      if (++looked < MOST_LOOKED_AT) continue;
      return { found, stopped: { walk, value: sortedBy(row, column) ?? 0, at: row.at } };
    }
  }
  return { found, stopped: null };
}

/** Those whose names start with a text; undefined if there are more than a page looks at. */
function fewNamed(tables: LazyTables, sums: string, names: string): Row[] | undefined {
  const rows = tables.all<Row>(
    `SELECT ${COLUMNS} FROM conversations c LEFT JOIN ${sums} s ON s.conversation_id = c.conversation_id
     WHERE c.name >= ? AND c.name < ? LIMIT ?`,
    names,
    `${names}\u{10ffff}`,
    MOST_LOOKED_AT + 1,
  );
  return rows.length > MOST_LOOKED_AT ? undefined : rows;
}

/** Rows that are read at once: an open query would keep tables from being dropped. */
const PART = 64;

/** The rows of a walk, which are read in parts as they are asked for. */
function* along(
  tables: LazyTables,
  sums: string,
  column: Walk,
  order: ListQuery['order'],
  after: Pick<ListPlace, 'value' | 'at'> | null,
): Iterable<Row> {
  const [table, other] = [`${sums} s`, 'conversations c'];
  const isOfSums = column !== null && column !== 'lastUsed';
  const from = isOfSums ? `${table} CROSS JOIN ${other}` : `${other} LEFT JOIN ${table}`;
  const id = isOfSums ? 's.conversation_id' : 'c.conversation_id';
  const beyond = order === 'desc' ? '<' : '>';
  const read = (most: number, where: string, ...values: number[]) =>
    tables.all<Row>(
      `SELECT ${COLUMNS} FROM ${from} ON s.conversation_id = c.conversation_id WHERE ${where}
       ORDER BY ${column === null ? '' : `${column} ${order}, `}${id} ${order} LIMIT ?`,
      ...values,
      most,
    );
  const part = (last: typeof after): Row[] => {
    if (column === null) return last ? read(PART, `${id} ${beyond} ?`, last.at) : read(PART, 'TRUE');
    if (!last) return read(PART, `${column} IS NOT NULL`);
    // Two ranges of the index, since one condition for both reads all rows with the value again.
    const same = read(PART, `${column} = ? AND ${id} ${beyond} ?`, last.value, last.at);
    const left = PART - same.length;
    return left === 0 ? same : [...same, ...read(left, `${column} ${beyond} ?`, last.value)];
  };
  let rows = part(after);
  yield* rows;
  for (let last = rows.at(-1); last && rows.length === PART; last = rows.at(-1)) {
    rows = part({ value: sortedBy(last, column) ?? 0, at: last.at });
    yield* rows;
  }
}

/** A row on the first walk that has its value. */
function listed(row: Row, walks: readonly Walk[]): ListedConversation {
  const walk = walks.findIndex((column) => sortedBy(row, column) !== null);
  const value = sortedBy(row, walks[walk] ?? null) ?? 0;
  return { walk, value, at: row.at, name: row.name, lastUsed: row.lastUsed };
}

function sortedBy(row: Row, column: Walk): number | null {
  return column === null ? 0 : row[column];
}

function filterOf({ text, names = '', model, agent, outcome, used, paid }: ListQuery): (row: Row) => boolean {
  const wanted = text.toLowerCase();
  return (row) =>
    !isBeside(row.name) &&
    row.name.startsWith(names) &&
    (model === undefined || row.model === model) &&
    (agent === undefined || row.agent === agent) &&
    (outcome === undefined || outcomeOf(row) === outcome) &&
    isWithin(row.lastRequest ?? row.lastUsed, used) &&
    isWithin(row.paid, paid) &&
    hasText(row, wanted);
}

function outcomeOf({ lastStatus }: Row): ListQuery['outcome'] {
  if (lastStatus === null) return undefined;
  return lastStatus >= 400 ? 'failed' : 'answered';
}

function isWithin(value: number | null, range: Range | undefined): boolean {
  const { from = null, to = null } = range ?? {};
  if (from === null && to === null) return true;
  return value !== null && (from === null || value >= from) && (to === null || value <= to);
}

/** @param wanted in lower case */
function hasText({ name, model }: Row, wanted: string): boolean {
  if (wanted === '') return true;
  const { user, conversation } = idsIn(name);
  return [conversation, user, openingIn(name), model].some((one) => one?.toLowerCase().includes(wanted));
}
