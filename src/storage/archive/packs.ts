/** Encrypted packs of archived messages in R2, under `{tenant}/archive_…`. */
import { createHash } from 'node:crypto';
import { isFault, type Log } from '../../log.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../bucket.ts';

/** One tenant's packs. All methods but `nameOf` throw StoreError if R2 fails. */
export class ArchivePacks {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
  }

  /**
   * The beginning of a pack's name. It includes the conversation, so that conversations share no
   * packs and each can be deleted with its own.
   */
  nameOf(conversation: string, plain: Uint8Array): string {
    const digest = createHash('sha256').update(plain).digest('hex');
    return `archive_${this.tenant.seal(`archive:${digest}:${conversation}`)}`;
  }

  /** Writes a pack, unless it exists. */
  async put(name: string, plain: Uint8Array<ArrayBuffer>, log: Log): Promise<void> {
    await this.bucket.create(name, await sealBytes(this.tenant, 'archive', name, plain), log);
  }

  /** A pack's plaintext; undefined if it does not exist, and an error if it does not decrypt. */
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
