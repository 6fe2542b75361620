/**
 * Objects of a conversation in R2, encrypted, under `{tenant}/{kind}_{conversation}_{key}`. The
 * conversation is in the name as a hash, so that a deletion finds all that were ever written for
 * it, also objects that no row names now.
 */
import { isFault, type Log } from '../../log.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { TenantBucket } from '../bucket.ts';

/** Messages of kept rounds, each by an id; views that versions up to 0.9 have captured. */
export const OBJECT_KINDS = ['capture', 'rounds'] as const;

type ObjectKind = (typeof OBJECT_KINDS)[number];
const KIND = 'rounds' satisfies ObjectKind;

/**
 * How the names of a conversation's objects begin.
 *
 * @param conversation see `conversationName`
 */
export function objectsOf(kind: ObjectKind, conversation: string): string {
  return `${kind}_${sha256Hex(conversation)}_`;
}

/** One conversation's kept rounds. All methods throw StoreError if R2 fails. */
export class SealedObjects {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;
  private readonly beginning: string;

  /** @param conversation see `conversationName` */
  constructor(bucket: R2Bucket, tenant: Tenant, conversation: string) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
    this.beginning = objectsOf(KIND, conversation);
  }

  async put(key: string, plain: Uint8Array<ArrayBuffer>, log: Log): Promise<void> {
    const name = this.beginning + key;
    await this.bucket.create(name, await sealBytes(this.tenant, KIND, name, plain), log);
  }

  /** Undefined if it does not exist, and an error if it does not decrypt. */
  async get(key: string): Promise<Uint8Array<ArrayBuffer> | Error | undefined> {
    const name = this.beginning + key;
    const object = await this.bucket.get(name);
    if (!object) return undefined;
    try {
      return new Uint8Array(await openBytes(this.tenant, KIND, name, object.bytes));
    } catch (error) {
      if (!(error instanceof Error) || isFault(error)) throw error;
      return error;
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.bucket.delete(keys.map((key) => this.beginning + key));
  }
}
