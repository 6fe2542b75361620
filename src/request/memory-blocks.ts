/**
 * The memory blocks of one tenant (docs/memory-blocks.md), also those under the earlier secret: a
 * block that is only there is read from there, and goes on under the current one when it changes.
 */
import type { BlockEdit } from '../memory/strategy/memory-blocks.ts';
import type {
  Changed,
  Deleted,
  ExpectedVersion,
  FoundBlock,
  ListedBlock,
  StoredBlock,
} from '../storage/tenant/blocks.ts';
import { readFromEither, type Tenant, tenantsOf } from '../tenant/identity.ts';
import type { Services } from './services.ts';

/** All methods throw StoreError if storage fails. */
export class TenantBlocks {
  private readonly tenant: Tenant;
  private readonly services: Pick<Services, 'tenant'>;

  constructor(tenant: Tenant, services: Pick<Services, 'tenant'>) {
    this.tenant = tenant;
    this.services = services;
  }

  /** All blocks, by label. */
  async list(): Promise<readonly ListedBlock[]> {
    const lists = await Promise.all(
      tenantsOf(this.tenant).map(({ id }) => this.services.tenant(id)((stub) => stub.blocks.list())),
    );
    const byLabel = new Map(lists.toReversed().flatMap((list) => list.map((block) => [block.label, block])));
    return [...byLabel.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
  }

  /** The blocks of these labels that exist. */
  async read(labels: readonly string[]): Promise<readonly StoredBlock[]> {
    const readFrom = ({ id }: Tenant, some: readonly string[]) =>
      this.services.tenant(id)((stub) => stub.blocks.read(some));
    const blocks = await readFrom(this.tenant, labels);
    const { previous } = this.tenant;
    const missing = labels.filter((label) => !blocks.some((block) => block.label === label));
    if (!previous || missing.length === 0) return blocks;
    return [...blocks, ...(await readFrom(previous, missing))];
  }

  /** A version of a block, by default the newest one. */
  find(label: string, version: number | undefined): Promise<FoundBlock | null> {
    return readFromEither(this.tenant, ({ id }) =>
      this.services.tenant(id)((stub) => stub.blocks.find(label, version ?? null)),
    );
  }

  async change(label: string, edit: BlockEdit, expected?: ExpectedVersion): Promise<Changed> {
    const { previous } = this.tenant;
    const earlier =
      previous && (await this.services.tenant(previous.id)((stub) => stub.blocks.read([label])));
    const change = { label, edit, expected, id: crypto.randomUUID(), earlier: earlier?.[0] ?? null };
    return this.services.tenant(this.tenant.id)((stub) => stub.blocks.change(change));
  }

  async delete(label: string, expected?: ExpectedVersion): Promise<Deleted> {
    const deleteFrom = ({ id }: Tenant, version: ExpectedVersion) =>
      this.services.tenant(id)((stub) => stub.blocks.delete(label, version));
    const { previous } = this.tenant;
    const deleted = await deleteFrom(this.tenant, expected);
    // The earlier one shows only where there is no current one.
    if (!previous || (deleted.state === 'stale' && deleted.version > 0)) return deleted;
    if (deleted.state !== 'deleted') return deleteFrom(previous, expected);
    await deleteFrom(previous, undefined);
    return deleted;
  }
}
