/** Background work of this isolate that somebody may want to wait for, by key. */
export class PendingWork {
  private readonly byKey = new Map<string, Set<Promise<unknown>>>();

  /** Notes a work until it settles. @returns the work */
  track<Value>(key: string, work: Promise<Value>): Promise<Value> {
    const pending = this.byKey.get(key) ?? new Set();
    this.byKey.set(key, pending);
    pending.add(work);
    const end = (): void => {
      pending.delete(work);
      if (pending.size === 0 && this.byKey.get(key) === pending) this.byKey.delete(key);
    };
    work.then(end, end);
    return work;
  }

  /** Resolves when all work that is noted now has settled. Never rejects. */
  async settled(key: string): Promise<void> {
    await Promise.allSettled(this.byKey.get(key) ?? []);
  }
}
