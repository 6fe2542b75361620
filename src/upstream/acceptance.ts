/**
 * Which keys the upstream has accepted. A key's first write waits for that, so that invented keys can't fill the bucket (design
 * §10). An answered request is proof enough; without one the upstream is asked for its models.
 */
import { Lru } from '../memory/lru.ts';

/** How long an upstream's word holds, in milliseconds (design §10). */
const HOLDS_MS = 10 * 60_000;

/** How long a refusal holds: a caller who tries again and again is asked about once in a while. */
const REFUSAL_HOLDS_MS = 30_000;

const REMEMBERED = 10_000;

interface Verdict {
  readonly accepted: boolean;
  readonly at: number;
}

export class AcceptedKeys {
  private readonly verdicts = new Lru<Verdict>(REMEMBERED);
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /** Notes that the upstream has answered this tenant. */
  accept(tenant: string): void {
    this.verdicts.set(tenant, { accepted: true, at: this.now() });
  }

  /**
   * Whether the upstream accepts the tenant's key.
   *
   * @param ask asks the upstream: true and false are its word, a throw is none
   */
  async isAccepted(tenant: string, ask: () => Promise<boolean>): Promise<boolean> {
    const known = this.verdicts.get(tenant);
    const holds = known?.accepted ? HOLDS_MS : REFUSAL_HOLDS_MS;
    if (known && this.now() - known.at < holds) return known.accepted;
    return this.ask(tenant, ask);
  }

  /** Whether the upstream has said lately that it does not know this tenant's key. */
  isRefused(tenant: string): boolean {
    const known = this.verdicts.get(tenant);
    return known !== undefined && !known.accepted && this.now() - known.at < REFUSAL_HOLDS_MS;
  }

  private async ask(tenant: string, ask: () => Promise<boolean>): Promise<boolean> {
    try {
      const accepted = await ask();
      this.verdicts.set(tenant, { accepted, at: this.now() });
      return accepted;
    } catch {
      return false;
    }
  }
}
