/**
 * What upstreams have shown of a tenant's models. It holds for an hour: the upstream behind a
 * model's name can change over time and differ between accounts
 * (docs/design.md#10-upstream-and-access).
 */
import { ExpiringLru } from '../lib/expiring-lru.ts';

/** In milliseconds. */
const HOLDS_MS = 60 * 60_000;

/** About 3 000 models. */
const REMEMBERED = { bytes: 1024 * 1024, sizeOf: () => 64 };

/** In characters. Longer model names are not remembered. */
const LONGEST_MODEL = 256;

export class ModelFacts<Fact> {
  private readonly facts: ExpiringLru<Fact>;

  constructor(now: () => number) {
    this.facts = new ExpiringLru(REMEMBERED, now);
  }

  of(tenant: string, model = ''): Fact | undefined {
    return this.facts.get(tenant, model);
  }

  note(tenant: string, model = '', fact: Fact): void {
    if (model.length <= LONGEST_MODEL) this.facts.set(tenant, model, fact, HOLDS_MS);
  }

  /** Forgets what is known of a tenant's models. */
  forget(tenant: string): void {
    this.facts.forget(tenant);
  }
}
