/** All tenants of a deployment, in the order of their ids. */
import { storing } from '../../lib/store-error.ts';
import { isTenantId } from '../../tenant/identity.ts';
import type { ObjectCaller, RegisterStub } from '../objects.ts';

/** Keys of no tenant between two tenants: the cursor of the sweep, and a look at the bucket. */
const MOST_LOOKS = 8;

interface TenantSources {
  readonly bucket: R2Bucket;
  readonly register: ObjectCaller<RegisterStub>;
  /** Ids of those that the configuration names. */
  readonly named: readonly string[];
}

/**
 * The next tenant; null after the last. Takes two calls of storage, seldom more.
 *
 * @param after the id before it; empty at the beginning
 * @throws StoreError
 */
export async function tenantAfter(
  after: string,
  { bucket, register, named }: TenantSources,
): Promise<string | null> {
  const [stored, seen] = await Promise.all([
    inBucket(bucket, after),
    register((stub) => stub.callers.seen(after, 1)),
  ]);
  const all = [stored ?? '', seen[0]?.tenant ?? '', ...named].filter((id) => id > after);
  return all.sort()[0] ?? null;
}

async function inBucket(bucket: R2Bucket, after: string): Promise<string | null> {
  // `0` follows `/`, so this begins after all objects of the tenant before.
  let start = after === '' ? '' : `${after}0`;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const { objects } = await storing(() =>
      bucket.list({ limit: 1, ...(start === '' ? {} : { startAfter: start }) }),
    );
    const key = objects[0]?.key;
    if (key === undefined) return null;
    const [id = ''] = key.split('/', 1);
    if (key.includes('/') && isTenantId(id)) return id;
    start = key.includes('/') ? `${id}0` : key;
  }
  return null;
}
