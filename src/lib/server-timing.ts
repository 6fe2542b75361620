/** The times of one request, in milliseconds. */

export class Timings {
  /** In milliseconds since the epoch. */
  readonly startedAt = Date.now();
  private readonly spent = new Map<string, number>();
  private readonly began = new Map<string, number>();
  private readonly spentIn: ((part: string, start: number, end: number) => void) | undefined;

  /**
   * @param spentIn called with each part, and when it began and ended: milliseconds since the epoch
   */
  constructor(spentIn?: (part: string, start: number, end: number) => void) {
    this.spentIn = spentIn;
  }

  async measure<Value>(part: string, work: () => Promise<Value>): Promise<Value> {
    const start = Date.now();
    if (!this.began.has(part)) this.began.set(part, start);
    try {
      return await work();
    } finally {
      const end = Date.now();
      this.spent.set(part, (this.spent.get(part) ?? 0) + end - start);
      this.spentIn?.(part, start, end);
    }
  }

  /** Measures work that pauses nowhere. */
  time<Value>(part: string, work: () => Value): Value {
    const start = Date.now();
    if (!this.began.has(part)) this.began.set(part, start);
    try {
      return work();
    } finally {
      this.spent.set(part, (this.spent.get(part) ?? 0) + Date.now() - start);
    }
  }

  /** Time since the request came, in milliseconds. */
  get elapsed(): number {
    return Date.now() - this.startedAt;
  }

  /** Time from the request until a part began first; undefined if it has not. */
  until(part: string): number | undefined {
    const at = this.began.get(part);
    return at === undefined ? undefined : at - this.startedAt;
  }

  /** All times so far by name: `ms` since the request came, and `{part}_ms` for each part. */
  fields(): Readonly<Record<string, number>> {
    const parts = [...this.spent].map(([part, milliseconds]) => [`${part}_ms`, milliseconds]);
    return { ms: this.elapsed, ...Object.fromEntries(parts) };
  }

  /**
   * The header `Server-Timing` (https://www.w3.org/TR/server-timing/); empty if nothing was
   * measured.
   */
  toString(): string {
    return [...this.spent].map(([part, milliseconds]) => `${part};dur=${milliseconds}`).join(', ');
  }
}
