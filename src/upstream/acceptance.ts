/**
 * Keys that the upstream has accepted. A key's first write waits for that, so that invented keys
 * can't fill the bucket (docs/design.md#10-upstream-and-access). An answered request is proof if it
 * held no other key; without one the upstream is asked for its models.
 */
import { ExpiringLru } from '../lib/expiring-lru.ts';
import type { UpstreamApi } from './api.ts';

/** How long an acceptance holds, in milliseconds (docs/design.md#10-upstream-and-access). */
const HOLDS_MS = 10 * 60_000;

/** How long any other verdict holds, in milliseconds. It limits how often retries ask. */
const REFUSAL_HOLDS_MS = 30_000;

/** The APIs that can be asked about a key. Each has a verdict of its own. */
type ApiName = UpstreamApi['name'];
const APIS: readonly ApiName[] = ['openai', 'anthropic'];

/** Beside the verdicts: a tenant's key was asked about, whatever the answer. */
const NOTED = 'noted';

/** About 3 000 tenants. */
const REMEMBERED = { bytes: 1024 * 1024 };

/** The upstream's verdict on a key; `unknown` if it can't be asked, or does not say. */
export type Verdict = 'accepted' | 'refused' | 'unknown';

/** `unheeded`: the upstream answers whatever the key is. */
export type Answered = 'accepted' | 'refused' | 'unheeded';

export class AcceptedKeys {
  private readonly verdicts: ExpiringLru<Answered>;

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
   * @param ask asks the upstream. It throws if there is no verdict
   * @param beside identifies the other keys of the request, since it is asked with them
   */
  async verdictOn(tenant: string, api: ApiName, ask: () => Promise<Answered>, beside = ''): Promise<Verdict> {
    const slot = beside === '' ? api : `${api} ${beside}`;
    if (this.isKnown(tenant)) return 'accepted';
    const known = this.verdicts.get(tenant, slot);
    if (known) return toldOf(known);
    try {
      const verdict = await ask();
      if (verdict === 'accepted') this.accept(tenant, api);
      else this.verdicts.set(tenant, slot, verdict, REFUSAL_HOLDS_MS);
      return toldOf(verdict);
    } catch {
      return 'unknown';
    }
  }

  /**
   * The latest verdict that still holds. A key that either upstream has accepted is a real one, and
   * its tenant that of who has it; what one of them refuses, the other may accept.
   */
  known(tenant: string, api: ApiName): Verdict {
    return this.isKnown(tenant) ? 'accepted' : toldOf(this.verdicts.get(tenant, api) ?? 'unheeded');
  }

  /**
   * Whether to ask about a key that no request waits to know of: once in a while, since an upstream
   * that does not say would be asked for each answer.
   */
  isDue(tenant: string): boolean {
    if (this.isKnown(tenant) || this.verdicts.get(tenant, NOTED) !== undefined) return false;
    this.verdicts.set(tenant, NOTED, 'unheeded', REFUSAL_HOLDS_MS);
    return true;
  }

  /** Whether an upstream is known to accept the tenant's key. */
  isKnown(tenant: string): boolean {
    return APIS.some((api) => this.verdicts.get(tenant, api) === 'accepted');
  }
}

function toldOf(verdict: Answered): Verdict {
  return verdict === 'unheeded' ? 'unknown' : verdict;
}
