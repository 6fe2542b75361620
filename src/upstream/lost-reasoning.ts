/**
 * Which models lose their reasoning between two requests, because the upstream stores nothing of an
 * account (zero data retention) or nothing of such requests. Nobody knows before an answer says so.
 */
import { Lru } from '../lib/lru.ts';

/**
 * How long an answer's word holds, in milliseconds: the upstream behind a name may be another one
 * tomorrow.
 */
const HOLDS_MS = 60 * 60_000;

/** About 3 000. */
const REMEMBERED = { bytes: 1024 * 1024, sizeOf: () => 32 };

/** A longer name of a model is not remembered, in characters. */
const LONGEST_MODEL = 256;

export class LostReasoning {
  private readonly known = new Lru<{ readonly isLost: boolean; readonly at: number }>(REMEMBERED);
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /** Notes what an answer has said. */
  note(tenant: string, model: string | undefined, isLost: boolean): void {
    if ((model?.length ?? 0) <= LONGEST_MODEL)
      this.known.set(keyOf(tenant, model), { isLost, at: this.now() });
  }

  /** Whether it is lost, as far as is known: true until an answer has said otherwise. */
  mayBeLost(tenant: string, model: string | undefined): boolean {
    const known = this.known.get(keyOf(tenant, model));
    return !known || known.isLost || this.now() - known.at >= HOLDS_MS;
  }
}

function keyOf(tenant: string, model = ''): string {
  return `${tenant}\n${model}`;
}
