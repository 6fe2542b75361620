/**
 * Keys that the upstream has accepted. A key's first write waits for that, so that invented keys
 * can't fill the bucket (docs/design.md#10-upstream-and-access). An answered request is proof;
 * without one the upstream is asked for its models.
 */
import { ExpiringLru } from '../lib/expiring-lru.ts';

/** How long an acceptance holds, in milliseconds (docs/design.md#10-upstream-and-access). */
const HOLDS_MS = 10 * 60_000;

/** How long a refusal holds, in milliseconds. It limits how often retries ask the upstream. */
const REFUSAL_HOLDS_MS = 30_000;

/** The only fact about a tenant. */
const VERDICT = '';

/** About 3 000 tenants. */
const REMEMBERED = { bytes: 1024 * 1024 };

/** The upstream's verdict on a key; `unknown` if it can't be asked, or does not say. */
export type Verdict = 'accepted' | 'refused' | 'unknown';

export class AcceptedKeys {
  private readonly verdicts: ExpiringLru<'accepted' | 'refused'>;

  constructor(now: () => number = Date.now) {
    this.verdicts = new ExpiringLru(REMEMBERED, now);
  }

  /** Notes that the upstream has answered this tenant. */
  accept(tenant: string): void {
    this.verdicts.set(tenant, VERDICT, 'accepted', HOLDS_MS);
  }

  /** Forgets that a tenant's key was accepted, so that the upstream is asked again. */
  doubt(tenant: string): void {
    if (this.known(tenant) === 'accepted') this.verdicts.forget(tenant);
  }

  /**
   * The upstream's verdict on a tenant's key.
   *
   * @param ask asks the upstream. It resolves to the verdict, and throws if there is none
   */
  async verdictOn(tenant: string, ask: () => Promise<boolean>): Promise<Verdict> {
    const known = this.known(tenant);
    if (known !== 'unknown') return known;
    try {
      const verdict = (await ask()) ? 'accepted' : 'refused';
      this.verdicts.set(tenant, VERDICT, verdict, verdict === 'accepted' ? HOLDS_MS : REFUSAL_HOLDS_MS);
      return verdict;
    } catch {
      return 'unknown';
    }
  }

  /** Whether the upstream accepts the tenant's key. @param ask as in `verdictOn` */
  async isAccepted(tenant: string, ask: () => Promise<boolean>): Promise<boolean> {
    return (await this.verdictOn(tenant, ask)) === 'accepted';
  }

  /** The latest verdict that still holds. */
  known(tenant: string): Verdict {
    return this.verdicts.get(tenant, VERDICT) ?? 'unknown';
  }
}
