/**
 * The messages of kept rounds, encrypted in R2, under `{tenant}/rounds_{conversation}_{id}`. The
 * conversation is in the name as a hash, so that a deletion finds all that were ever written for
 * it, also those that no row names.
 */
import { isFault, type Log } from '../../log.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../tenant/bucket.ts';

/** How the names of a conversation's rounds begin. @param conversation see `conversationName` */
export function roundsOf(conversation: string): string {
  return `rounds_${sha256Hex(conversation)}_`;
}

/** Those of one conversation. All methods but `newName` throw StoreError if R2 fails. */
export class RoundMessages {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;
  private readonly beginning: string;

  /** @param conversation see `conversationName` */
  constructor(bucket: R2Bucket, tenant: Tenant, conversation: string) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
    this.beginning = roundsOf(conversation);
  }

  newName(): string {
    return this.beginning + crypto.randomUUID();
  }

  /** @param json of the messages, separated by commas */
  async put(name: string, json: string, log: Log): Promise<void> {
    const plain = new Uint8Array(new TextEncoder().encode(json));
    await this.bucket.create(name, await sealBytes(this.tenant, 'rounds', name, plain), log);
  }

  /** Undefined if they don't exist, and an error if they don't decrypt. */
  async get(name: string): Promise<string | Error | undefined> {
    const object = await this.bucket.get(name);
    if (!object) return undefined;
    try {
      return new TextDecoder().decode(await openBytes(this.tenant, 'rounds', name, object.bytes));
    } catch (error) {
      if (!(error instanceof Error) || isFault(error)) throw error;
      return error;
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    await this.bucket.delete(names);
  }
}
