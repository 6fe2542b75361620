/**
 * The header `Server-Timing` (https://www.w3.org/TR/server-timing/): time spent in parts of a
 * request, in milliseconds.
 */

export class Timings {
  private readonly spent = new Map<string, number>();

  async measure<Value>(part: string, work: () => Promise<Value>): Promise<Value> {
    const start = Date.now();
    try {
      return await work();
    } finally {
      this.spent.set(part, (this.spent.get(part) ?? 0) + Date.now() - start);
    }
  }

  /** The header's value; empty if nothing was measured. */
  toString(): string {
    return [...this.spent].map(([part, milliseconds]) => `${part};dur=${milliseconds}`).join(', ');
  }
}
