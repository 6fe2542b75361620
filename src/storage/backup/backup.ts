/**
 * Makes a backup, a few records per call: `records.ts` has their form, `walk.ts` their order. What
 * the next call needs is sealed in the last record of each (`N`).
 */
import * as z from 'zod';
import { VERSION } from '../../lib/version.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { conversationName } from '../conversation/names.ts';
import { FORMAT } from './contents.ts';
import { chainAfter, NO_CHAIN, openRecord, recordsIn, sealRecord } from './records.ts';
import { FIRST_PLACE, type NewRecord, TenantWalk, type WalkPlace, type WalkPorts } from './walk.ts';

/**
 * A call ends after this many calls of storage, or this many bytes: an invocation may make 50
 * subrequests (https://developers.cloudflare.com/workers/platform/limits/), and a step takes at
 * most eleven.
 */
const MOST_CALLS = 36;
const MOST_BYTES = 4 * 1024 * 1024;

/** What is saved: one caller's tenants by their ids, or all; null. */
type BackupScope = readonly string[] | null;

/** The one conversation that is saved of a caller. */
interface SavedOne {
  readonly id: string;
  readonly user?: string | undefined;
}

const progress = z.object({
  backup: z.string(),
  scope: z.array(z.string()).nullable(),
  one: z.object({ id: z.string(), user: z.string().optional() }).nullable().default(null),
  chain: z.string(),
  records: z.number(),
  tenants: z.number(),
  /** The tenant that is saved, or the one before the next. */
  tenant: z.string(),
  place: z.custom<WalkPlace>().nullable(),
});

type Progress = z.output<typeof progress>;

interface BackupPorts extends Omit<WalkPorts, 'backup'> {
  readonly deployment: Tenant;
  /** The next tenant in the order of the ids; null after the last. */
  nextTenant(after: string): Promise<string | null>;
}

/** Where a backup goes on. */
export type BackupBeginning =
  | { readonly scope: BackupScope; readonly one?: SavedOne | null }
  | { readonly next: Uint8Array<ArrayBuffer> };

/**
 * The next records of a backup, `N` or `E` last.
 *
 * @returns null if the record to go on from is none of this deployment
 * @throws StoreError
 */
export async function backUp(
  beginning: BackupBeginning,
  ports: BackupPorts,
): Promise<Uint8Array<ArrayBuffer>[] | null> {
  if ('next' in beginning) {
    const known = await progressIn(beginning.next, ports.deployment);
    return known && new Backup(ports, known).go();
  }
  const begun = new Backup(ports, {
    backup: crypto.randomUUID(),
    scope: beginning.scope && [...beginning.scope].sort(),
    one: beginning.one ?? null,
    chain: NO_CHAIN,
    records: 0,
    tenants: 0,
    tenant: '',
    place: null,
  });
  await begun.begin();
  return begun.go();
}

class Backup {
  private readonly ports: BackupPorts;
  private state: Progress;
  private readonly made: Uint8Array<ArrayBuffer>[] = [];
  private bytes = 0;

  constructor(ports: BackupPorts, state: Progress) {
    this.ports = ports;
    this.state = state;
  }

  async begin(): Promise<void> {
    const { backup } = this.state;
    await this.add('H', {
      content: { type: 'head', format: FORMAT, backup, version: VERSION, at: this.ports.now() },
    });
  }

  async go(): Promise<Uint8Array<ArrayBuffer>[]> {
    for (let calls = 0; calls < MOST_CALLS && this.bytes < MOST_BYTES; ) {
      const { tenant, place, one } = this.state;
      if (place === null) {
        const next = await this.nextTenant(tenant);
        calls += 2;
        if (next === null) return this.end();
        this.state = { ...this.state, tenant: next, place: FIRST_PLACE, tenants: this.state.tenants + 1 };
        continue;
      }
      const only = one && conversationName(tenant, one.user, { id: one.id });
      const walk = new TenantWalk({ ...this.ports, backup: this.state.backup }, tenant, only);
      const step = await walk.step(place);
      calls += step.calls;
      for (const record of step.records) await this.add('R', record);
      this.state = { ...this.state, place: step.next };
    }
    return [...this.made, await sealRecord(this.ports.deployment, 'N', NO_CHAIN, this.state)];
  }

  private async end(): Promise<Uint8Array<ArrayBuffer>[]> {
    const { tenants, records } = this.state;
    await this.add('E', { content: { type: 'end', at: this.ports.now(), tenants, records } });
    return this.made;
  }

  private async add(kind: 'H' | 'R' | 'E', { content, attachment }: NewRecord): Promise<void> {
    const record = await sealRecord(this.ports.deployment, kind, this.state.chain, content, attachment);
    const { chain, records } = this.state;
    this.state = { ...this.state, chain: chainAfter(chain, record), records: records + 1 };
    this.made.push(record);
    this.bytes += record.length;
  }

  private async nextTenant(after: string): Promise<string | null> {
    const { scope } = this.state;
    return scope ? (scope.find((id) => id > after) ?? null) : this.ports.nextTenant(after);
  }
}

async function progressIn(next: Uint8Array<ArrayBuffer>, deployment: Tenant): Promise<Progress | null> {
  const [record, more] = recordsIn(next) ?? [];
  if (record?.kind !== 'N' || more) return null;
  const read = progress.safeParse(await openRecord(deployment, record, NO_CHAIN));
  return read.success ? read.data : null;
}
