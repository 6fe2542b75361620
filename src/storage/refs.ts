/** Refs in R2: removed contents, encrypted, under `{tenant}/{ref}`. See `storage-schema.md` for every key. */
import { type Metadata, type Opened, openEnvelope, sealEnvelope } from './envelope.ts';
import type { Tenant } from './tenant.ts';
import { TenantBucket } from './tenant-bucket.ts';

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

/** How the names of manifests begin. */
const MANIFEST = 'manifest_';

const encoder = new TextEncoder();

/** One tenant's refs. Every method throws when R2 fails. */
export class RefStore {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
  }

  /** Writes a content, unless it is there already. When this returns the ref can be fetched. */
  async put({ ref, metadata, text }: StoredContent): Promise<void> {
    const envelope = await sealEnvelope(this.tenant, ref, metadata(), encoder.encode(text()));
    await this.bucket.create(ref, envelope);
  }

  /** Whether an object is there, a ref or a manifest. */
  has(name: string): Promise<boolean> {
    return this.bucket.has(name);
  }

  /** The content; undefined when there is none under this ref. */
  async get(ref: string): Promise<Opened | undefined> {
    const envelope = await this.bucket.get(ref);
    return envelope && openEnvelope(this.tenant, ref, envelope);
  }

  /**
   * Deletes contents.
   *
   * The tenant's manifests go first, since one of them may say that these refs are written, and again afterwards, since another request
   * may have written one meanwhile.
   */
  async delete(refs: readonly string[]): Promise<void> {
    if (refs.length === 0) return;
    await this.bucket.deleteAll(MANIFEST);
    await this.bucket.delete(refs);
    await this.bucket.deleteAll(MANIFEST);
  }

  /** Refs in the order of their keys. @param after the last ref of the page before */
  async list(limit: number, after: string | undefined): Promise<{ refs: ListedRef[]; more: boolean }> {
    const { objects, more } = await this.bucket.list('ref_', limit, after);
    const refs = objects.map(({ name, size, uploaded }) => ({
      ref: name,
      storedBytes: size,
      created: uploaded,
    }));
    return { refs, more };
  }

  /** The name of the object whose being there says that all of these refs are written. */
  manifestOf(refs: readonly string[]): string {
    return `${MANIFEST}${this.tenant.seal(refs.join(' '))}`;
  }

  async putManifest(manifest: string): Promise<void> {
    await this.bucket.create(manifest, '');
  }
}
