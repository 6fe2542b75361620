/** What this isolate knows to be stored. */
import { Lru, TenantLru } from '../../lib/lru.ts';

/** How long an isolate trusts what it saw written, in milliseconds. */
const TRUST_MS = 5 * 60_000;

/** About 20 000 refs; fewer if uses have long conversation names. */
const REMEMBERED = { bytes: 4 * 1024 * 1024 };

/** Tenants whose refs were all forgotten at once. */
const REMEMBERED_TENANTS = { bytes: 256 * 1024 };

/**
 * What this isolate knows to be stored, by tenant: refs, manifests, uses. Deletions by other
 * isolates are noticed when the trust expires.
 */
export class KnownRefs {
  private readonly knownAt = new TenantLru<number>(REMEMBERED);
  private readonly forgotten = new Lru<number>(REMEMBERED_TENANTS);
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  has(tenant: string, ref: string): boolean {
    const at = this.knownAt.of(tenant).get(ref);
    if (at === undefined || this.now() - at >= TRUST_MS) return false;
    return at > (this.forgotten.get(tenant) ?? Number.NEGATIVE_INFINITY);
  }

  add(tenant: string, ref: string): void {
    this.knownAt.of(tenant).set(ref, this.now());
  }

  delete(tenant: string, ref: string): void {
    this.knownAt.of(tenant).delete(ref);
  }

  /** Forgets everything of a tenant. */
  forget(tenant: string): void {
    this.forgotten.set(tenant, this.now());
  }
}
