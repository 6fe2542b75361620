/**
 * What a tenant's conversations have sent and cost, as their objects report it (`sum-reports.ts`):
 * by conversation, to sort lists, and by day. It goes with its conversation. See
 * `storage-schema.md`.
 */
import { plus } from '../../lib/sums.ts';
import { dayOf } from '../../lib/utc-time.ts';
import {
  DAY_SUMS_NAMES,
  LAST_TIMES,
  NAMED_SUMS,
  NAMED_SUMS_NAMES,
  type NamedSumsName,
  type NO_DAY_SUMS,
  type SumsByDay,
} from '../../memory/run/day-sums.ts';
import type { TrialSums, TriedConversation } from '../../memory/run/trials.ts';
import type { ConversationName } from '../conversation/names.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import { insertInto, type LazyTables, type Tables } from '../tables.ts';

/** How many days are kept, with today. */
export const KEPT_DAYS = 90;

const SET_NAMES = [...DAY_SUMS_NAMES, ...NAMED_SUMS_NAMES, ...LAST_TIMES];

/** Trials are read by conversation. */
const BY_DAY = NAMED_SUMS_NAMES.filter((name) => name !== 'trials');

/** JSON of the sums by name, and times (0: none). 0.9 and earlier lack the columns. */
const ADDED = [
  ...NAMED_SUMS_NAMES.map((name) => `${name} TEXT NOT NULL DEFAULT '{}'` as const),
  ...LAST_TIMES.map((name) => `${name} INTEGER NOT NULL DEFAULT 0` as const),
];

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS day_sums (
    day INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    ${DAY_SUMS_NAMES.map((name) => `${name} INTEGER NOT NULL`).join(',\n    ')},
    ${ADDED.join(',\n    ')},
    PRIMARY KEY (day, conversation_id)
  ) WITHOUT ROWID;
`;

/** What 0.9 and earlier lack. */
const ADDED_SUMS = ['paid INTEGER', 'last_status INTEGER', 'agent TEXT'] as const;

const SUMS = ['requests', 'net', 'last_request', 'model', 'paid', 'last_status', 'agent'] as const;

/** An index for each order of a list (`listing.ts`). */
const SUMS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversation_sums (
    conversation_id INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL,
    net INTEGER,
    last_request INTEGER,
    model TEXT,
    ${ADDED_SUMS.join(',\n    ')}
  );
  ${['requests', 'net', 'last_request', 'paid']
    .map((name) => `CREATE INDEX IF NOT EXISTS sums_by_${name} ON conversation_sums (${name});`)
    .join('\n  ')}
`;

/**
 * Sets a row by its key. One that has these values already is not written again, nor are entries of
 * an index whose value stays.
 */
function setting(table: string, key: readonly string[], columns: readonly string[]): string {
  const sent = columns.map((name) => `excluded.${name}`).join(', ');
  return `${insertInto(table, [...key, ...columns])} ON CONFLICT (${key.join(', ')}) DO UPDATE
    SET (${columns.join(', ')}) = (${sent}) WHERE (${columns.join(', ')}) IS NOT (${sent})`;
}

const SET_SUMS = setting('conversation_sums', ['conversation_id'], SUMS);
const SET_DAY = setting('day_sums', ['day', 'conversation_id'], SET_NAMES);

/**
 * Rows of a conversation are found by day, since the key begins with it; another index would cost a
 * row for each that is set.
 */
const DAYS = `day IN
  (WITH RECURSIVE days(day) AS (
     SELECT (SELECT min(day) FROM day_sums)
     UNION ALL SELECT day + 1 FROM days WHERE day < (SELECT max(day) FROM day_sums))
   SELECT day FROM days)`;

/** A conversation with its sums of some days. */
export interface UsedConversation {
  readonly name: ConversationName;
  /** Of its newest request. */
  readonly model: string | null;
  readonly sums: Readonly<typeof NO_DAY_SUMS>;
}

export class UsageRows {
  private readonly tables: LazyTables;
  private readonly sums: LazyTables;

  constructor(tables: Tables) {
    this.tables = tables.lazy(SCHEMA, { added: ADDED });
    this.sums = tables.lazy(SUMS_SCHEMA, { added: ADDED_SUMS });
  }

