/** One tenant's part of the bucket: every key is `{tenant}/{name}`. */
import type { Tenant } from './tenant.ts';

/** R2 creates an object only if there is none (https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#conditional-operations). */
const IF_ABSENT: R2PutOptions = { onlyIf: { etagDoesNotMatch: '*' } };

/** R2 deletes at most so many keys in one call, and lists as many. */
const BATCH = 1000;

/** A page of a listing: objects by their names, in the order of their keys. */
export interface ListedNames {
  readonly objects: readonly { readonly name: string; readonly size: number; readonly uploaded: Date }[];
  readonly more: boolean;
}

/** Every method throws when R2 fails. */
export class TenantBucket {
  private readonly bucket: R2Bucket;
  private readonly prefix: string;

  constructor(bucket: R2Bucket, tenant: Pick<Tenant, 'id'>) {
    this.bucket = bucket;
    this.prefix = `${tenant.id}/`;
  }

  /** Writes an object, unless there is one of that name. */
  async create(name: string, content: Uint8Array | string): Promise<void> {
    try {
      await this.bucket.put(this.key(name), content, IF_ABSENT);
    } catch (error) {
      // R2 takes one write per second and key: another request may just have written the same content.
      if (!(await this.has(name))) throw error;
    }
  }

  async has(name: string): Promise<boolean> {
    return (await this.bucket.head(this.key(name))) !== null;
  }

  /** An object's bytes; undefined when there is none. */
  async get(name: string): Promise<ArrayBuffer | undefined> {
    const object = await this.bucket.get(this.key(name));
    return object?.arrayBuffer();
  }

  async delete(names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += BATCH)
      await this.bucket.delete(names.slice(start, start + BATCH).map((name) => this.key(name)));
  }

  /** Deletes all objects whose names begin like this. */
  async deleteAll(beginning: string): Promise<void> {
    for (;;) {
      const { objects, more } = await this.list(beginning, BATCH);
      await this.delete(objects.map(({ name }) => name));
      if (!more) return;
    }
  }

  /** @param beginning of the names @param after the last name of the page before */
  async list(beginning: string, limit: number, after?: string): Promise<ListedNames> {
    const listed = await this.bucket.list({
      prefix: this.key(beginning),
      limit,
      ...(after === undefined ? {} : { startAfter: this.key(after) }),
    });
    const objects = listed.objects.map(({ key, size, uploaded }) => ({
      name: key.slice(this.prefix.length),
      size,
      uploaded,
    }));
    return { objects, more: listed.truncated };
  }

  private key(name: string): string {
    return this.prefix + name;
  }
}
