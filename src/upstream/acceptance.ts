/**
 * Keys that the upstream has accepted. A key's first write waits for that, so that invented keys
 * can't fill the bucket (docs/design.md#10-upstream-and-access). An answered request is proof if it
 * held no other key; without one the upstream is asked for its models.
 */
import type { Beliefs } from '../lib/isolate-memory.ts';
import type { UpstreamApi } from './api.ts';

/** The APIs that can be asked about a key. Each has a verdict of its own. */
type ApiName = UpstreamApi['name'];
const APIS: readonly ApiName[] = ['openai', 'anthropic'];

/** Beside the verdicts: a tenant's key was asked about, whatever the answer. */
const NOTED = 'noted';

/** The upstream's verdict on a key; `unknown` if it can't be asked, or does not say. */
export type Verdict = 'accepted' | 'refused' | 'unknown';

/** `unheeded`: the upstream answers whatever the key is. */
export type Answered = 'accepted' | 'refused' | 'unheeded';

export class AcceptedKeys {
  /** Both by API; verdicts also by the keys beside the tenant's. */
  private readonly accepted: Beliefs<true>;
  private readonly verdicts: Beliefs<Answered>;

  constructor(accepted: Beliefs<true>, verdicts: Beliefs<Answered>) {
    this.accepted = accepted;
    this.verdicts = verdicts;
  }

  /** Notes that the upstream has answered this tenant. */
  accept(tenant: string, api: ApiName): void {
    this.verdicts.delete(tenant, api);
    this.accepted.set(tenant, api, true);
  }

  /** Forgets that an upstream has accepted a tenant's key, so that it is asked again. */
  doubt(tenant: string, api: ApiName): void {
    this.accepted.delete(tenant, api);
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
    if (known) return verdictOf(known.value);
    try {
      const verdict = await ask();
      if (verdict === 'accepted') this.accept(tenant, api);
      else {
        this.accepted.delete(tenant, slot);
        this.verdicts.set(tenant, slot, verdict);
      }
      return verdictOf(verdict);
    } catch {
      return 'unknown';
    }
  }

  /**
   * The latest verdict that still holds. A key that either upstream has accepted is a real one, and
   * its tenant belongs to whoever has the key; what one of them refuses, the other may accept.
   */
  known(tenant: string, api: ApiName): Verdict {
    return this.isKnown(tenant) ? 'accepted' : verdictOf(this.verdicts.get(tenant, api)?.value ?? 'unheeded');
  }

  /**
   * Whether to ask about a key that no request waits to know of: once in a while, since an upstream
   * that does not say would be asked for each answer.
   */
  isDue(tenant: string): boolean {
    if (this.isKnown(tenant) || this.verdicts.get(tenant, NOTED) !== undefined) return false;
    this.verdicts.set(tenant, NOTED, 'unheeded');
    return true;
  }

  /** Whether an upstream is known to accept the tenant's key. */
  isKnown(tenant: string): boolean {
    return APIS.some((api) => this.accepted.get(tenant, api) !== undefined);
  }
}

function verdictOf(verdict: Answered): Verdict {
  return verdict === 'unheeded' ? 'unknown' : verdict;
}
