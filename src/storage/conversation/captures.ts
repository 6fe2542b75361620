/**
 * Views that were captured, encrypted in R2, under `{tenant}/capture_{conversation}_{request}`. The
 * conversation is in the name as a hash, so that a deletion finds all that were ever written for
 * it, also those whose event is lost.
 */
import { isFault, type Log } from '../../log.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../tenant/bucket.ts';

/** How the names of a conversation's captures begin. @param conversation see `conversationName` */
export function capturesOf(conversation: string): string {
  return `capture_${sha256Hex(conversation)}_`;
}

/** One conversation's captures. All methods throw StoreError if R2 fails. */
export class Captures {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;
  private readonly beginning: string;

  /** @param conversation see `conversationName` */
  constructor(bucket: R2Bucket, tenant: Tenant, conversation: string) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
    this.beginning = capturesOf(conversation);
  }

  /** @param key of the request's event */
  async put(key: string, view: Uint8Array<ArrayBuffer>, log: Log): Promise<void> {
    const name = this.beginning + key;
    await this.bucket.create(name, await sealBytes(this.tenant, 'capture', name, view), log);
  }

  /** Undefined if it does not exist, and an error if it does not decrypt. */
  async get(key: string): Promise<Uint8Array<ArrayBuffer> | Error | undefined> {
    const name = this.beginning + key;
    const object = await this.bucket.get(name);
    if (!object) return undefined;
    try {
      return new Uint8Array(await openBytes(this.tenant, 'capture', name, object.bytes));
    } catch (error) {
      if (!(error instanceof Error) || isFault(error)) throw error;
      return error;
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.bucket.delete(keys.map((key) => this.beginning + key));
  }
}
