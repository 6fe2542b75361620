/** Refs in R2: removed contents, encrypted, under `{tenant}/{ref}`. See `storage-schema.md` for every key. */
import { type Metadata, type Opened, openEnvelope, sealEnvelope } from './envelope.ts';
import type { Tenant } from './tenant.ts';

/** A content to be kept. */
export interface StoredContent {
  readonly ref: string;
  /** Read only when the content is written. */
  readonly metadata: () => Metadata;
  readonly text: () => string;
}

export interface ListedRef {
  readonly ref: string;
  /** Length of the stored object in bytes, encryption and metadata included. */
  readonly storedBytes: number;
  readonly created: Date;
}

/** R2 creates an object only if there is none: a ref is written once (https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#conditional-operations). */
const IF_ABSENT: R2PutOptions = { onlyIf: { etagDoesNotMatch: '*' } };

/** R2 deletes at most so many keys in one call, and lists as many. */
const BATCH = 1000;

const encoder = new TextEncoder();

/** One tenant's refs. Every method throws when R2 fails. */
export class RefStore {
  private readonly bucket: R2Bucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = bucket;
    this.tenant = tenant;
  }

  /** Writes a content, unless it is there already. When this returns the ref can be fetched. */
  async put({ ref, metadata, text }: StoredContent): Promise<void> {
    const envelope = await sealEnvelope(this.tenant, ref, metadata(), encoder.encode(text()));
    try {
      await this.bucket.put(this.key(ref), envelope, IF_ABSENT);
    } catch (error) {
      // R2 takes one write per second and key: another request may just have written the same content.
      if (!(await this.has(ref))) throw error;
    }
  }

  /** Whether an object is there, a ref or a manifest. */
  async has(name: string): Promise<boolean> {
    return (await this.bucket.head(this.key(name))) !== null;
  }

  /** The content; undefined when there is none under this ref. */
  async get(ref: string): Promise<Opened | undefined> {
    const object = await this.bucket.get(this.key(ref));
    return object ? openEnvelope(this.tenant, ref, await object.arrayBuffer()) : undefined;
  }

  /**
   * Deletes a content.
   *
   * The tenant's manifests go first, since one of them may say that this ref is written, and again afterwards, since another request
   * may have written one meanwhile.
   *
   * @returns false when there was none under this ref
   */
  async delete(ref: string): Promise<boolean> {
    if (!(await this.has(ref))) return false;
    await this.deleteManifests();
    await this.bucket.delete(this.key(ref));
    await this.deleteManifests();
    return true;
  }

  /** Deletes transcripts, of which no manifest tells. */
  async deleteTranscripts(refs: readonly string[]): Promise<void> {
    for (let start = 0; start < refs.length; start += BATCH)
      await this.bucket.delete(refs.slice(start, start + BATCH).map((ref) => this.key(ref)));
  }

  /** Refs in the order of their keys. @param after the last ref of the page before */
  async list(limit: number, after: string | undefined): Promise<{ refs: ListedRef[]; more: boolean }> {
    const listed = await this.bucket.list({
      prefix: this.key('ref_'),
      limit,
      ...(after === undefined ? {} : { startAfter: this.key(after) }),
    });
    const refs = listed.objects.map((object) => ({
      ref: object.key.slice(this.tenant.id.length + 1),
      storedBytes: object.size,
      created: object.uploaded,
    }));
    return { refs, more: listed.truncated };
  }

  /** The name of the object whose being there says that all of these refs are written. */
  manifestOf(refs: readonly string[]): string {
    return `manifest_${this.tenant.seal(refs.join(' '))}`;
  }

  async putManifest(manifest: string): Promise<void> {
    await this.bucket.put(this.key(manifest), '', IF_ABSENT);
  }

  private async deleteManifests(): Promise<void> {
    const prefix = this.key('manifest_');
    for (;;) {
      const { objects, truncated } = await this.bucket.list({ prefix, limit: BATCH });
      if (objects.length > 0) await this.bucket.delete(objects.map((object) => object.key));
      if (!truncated) return;
    }
  }

  private key(name: string): string {
    return `${this.tenant.id}/${name}`;
  }
}
