/**
 * Keys that the upstream has accepted. A key's first write waits for that, so that invented keys
 * can't fill the bucket (docs/design.md#10-upstream-and-access). An answered request is proof;
 * without one the upstream is asked for its models.
 */
import { ExpiringLru } from '../lib/expiring-lru.ts';
import type { UpstreamApi } from './api.ts';

/** How long an acceptance holds, in milliseconds (docs/design.md#10-upstream-and-access). */
const HOLDS_MS = 10 * 60_000;

/** How long a refusal holds, in milliseconds. It limits how often retries ask the upstream. */
const REFUSAL_HOLDS_MS = 30_000;

/** The APIs that can be asked about a key. Each has a verdict of its own. */
type ApiName = UpstreamApi['name'];
const APIS: readonly ApiName[] = ['openai', 'anthropic'];

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
  accept(tenant: string, api: ApiName): void {
    this.verdicts.set(tenant, api, 'accepted', HOLDS_MS);
  }

  /** Forgets that an upstream has accepted a tenant's key, so that it is asked again. */
  doubt(tenant: string, api: ApiName): void {
    if (this.verdicts.get(tenant, api) === 'accepted') this.verdicts.set(tenant, api, 'accepted', 0);
  }

  /**
   * The verdict on a tenant's key.
   *
   * @param api the one that the request speaks, whose upstream is asked
   * @param ask asks the upstream. It resolves to the verdict, and throws if there is none
   */
  async verdictOn(tenant: string, api: ApiName, ask: () => Promise<boolean>): Promise<Verdict> {
    const known = this.known(tenant, api);
    if (known !== 'unknown') return known;
    try {
      const verdict = (await ask()) ? 'accepted' : 'refused';
      this.verdicts.set(tenant, api, verdict, verdict === 'accepted' ? HOLDS_MS : REFUSAL_HOLDS_MS);
      return verdict;
    } catch {
      return 'unknown';
    }
  }

  /** Whether the upstream accepts the tenant's key. @param ask as in `verdictOn` */
  async isAccepted(tenant: string, api: ApiName, ask: () => Promise<boolean>): Promise<boolean> {
    return (await this.verdictOn(tenant, api, ask)) === 'accepted';
  }

  /**
   * The latest verdict that still holds. A key that either upstream has accepted is a real one, and
   * its tenant that of who has it; what one of them refuses, the other may accept.
   */
  known(tenant: string, api: ApiName): Verdict {
    return this.isKnown(tenant) ? 'accepted' : (this.verdicts.get(tenant, api) ?? 'unknown');
  }

  /** Whether an upstream is known to accept the tenant's key. */
  isKnown(tenant: string): boolean {
    return APIS.some((api) => this.verdicts.get(tenant, api) === 'accepted');
  }
}
