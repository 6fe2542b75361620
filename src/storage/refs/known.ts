/** What this isolate knows to be stored. */
import { TrustedLru } from '../trusted.ts';

/** About 20 000 refs; fewer if uses have long conversation names. */
const REMEMBERED = { bytes: 4 * 1024 * 1024 };

/**
 * What this isolate knows to be stored, by owner (see `TrustedLru`): refs and manifests by tenant,
 * uses by conversation. Deletions by other isolates are noticed when the trust expires.
 */
export class KnownRefs {
  private readonly known: TrustedLru<true>;

  constructor(now: () => number = Date.now) {
    this.known = new TrustedLru(REMEMBERED, now);
  }

  has(tenant: string, ref: string): boolean {
    return this.seenAt(tenant, ref) !== undefined;
  }

  /** When it was last seen, in milliseconds since the epoch; undefined if it is not known. */
  seenAt(tenant: string, ref: string): number | undefined {
    return this.known.get(tenant, ref)?.at;
  }

  add(tenant: string, ref: string): void {
    this.known.set(tenant, ref, true);
  }

  delete(tenant: string, ref: string): void {
    this.known.delete(tenant, ref);
  }

  /** Forgets everything of a tenant. */
  forget(tenant: string): void {
    this.known.forget(tenant);
  }
}
