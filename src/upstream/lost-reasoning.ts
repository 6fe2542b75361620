/**
 * Models that lose their reasoning between two requests, because the upstream stores nothing for
 * the account (zero data retention) or for such requests. Only an answer shows it.
 */
import { Lru } from '../lib/lru.ts';

/**
 * How long an observation holds, in milliseconds: the upstream behind a model's name may change.
 */
const HOLDS_MS = 60 * 60_000;

/** About 3 000 models. */
const REMEMBERED = { bytes: 1024 * 1024, sizeOf: () => 32 };

/** In characters. Longer model names are not remembered. */
const LONGEST_MODEL = 256;

export class LostReasoning {
  private readonly known = new Lru<{ readonly isLost: boolean; readonly at: number }>(REMEMBERED);
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /** Notes whether an answer showed that reasoning is lost. */
  note(tenant: string, model: string | undefined, isLost: boolean): void {
    if ((model?.length ?? 0) <= LONGEST_MODEL)
      this.known.set(keyOf(tenant, model), { isLost, at: this.now() });
  }

  /** Whether reasoning may be lost: true until an answer shows otherwise. */
  mayBeLost(tenant: string, model: string | undefined): boolean {
    const known = this.known.get(keyOf(tenant, model));
    return !known || known.isLost || this.now() - known.at >= HOLDS_MS;
  }
}

function keyOf(tenant: string, model = ''): string {
  return `${tenant}\n${model}`;
}
