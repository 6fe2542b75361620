/** Packs of archived messages in R2, encrypted, under `{tenant}/archive_…`. */
import { createHash } from 'node:crypto';
import { openBytes, sealBytes } from './envelope.ts';
import type { Tenant } from './tenant.ts';

/** A pack is written once: R2 creates it only if there is none. */
const IF_ABSENT: R2PutOptions = { onlyIf: { etagDoesNotMatch: '*' } };

/** R2 deletes at most so many keys in one call. */
const BATCH = 1000;

/** One tenant's packs. Every method but `nameOf` throws when R2 fails. */
export class ArchivePacks {
  private readonly bucket: R2Bucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = bucket;
    this.tenant = tenant;
  }

  /** The conversation is part of the name, so no other one has the pack, and it can go with its conversation. */
  nameOf(conversation: string, plain: Uint8Array): string {
    const digest = createHash('sha256').update(plain).digest('hex');
    return `archive_${this.tenant.seal(`archive:${digest}:${conversation}`)}`;
  }

  /** Writes a pack, unless it is there already. */
  async put(name: string, plain: Uint8Array<ArrayBuffer>): Promise<void> {
    const envelope = await sealBytes(this.tenant, 'archive', name, plain);
    try {
      await this.bucket.put(this.key(name), envelope, IF_ABSENT);
    } catch (error) {
      // R2 takes one write per second and key: another request may just have written the same pack.
      if ((await this.bucket.head(this.key(name))) === null) throw error;
    }
  }

  /** A pack's plaintext; undefined when there is none. */
  async get(name: string): Promise<Uint8Array | undefined> {
    const object = await this.bucket.get(this.key(name));
    if (!object) return undefined;
    return new Uint8Array(await openBytes(this.tenant, 'archive', name, await object.arrayBuffer()));
  }

  async delete(names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += BATCH)
      await this.bucket.delete(names.slice(start, start + BATCH).map((name) => this.key(name)));
  }

  private key(name: string): string {
    return `${this.tenant.id}/${name}`;
  }
}
