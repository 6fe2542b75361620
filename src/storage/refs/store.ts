/**
 * Refs in R2: encrypted contents that were removed, under `{tenant}/{ref}`. See `storage-schema.md`
 * for every key.
 */
import { storing } from '../../lib/store-error.ts';
import { type Log, logged } from '../../log.ts';
import {
  type Metadata,
  type Opened,
  openEnvelope,
  openMetadata,
  sealEnvelope,
  sealMetadata,
} from '../../tenant/envelope.ts';
import { type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { TenantBucket } from '../bucket.ts';

export interface StoredContent {
  readonly ref: string;
  /** Read only when the content is written. */
  readonly metadata: () => Metadata;
  readonly text: () => string;
}

interface ListedRef {
  readonly ref: string;
  /** Length of the stored object in bytes, with encryption and metadata. */
  readonly storedBytes: number;
  readonly uploaded: Date;
  /** Undefined if the object has none, or a damaged one. */
  readonly metadata: Metadata | undefined;
}

interface Fetched extends Opened {
  /** In milliseconds. */
  readonly uploaded: number;
}

/** Prefixes of the names of manifests and refs. */
const MANIFEST = 'manifest_';
const REF = 'ref_';

/** The name of a ref's sealed metadata in the name of its object. */
const METADATA = 'facts';

export const isManifest = (name: string): boolean => name.startsWith(MANIFEST);
export const isRef = (name: string): boolean => name.startsWith(REF);

export const deleteManifests = (bucket: TenantBucket): Promise<void> => bucket.deleteAll(MANIFEST);

const encoder = new TextEncoder();

/** One tenant's refs. All methods throw StoreError if R2 fails. */
export class RefStore {
  private readonly bucket: TenantBucket;
  private readonly tenant: Tenant;

  constructor(bucket: R2Bucket, tenant: Tenant) {
    this.bucket = new TenantBucket(bucket, tenant);
    this.tenant = tenant;
  }

  /**
   * Writes a content, unless it exists. When this returns, the ref can be fetched.
   *
   * @returns whether it existed
   */
  async put({ ref, metadata, text }: StoredContent, log: Log): Promise<boolean> {
    const facts = metadata();
    const [envelope, sealed] = await Promise.all([
      sealEnvelope(this.tenant, ref, facts, encoder.encode(text())),
      sealMetadata(this.tenant, ref, facts),
    ]);
    return !(await this.bucket.create(ref, envelope, log, { [METADATA]: sealed }));
  }

  async has(ref: string): Promise<boolean> {
    return (await this.bucket.look(ref)) !== undefined;
  }

  /** When a content was uploaded, in milliseconds; undefined if it does not exist. */
  async uploaded(ref: string): Promise<number | undefined> {
    return (await this.bucket.look(ref))?.uploaded;
  }

  /**
   * The content and its upload time; undefined if it does not exist.
   *
   * @param admit called with the number of its bytes before they are read
   * @throws StoreError if it is damaged
   */
  async get(ref: string, admit?: (bytes: number) => Promise<void>): Promise<Fetched | undefined> {
    const object = await this.bucket.get(ref, admit);
    if (!object) return undefined;
    const opened = await storing(() => openEnvelope(this.tenant, ref, object.bytes));
    return { ...opened, uploaded: object.uploaded };
  }

  /** See `TenantBucket`. */
  renew(ref: string, isDue: (uploaded: number) => boolean): Promise<number | undefined> {
    return this.bucket.renew(ref, isDue);
  }

  /**
   * Deletes contents. Manifests that vouch for them are deleted before, and again afterwards, since
   * another request may have written one meanwhile.
   */
  async delete(refs: readonly string[]): Promise<void> {
    if (refs.length === 0) return;
    await deleteManifests(this.bucket);
    await this.bucket.delete(refs);
    await deleteManifests(this.bucket);
  }

  /** Refs in key order. @param after the last ref of the page before */
  async list(
    limit: number,
    after: string | undefined,
    log: Log,
  ): Promise<{ refs: ListedRef[]; more: boolean }> {
    const { objects, more } = await this.bucket.list(REF, limit, after, true);
    const refs = objects.map(async ({ name, size, uploaded, metadata }) => ({
      ref: name,
      storedBytes: size,
      uploaded,
      metadata: await this.metadataIn(metadata, name, log),
    }));
    return { refs: await Promise.all(refs), more };
  }

  /** The first refs, at most, that begin with a text. */
  async startingWith(start: string, most: number): Promise<string[]> {
    return (await this.bucket.list(start, most)).objects.map(({ name }) => name);
  }

  private async metadataIn(
    stored: Readonly<Record<string, string>>,
    ref: string,
    log: Log,
  ): Promise<Metadata | undefined> {
    const sealed = stored[METADATA];
    if (sealed === undefined) return undefined;
    return storing(() => openMetadata(this.tenant, ref, sealed)).catch(
      logged(log, 'warn', 'the metadata of a ref could not be read', undefined),
    );
  }

  /** The name of the manifest for these refs. If it exists, all of them are written. */
  manifestOf(refs: readonly string[]): string {
    return `${MANIFEST}${this.tenant.seal(refs.join(' '))}`;
  }

  /** @param oldest the earliest upload of its refs, in milliseconds */
  async putManifest(manifest: string, oldest: number): Promise<void> {
    await this.bucket.note(manifest, { oldest: String(oldest) });
  }

  /**
   * The earliest upload of a manifest's refs, in milliseconds; undefined if there is no such
   * manifest.
   */
  async oldestIn(manifest: string): Promise<number | undefined> {
    const looked = await this.bucket.look(manifest);
    return looked && Number(looked.metadata.oldest ?? 0);
  }
}

/** A caller's stores: its own, and the one under the earlier secret if there is one. */
export function storesOf(bucket: R2Bucket, tenant: Tenant): RefStore[] {
  return tenantsOf(tenant).map((tenant) => new RefStore(bucket, tenant));
}

/** The stores, of several, that hold a ref. @throws StoreError if R2 fails */
export async function storesWith(ref: string, stores: readonly RefStore[]): Promise<RefStore[]> {
  const isIn = await Promise.all(stores.map((store) => store.has(ref)));
  return stores.filter((_, index) => isIn[index]);
}
