/**
 * Callers that wait for something, by its name. In memory only: a waiting call keeps its object
 * alive.
 */
export class Waiters {
  private readonly byName = new Map<string, Set<() => void>>();

  /** Resolves when the name is woken, or after `ms` milliseconds. */
  wait(name: string, ms: number): Promise<void> {
    const waiting = this.byName.get(name) ?? new Set();
    this.byName.set(name, waiting);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        waiting.delete(end);
        if (waiting.size === 0) this.byName.delete(name);
        resolve();
      };
      const timer = setTimeout(end, ms);
      waiting.add(end);
    });
  }

  wake(name: string): void {
    for (const end of [...(this.byName.get(name) ?? [])]) end();
  }

  wakeAll(): void {
    for (const name of [...this.byName.keys()]) this.wake(name);
  }
}