  /** Rows of conversations, to be joined to the rows of `TenantRows`; none before the first one. */
  get source(): string {
    if (this.sums.exists()) return 'conversation_sums';
    return `(SELECT 0 AS conversation_id, ${SUMS.map((name) => `NULL AS ${name}`).join(', ')} WHERE 0)`;
  }

  set(id: number, sums: ConversationSums): void {
    const { requests, net, lastRequest, model, paid, lastStatus, agent, days } = sums;
    const oldest = dayOf(this.tables.now()) - KEPT_DAYS + 1;
    this.sums.write(SET_SUMS, id, requests, net, lastRequest, model, paid, lastStatus, agent);
    for (const [day, ofDay] of Object.entries(days))
      if (Number(day) >= oldest)
        this.tables.write(
          SET_DAY,
          Number(day),
          id,
          ...DAY_SUMS_NAMES.map((name) => ofDay[name]),
          ...NAMED_SUMS_NAMES.map((name) => JSON.stringify(ofDay[name] ?? {})),
          ...LAST_TIMES.map((name) => ofDay[name] ?? 0),
        );
    this.tables.change('DELETE FROM day_sums WHERE day < ?', oldest);
  }

  /** Each conversation with its sums of some days. */
  *conversations(from: number, to: number): Generator<UsedConversation> {
    const sums = DAY_SUMS_NAMES.map((name) => `sum(d.${name}) AS ${name}`);
    const rows = this.tables.each<Omit<UsedConversation, 'sums'> & Record<keyof typeof NO_DAY_SUMS, number>>(
      `SELECT c.name, s.model, ${sums.join(', ')}
       FROM day_sums d JOIN conversations c ON c.conversation_id = d.conversation_id
       LEFT JOIN conversation_sums s ON s.conversation_id = d.conversation_id
       WHERE d.day BETWEEN ? AND ? GROUP BY d.conversation_id`,
      from,
      to,
    );
    for (const { name, model, ...sums } of rows) yield { name, model, sums };
  }

  /** Each conversation that is on a side of a trial in some days, with its sums of these days. */
  *tried(from: number, to: number): Generator<TriedConversation> {
    const rows = this.tables.each<Omit<TriedConversation, 'sums'> & { trials: string }>(
      `SELECT sum(requests) AS requests, sum(summarizer) AS summarizer, sum(unpriced) AS unpriced,
         json_group_array(json(trials)) AS trials
       FROM day_sums WHERE day BETWEEN ? AND ?
       GROUP BY conversation_id HAVING sum(trials <> '{}') > 0`,
      from,
      to,
    );
    for (const { trials, ...rest } of rows)
      yield { ...rest, sums: (JSON.parse(trials) as TrialSums[]).reduce<TrialSums>(plus, {}) };
  }

  /** The sums of all conversations by day. Days without requests are not among them. */
  days(from: number, to: number): SumsByDay {
    const rows = this.tables.each<Record<'day' | keyof typeof NO_DAY_SUMS, number>>(
      `SELECT day, ${DAY_SUMS_NAMES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
       FROM day_sums WHERE day BETWEEN ? AND ? GROUP BY day`,
      from,
      to,
    );
    const days: Record<number, SumsByDay[number]> = {};
    for (const { day, ...sums } of rows) days[day] = sums;
    for (const name of BY_DAY)
      for (const { day, ...sum } of this.named(name, from, to)) {
        const of = days[day];
        const { key, ...numbers } = sum;
        if (of) days[day] = { ...of, [name]: { ...of[name], [key]: numbers } };
      }
    return days;
  }

  private named(name: NamedSumsName, from: number, to: number) {
    const sums = NAMED_SUMS[name].map(
      (field) =>
        `CASE WHEN count(value ->> '${field}') = count(*) THEN sum(value ->> '${field}') END AS ${field}`,
    );
    return this.tables.each<{ day: number; key: string } & Record<string, SqlStorageValue>>(
      `SELECT day, key, ${sums.join(', ')} FROM day_sums, json_each(${name})
       WHERE day BETWEEN ? AND ? GROUP BY day, key`,
      from,
      to,
    );
  }

  delete(id: number): void {
    this.sums.change('DELETE FROM conversation_sums WHERE conversation_id = ?', id);
    this.tables.change(`DELETE FROM day_sums WHERE conversation_id = ?1 AND ${DAYS}`, id);
  }
}
