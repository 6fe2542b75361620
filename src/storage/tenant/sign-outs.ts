/** When a caller or the operator has signed out everywhere (`routes/session/`): in the register. */
import { AMONG, type LazyTables, type Tables } from '../tables.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS sign_outs (owner TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`;

export class SignOuts {
  private readonly tables: LazyTables;

  constructor(tables: Tables) {
    this.tables = tables.lazy(SCHEMA, { passing: true });
  }

  /** @param at in milliseconds: sign-ins that began until then are over */
  note(owners: readonly string[], at: number): void {
    for (const owner of owners)
      this.tables.write('INSERT OR REPLACE INTO sign_outs (owner, at) VALUES (?, ?)', owner, at);
  }

  /** The newest of the owners', in milliseconds; 0 without one. */
  latest(owners: readonly string[]): number {
    const newest = this.tables.value<number | null>(
      `SELECT max(at) FROM sign_outs WHERE owner ${AMONG}`,
      owners,
    );
    return newest ?? 0;
  }
}
