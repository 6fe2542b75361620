/** The times of one request, in milliseconds. */

export class Timings {
  private readonly startedAt = Date.now();
  private readonly spent = new Map<string, number>();

  async measure<Value>(part: string, work: () => Promise<Value>): Promise<Value> {
    const start = Date.now();
    try {
      return await work();
    } finally {
      this.spent.set(part, (this.spent.get(part) ?? 0) + Date.now() - start);
    }
  }

  /** All times so far by name: `ms` since the request came, and `{part}_ms` for each part. */
  fields(): Readonly<Record<string, number>> {
    const parts = [...this.spent].map(([part, milliseconds]) => [`${part}_ms`, milliseconds]);
    return { ms: Date.now() - this.startedAt, ...Object.fromEntries(parts) };
  }

  /**
   * The header `Server-Timing` (https://www.w3.org/TR/server-timing/); empty if nothing was
   * measured.
   */
  toString(): string {
    return [...this.spent].map(([part, milliseconds]) => `${part};dur=${milliseconds}`).join(', ');
  }
}
