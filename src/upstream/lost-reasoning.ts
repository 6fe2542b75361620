/**
 * Models that lose their reasoning between two requests, because the upstream stores nothing for
 * the account (zero data retention) or for such requests. Only an answer shows it.
 */
import { ModelFacts } from './model-facts.ts';

export class LostReasoning {
  private readonly lost: ModelFacts<boolean>;

  constructor(now: () => number = Date.now) {
    this.lost = new ModelFacts(now);
  }

  /** Notes whether an answer showed that reasoning is lost. */
  note(tenant: string, model: string | undefined, isLost: boolean): void {
    this.lost.note(tenant, model, isLost);
  }

  /** Whether reasoning may be lost: true until an answer shows otherwise. */
  mayBeLost(tenant: string, model: string | undefined): boolean {
    return this.lost.of(tenant, model) ?? true;
  }

  forget(tenant: string): void {
    this.lost.forget(tenant);
  }
}
