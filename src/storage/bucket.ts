/** One tenant's part of the bucket: every key is `{tenant}/{name}`. */
import { storing } from '../lib/store-error.ts';
import { type Log, logCaught } from '../log.ts';
import type { Tenant } from '../tenant/identity.ts';

/**
 * Creates an object only if there is none
 * (https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#conditional-operations).
 */
const IF_ABSENT: R2PutOptions = { onlyIf: { etagDoesNotMatch: '*' } };

/** R2's maximum of keys per deletion and per listing. */
const BATCH = 1000;

interface ListedName {
  readonly name: string;
  readonly size: number;
  readonly uploaded: Date;
  /** Empty unless the listing asks for it. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Times are in milliseconds since the epoch. */
interface Looked {
  readonly uploaded: number;
  readonly metadata: Readonly<Record<string, string>>;
}

interface ObjectCopy extends Looked {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
}

/** All methods throw StoreError if R2 fails. */
export class TenantBucket {
  private readonly bucket: R2Bucket;
  private readonly prefix: string;

  constructor(bucket: R2Bucket, tenant: Pick<Tenant, 'id'>) {
    this.bucket = bucket;
    this.prefix = `${tenant.id}/`;
  }

  /** Writes an object, unless one of that name exists. @returns false if it existed */
  async create(
    name: string,
    content: Uint8Array,
    log: Log,
    customMetadata: Record<string, string> = {},
  ): Promise<boolean> {
    const options = { ...IF_ABSENT, customMetadata };
    try {
      return (await storing(() => this.bucket.put(this.key(name), content, options))) !== null;
    } catch (error) {
      // R2 allows one write per second and key: another request may just have written the same
      // content.
      if (!(await this.look(name))) throw error;
      logCaught(log, 'debug', 'an object was there before it could be written', error);
      return false;
    }
  }

  /** Writes an object that only has metadata, replacing any existing one. */
  async note(name: string, metadata: Record<string, string>): Promise<void> {
    await storing(() => this.bucket.put(this.key(name), '', { customMetadata: metadata }));
  }

  /** When an object was uploaded, and its metadata; undefined if it does not exist. */
  async look(name: string): Promise<Looked | undefined> {
    const head = await storing(() => this.bucket.head(this.key(name)));
    return head ? { uploaded: head.uploaded.getTime(), metadata: head.customMetadata ?? {} } : undefined;
  }

  /**
   * An object's bytes and upload time; undefined if it does not exist.
   *
   * @param admit called with the number of its bytes before they are read
   */
  async get(
    name: string,
    admit?: (bytes: number) => Promise<void>,
  ): Promise<{ bytes: ArrayBuffer; uploaded: number } | undefined> {
    return storing(async () => {
      const object = await this.bucket.get(this.key(name));
      if (!object) return undefined;
      await admit?.(object.size);
      return { bytes: await object.arrayBuffer(), uploaded: object.uploaded.getTime() };
    });
  }

  /**
   * An object as a backup has it; undefined if it does not exist.
   *
   * @param most if it has more bytes than this, it is not read, and has no bytes here
   */
  async copy(name: string, most: number): Promise<ObjectCopy | undefined> {
    return storing(async () => {
      const object = await this.bucket.get(this.key(name));
      if (!object) return undefined;
      const isRead = object.size <= most;
      if (!isRead) await object.body.cancel();
      return {
        name,
        bytes: isRead ? new Uint8Array(await object.arrayBuffer()) : undefined,
        uploaded: object.uploaded.getTime(),
        metadata: object.customMetadata ?? {},
      };
    });
  }

  /**
   * Writes an object again if it is due, so that its age starts over.
   *
   * @param isDue decides by the upload time
   * @returns the upload time of the present object; undefined if there is none
   */
  async renew(name: string, isDue: (uploaded: number) => boolean): Promise<number | undefined> {
    return storing(async () => {
      const object = await this.bucket.get(this.key(name));
      if (!object) return undefined;
      const uploaded = object.uploaded.getTime();
      if (!isDue(uploaded)) {
        await object.body.cancel();
        return uploaded;
      }
      // Don't restore an object that was deleted meanwhile.
      const options = { onlyIf: { etagMatches: object.etag }, customMetadata: object.customMetadata ?? {} };
      const written = await this.bucket.put(this.key(name), await object.arrayBuffer(), options);
      return written?.uploaded.getTime();
    });
  }

  async delete(names: readonly string[]): Promise<void> {
    const keys = names.map((name) => this.key(name));
    for (let start = 0; start < keys.length; start += BATCH)
      await storing(() => this.bucket.delete(keys.slice(start, start + BATCH)));
  }

  /** Deletes all objects with a prefix. */
  async deleteAll(beginning: string): Promise<void> {
    for (;;) {
      const { objects, more } = await this.list(beginning, BATCH);
      await this.delete(objects.map(({ name }) => name));
      if (!more) return;
    }
  }

  /**
   * A page of a listing: objects by name, in key order.
   *
   * @param beginning of the names
   * @param after the last name of the page before; empty: from the first
   */
  async list(
    beginning: string,
    limit: number,
    after = '',
    withMetadata = false,
  ): Promise<{ readonly objects: readonly ListedName[]; readonly more: boolean }> {
    const objects: ListedName[] = [];
    for (let start = after; ; start = objects.at(-1)?.name ?? after) {
      const listed = await storing(() =>
        this.bucket.list({
          prefix: this.key(beginning),
          limit: limit - objects.length,
          ...(start === '' ? {} : { startAfter: this.key(start) }),
          ...(withMetadata ? { include: ['customMetadata'] } : {}),
        }),
      );
      for (const { key, size, uploaded, customMetadata = {} } of listed.objects)
        objects.push({ name: key.slice(this.prefix.length), size, uploaded, metadata: customMetadata });
      // With metadata R2 may return fewer than it could
      // (https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions).
      if (!listed.truncated || objects.length >= limit || listed.objects.length === 0)
        return { objects, more: listed.truncated };
    }
  }

  private key(name: string): string {
    return this.prefix + name;
  }
}
