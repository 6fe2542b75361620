/** One tenant's encrypted objects of one purpose in R2. */
import type { Log } from '../log.ts';
import { type EnvelopePurpose, sealBytes, tryOpen } from '../tenant/envelope.ts';
import type { Tenant } from '../tenant/identity.ts';
import { TenantBucket } from './bucket.ts';

/** All methods throw StoreError if R2 fails. */
export class SealedBucket {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;
  private readonly purpose: EnvelopePurpose;
  private readonly beginning: string;

  /** @param beginning of the names of all objects */
  constructor(bucket: R2Bucket, tenant: Tenant, purpose: EnvelopePurpose, beginning = '') {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
    this.purpose = purpose;
    this.beginning = beginning;
  }

  /** Writes an object, unless it exists. */
  async put(key: string, plain: Uint8Array<ArrayBuffer>, log: Log): Promise<void> {
    const name = this.beginning + key;
    await this.bucket.create(name, await sealBytes(this.tenant, this.purpose, name, plain), log);
  }

  /** Its plaintext; undefined if it does not exist, and an error if it does not decrypt. */
  async get(key: string): Promise<Uint8Array<ArrayBuffer> | Error | undefined> {
    const name = this.beginning + key;
    const object = await this.bucket.get(name);
    return object && tryOpen(this.tenant, this.purpose, name, object.bytes);
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.bucket.delete(keys.map((key) => this.beginning + key));
  }
}
