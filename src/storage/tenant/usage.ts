/**
 * What a tenant's conversations have sent and cost, as their objects report it (`sum-reports.ts`):
 * by conversation, to sort lists, and by day. It goes with its conversation. See
 * `storage-schema.md`.
 */
import { dayOf } from '../../lib/utc-time.ts';
import { DAY_SUMS_NAMES, type NO_DAY_SUMS, type SumsByDay } from '../../memory/run/day-sums.ts';
import { joinMissSums, type MissSum, type MissSums } from '../../memory/run/miss-sums.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import type { LazyTables, Tables } from '../tables.ts';

/** How many days are kept, with today. */
export const KEPT_DAYS = 90;

const SET_NAMES = [...DAY_SUMS_NAMES, 'missed'];
const COLUMNS = SET_NAMES.join(', ');

/** JSON of `MissSums`. 0.9 and earlier lack the column. */
const MISSED = "missed TEXT NOT NULL DEFAULT '{}'";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversation_sums (
    conversation_id INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL,
    net INTEGER,
    last_request INTEGER,
    model TEXT
  );
  CREATE TABLE IF NOT EXISTS day_sums (
    day INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    ${DAY_SUMS_NAMES.map((name) => `${name} INTEGER NOT NULL`).join(',\n    ')},
    ${MISSED},
    PRIMARY KEY (day, conversation_id)
  ) WITHOUT ROWID;
`;

/** A day that was reported before and has not changed writes no row. */
const SET_DAY = `
  INSERT INTO day_sums (day, conversation_id, ${COLUMNS})
  VALUES (?, ?, ${SET_NAMES.map(() => '?').join(', ')})
  ON CONFLICT (day, conversation_id) DO UPDATE
  SET ${SET_NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}
  WHERE (${COLUMNS}) IS NOT (${SET_NAMES.map((name) => `excluded.${name}`).join(', ')})
`;

/**
 * Rows of a conversation are found by day, since the key begins with it; another index would cost a
 * row for each that is set.
 */
const DAYS = `day IN
  (WITH RECURSIVE days(day) AS (
     SELECT (SELECT min(day) FROM day_sums)
     UNION ALL SELECT day + 1 FROM days WHERE day < (SELECT max(day) FROM day_sums))
   SELECT day FROM days)`;

export class UsageRows {
  private readonly sql: SqlStorage;
  private readonly tables: LazyTables;

  constructor(tables: Tables) {
    this.sql = tables.sql;
    this.tables = tables.lazy(['day_sums', 'conversation_sums'], SCHEMA, { added: [MISSED] });
  }

  /** Rows of conversations, to be joined to the rows of `TenantRows`; none before the first one. */
  get source(): string {
    if (this.tables.exists()) return 'conversation_sums';
    return '(SELECT 0 AS conversation_id, 0 AS requests, NULL AS net, NULL AS last_request, NULL AS model WHERE 0)';
  }

  /** Sets the sums of a conversation. @param now in milliseconds since 1970 */
  set(id: number, { requests, net, lastRequest, model, days }: ConversationSums, now: number): void {
    this.tables.make();
    const oldest = dayOf(now) - KEPT_DAYS + 1;
    this.sql.exec(
      `INSERT OR REPLACE INTO conversation_sums (conversation_id, requests, net, last_request, model)
       VALUES (?, ?, ?, ?, ?)`,
      id,
      requests,
      net,
      lastRequest,
      model,
    );
    for (const [day, sums] of Object.entries(days))
      if (Number(day) >= oldest)
        this.sql.exec(
          SET_DAY,
          Number(day),
          id,
          ...DAY_SUMS_NAMES.map((name) => sums[name]),
          JSON.stringify(sums.missed ?? {}),
        );
    this.sql.exec('DELETE FROM day_sums WHERE day < ?', oldest);
  }

  /** The sums of all conversations by day. Days without requests are not among them. */
  days(from: number, to: number): SumsByDay {
    if (!this.tables.exists()) return {};
    const rows = this.sql.exec<Record<'day' | keyof typeof NO_DAY_SUMS, number>>(
      `SELECT day, ${DAY_SUMS_NAMES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
       FROM day_sums WHERE day BETWEEN ? AND ? GROUP BY day`,
      from,
      to,
    );
    const missed = this.missed(from, to);
    return Object.fromEntries(
      [...rows].map(({ day, ...sums }) => {
        const ofDay = missed.get(day);
        return [day, ofDay ? { ...sums, missed: ofDay } : sums];
      }),
    );
  }

  /** By day. */
  private missed(from: number, to: number): ReadonlyMap<number, MissSums> {
    const rows = this.sql.exec<{ day: number; cause: string } & { [Name in keyof MissSum]: MissSum[Name] }>(
      `SELECT day, key AS cause, sum(value ->> 'requests') AS requests, sum(value ->> 'tokens') AS tokens,
         CASE WHEN count(value ->> 'amount') = count(*) THEN sum(value ->> 'amount') END AS amount
       FROM day_sums, json_each(missed) WHERE day BETWEEN ? AND ? GROUP BY day, cause`,
      from,
      to,
    );
    const days = new Map<number, MissSums>();
    for (const { day, cause, ...sum } of rows)
      days.set(day, joinMissSums(days.get(day) ?? {}, { [cause]: sum }));
    return days;
  }

  /** Forgets a conversation. */
  delete(id: number): void {
    if (!this.tables.exists()) return;
    this.sql.exec('DELETE FROM conversation_sums WHERE conversation_id = ?', id);
    this.sql.exec(`DELETE FROM day_sums WHERE conversation_id = ?1 AND ${DAYS}`, id);
  }
}
