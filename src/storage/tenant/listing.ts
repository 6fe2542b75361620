/** A tenant's conversations in order: sorted, searched, and page by page. */
import { idsIn, openingIn } from '../conversation/names.ts';

export const SORTS = ['created', 'used', 'requests', 'net'] as const;
export const ORDERS = ['desc', 'asc'] as const;

/** Which conversations are listed, and how. */
export interface ListQuery {
  /**
   * By when they were first seen, by their last use, by the number of their requests, or by what
   * they have saved, net.
   */
  readonly sort: (typeof SORTS)[number];
  readonly order: (typeof ORDERS)[number];
  /** Only those whose name, user, opening or model contains this text; empty: all. */
  readonly text: string;
}

/** A place in a list, such as the end of a page. */
export interface ListPlace {
  /** What the list is sorted by; 0 if by `created`. */
  readonly value: number;
  /** Orders those with one value. */
  readonly at: number;
}

/** A conversation in a list. */
export interface ListedConversation extends ListPlace {
  readonly name: string;
  /** In milliseconds; null if only its settings are left. */
  readonly lastUsed: number | null;
}

/** Places before and after all others. */
export const FIRST_AT = 0;
export const LAST_AT = Number.MAX_SAFE_INTEGER;

const VALUES: Readonly<Record<Exclude<ListQuery['sort'], 'created'>, string>> = {
  used: 'coalesce(s.last_request, c.last_used)',
  requests: 's.requests',
  net: 's.net',
};

/** Where the value is not known: such conversations come last in either order. */
const UNKNOWN = { desc: Number.MIN_SAFE_INTEGER, asc: Number.MAX_SAFE_INTEGER };

type Row = ListedConversation & { model: string | null };

/**
 * Reads no more rows than the page needs where nothing is searched and the order is `created`, and
 * else the rows of all conversations.
 *
 * @param sums a table as `conversation_sums`
 * @param after the place to go on from; null: the beginning
 * @param end of the names of those that are left out
 */
export function listConversations(
  sql: SqlStorage,
  sums: string,
  { sort, order, text }: ListQuery,
  after: ListPlace | null,
  most: number,
  end: string,
): ListedConversation[] {
  const beyond = order === 'desc' ? '<' : '>';
  const value = sort === 'created' ? '0' : `coalesce(${VALUES[sort]}, ${UNKNOWN[order]})`;
  const isAfter = `c.conversation_id ${beyond} ?2`;
  const rows = sql.exec<Row & Record<string, SqlStorageValue>>(
    `SELECT ${value} AS value, c.conversation_id AS at, c.name, c.last_used AS lastUsed, s.model
     FROM conversations c LEFT JOIN ${sums} s ON s.conversation_id = c.conversation_id
     WHERE substr(c.name, ?3) <> ?4 AND (?1 IS NULL OR ${
       sort === 'created' ? isAfter : `${value} ${beyond} ?1 OR (${value} = ?1 AND ${isAfter})`
     })
     ORDER BY ${sort === 'created' ? '' : `value ${order}, `}c.conversation_id ${order}`,
    after?.value ?? null,
    after?.at ?? null,
    -end.length,
    end,
  );
  const wanted = text.toLowerCase();
  const found: ListedConversation[] = [];
  if (most < 1) return found;
  for (const { model, ...one } of rows) {
    if (hasText(one.name, model, wanted)) found.push(one);
    if (found.length === most) break;
  }
  return found;
}

/** @param wanted in lower case */
function hasText(name: string, model: string | null, wanted: string): boolean {
  if (wanted === '') return true;
  const { user, conversation } = idsIn(name);
  return [conversation, user, openingIn(name), model].some((one) => one?.toLowerCase().includes(wanted));
}
