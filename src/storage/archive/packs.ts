/** Packs of archived messages in R2, encrypted, under `{tenant}/archive_…`. */
import { createHash } from 'node:crypto';
import { isFault } from '../../log.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../tenant/bucket.ts';

/** One tenant's packs. Every method but `nameOf` throws when R2 fails. */
export class ArchivePacks {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
  }

  /**
   * The beginning of a pack's name. The conversation is part of it, so no other one has the pack,
   * and it can go with its conversation.
   */
  nameOf(conversation: string, plain: Uint8Array): string {
    const digest = createHash('sha256').update(plain).digest('hex');
    return `archive_${this.tenant.seal(`archive:${digest}:${conversation}`)}`;
  }

  /** Writes a pack, unless it is there already. */
  async put(name: string, plain: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.bucket.create(name, await sealBytes(this.tenant, 'archive', name, plain));
  }

  /**
   * A pack's plaintext; undefined when there is none, and an error when there is one that does not
   * open.
   */
  async get(name: string): Promise<Uint8Array | Error | undefined> {
    const pack = await this.bucket.get(name);
    if (!pack) return undefined;
    try {
      return new Uint8Array(await openBytes(this.tenant, 'archive', name, pack.bytes));
    } catch (error) {
      if (!(error instanceof Error) || isFault(error)) throw error;
      return error;
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    await this.bucket.delete(names);
  }
}
