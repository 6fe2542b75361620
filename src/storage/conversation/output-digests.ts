/**
 * Verdicts on the digests of offloaded outputs, in the SQLite of a conversation's object. The first
 * verdict on a digest stays, so that every isolate and every later request shows the same words, or
 * the same preview. See `storage-schema.md`.
 *
 * The object makes a digest once, as it makes versions (`making.ts`). Verdicts have a table of
 * their own: a view asks for all of them in one call, 20,000 are kept, and none is part of the
 * overview of a memory.
 */
import { AT_ONCE, Slots } from '../../lib/slots.ts';
import { soon } from '../../lib/time-limit.ts';
import { type Log, type LogFields, logCaught } from '../../log.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { LazyTables, StoredPart } from '../tables.ts';
import type { BillLedger } from './bills.ts';
import { heldBytes, type Making } from './making.ts';
import { afterFailure, assertFits, type Failure, HEALTHY, isResting, type WrittenText } from './memories.ts';
import type { ConversationTables } from './tables.ts';
import type { TextProgress } from './texts.ts';

const TABLE = 'output_digests';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    digest_id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest_key TEXT NOT NULL UNIQUE,
    digest_text TEXT
  );
`;

/** Columns of 0.9 and earlier. The preview is shown for a digest that was being written. */
const RETIRED = ['settled', 'lease', 'lease_until'];

/** The newest that are kept. */
const KEPT_DIGESTS = 20_000;

/** The text of a digest; null: the preview is shown. */
export interface DigestVerdict {
  readonly key: string;
  readonly text: string | null;
}

/** @param Material what a digest is made of */
export interface DigestOrder<Material> {
  readonly key: string;
  /** Null: without a verdict its preview is shown from now on, unless it is being made. */
  readonly material: Material | null;
}

export interface DigestAnswer extends DigestVerdict {
  /** Whether it has no text since it failed, is late, or may not be made now. */
  readonly isDegraded: boolean;
  /** What it has cost the caller whose order it was; null for others. */
  readonly usage: TokenUsage | null;
}

interface DigestPorts<Material> {
  readonly bills: BillLedger;
  readonly making: Making<string, DigestAnswer>;
  write(material: Material, progress: TextProgress): Promise<WrittenText>;
  readonly log: Log;
}

export class OutputDigests<Material> implements StoredPart {
  private readonly tables: ConversationTables;
  private readonly table: LazyTables;
  private readonly ports: DigestPorts<Material>;
  private readonly slots = new Slots(AT_ONCE);

  constructor(tables: ConversationTables, ports: DigestPorts<Material>) {
    this.tables = tables;
    this.table = tables.lazyOfMemory(SCHEMA, RETIRED);
    this.ports = ports;
  }

  /** The verdicts; null where there is none yet. */
  find(keys: readonly string[]): (DigestVerdict | null)[] {
    return this.table.ofKeys(keys, 'digest_key', 'digest_key AS key, digest_text AS text');
  }

  /**
   * Makes the digests that have no verdict, and answers when all have one, in the order of the
   * orders. One that is late leaves its preview for good.
   *
   * @param waitMs from now on
   */
  async make(orders: readonly DigestOrder<Material>[], waitMs: number): Promise<DigestAnswer[]> {
    this.table.make();
    const late = Date.now() + waitMs;
    // All are begun in one step, so that nobody else makes one.
    const answers = orders.map((order) => this.one(order, late, waitMs));
    this.table.keepNewest(KEPT_DIGESTS, 'digest_id');
    return Promise.all(answers);
  }

  any(): boolean {
    return this.table.has(`SELECT 1 FROM ${TABLE} LIMIT 1`);
  }

  strip(): void {
    this.table.drop();
  }

  private async one(
    { key, material }: DigestOrder<Material>,
    late: number,
    waitMs: number,
  ): Promise<DigestAnswer> {
    const verdict = this.verdictOf(key);
    if (verdict) return { ...verdict, isDegraded: false, usage: null };
    const made = this.ports.making.get(key);
    if (made) {
      const ended = await soon(waitMs, made);
      if (ended && !('state' in ended)) return { ...ended, usage: null };
      const { text } = ended ? { text: null } : this.settle(key, null);
      return { key, text, isDegraded: text === null, usage: null };
    }
    const bytes = heldBytes(material);
    const isResting = material !== null && !this.mayBegin(bytes);
    if (material === null || isResting)
      return { ...this.settle(key, null), isDegraded: isResting, usage: null };
    const ended = await this.begin(key, material, bytes, late);
    return 'state' in ended ? unmade({ key }) : ended;
  }

  private begin(key: string, material: Material, bytes: number, late: number) {
    const { making, write, bills, log } = this.ports;
    return making.begin(key, bytes, async ({ isWanted, end }) => {
      const progress = {
        goesOn: isWanted,
        late,
        retrying: () => undefined,
        advance: () => undefined,
      };
      let usage: TokenUsage | null = null;
      try {
        // It may have waited for others.
        const written = await this.slots.run(async () => (isWanted() ? write(material, progress) : null));
        if (!written) return;
        const { cost } = written.usage;
        // Otherwise nothing was called.
        if (cost !== undefined) usage = written.usage;
        if (this.table.exists()) bills.spend(cost);
        if (!isWanted()) return;
        const { made } = written;
        if (!made.ok) log('warn', 'the digest of an output could not be made', faultOf(made.reason));
        this.note(made);
        if (made.ok) end({ ...this.settle(key, made.value.text), isDegraded: false, usage });
      } catch (error) {
        logCaught(log, 'error', 'a digest of an output could not be kept', error);
      } finally {
        if (isWanted()) end({ ...this.settle(key, null), isDegraded: true, usage });
      }
    });
  }

  /** Whether a digest is made now: there is room for its material, and no outage to wait out. */
  private mayBegin(bytes: number): boolean {
    const { making, log } = this.ports;
    if (!making.hasRoom(bytes)) {
      log('warn', 'a digest of an output was not ordered: too much is in the making', {
        code: 'orders_full',
      });
      return false;
    }
    const health = this.tables.get('digest_health') ?? HEALTHY;
    if (isResting(health, this.tables.now())) return false;
    if (health.state === 'degraded') this.tables.set('digest_health', { ...health, state: 'recovering' });
    return true;
  }

  /** Keeps a verdict, unless there is one. @returns the one that stays */
  private settle(key: string, text: string | null): DigestVerdict {
    assertFits(text ?? '');
    const keeping = `INSERT OR IGNORE INTO ${TABLE} (digest_key, digest_text) VALUES (?, ?)`;
    this.table.change(keeping, key, text);
    return this.verdictOf(key) ?? { key, text: null };
  }

  /** Notes how writing has gone. Of several failures at once the first one counts. */
  private note(made: WrittenText['made']): void {
    const health = this.tables.get('digest_health') ?? HEALTHY;
    const now = this.tables.now();
    if (!made.ok && made.reason.isOutage && !isResting(health, now))
      this.tables.set('digest_health', afterFailure(health, now, TIME_LIMITS.summaryRestMs));
    else if (health.state === 'recovering' && made.ok) this.tables.set('digest_health', HEALTHY);
  }

  private verdictOf(key: string): DigestVerdict | undefined {
    return this.find([key])[0] ?? undefined;
  }
}

/** The answer for a conversation that was deleted meanwhile. */
export function unmade({ key }: Pick<DigestVerdict, 'key'>): DigestAnswer {
  return { key, text: null, isDegraded: false, usage: null };
}

function faultOf({ error: code, cause }: Failure): LogFields {
  return { code, ...(cause === undefined ? {} : { error: cause }) };
}
