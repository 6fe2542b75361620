/**
 * A bounded map that forgets what was not used for long. A cache of facts that can be computed again, never a source.
 *
 * Two generations: what is used moves to the young one; when that is full it becomes the old one, and what was old and unused is
 * gone. Moving every hit to the end of one map would cost more than most of the facts do.
 */
export class Lru<Value> {
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();
  private readonly generation: number;

  /** @param capacity how many entries are kept at the most; half as many are kept for certain */
  constructor(capacity: number) {
    this.generation = Math.max(1, Math.floor(capacity / 2));
  }

  get(key: string): Value | undefined {
    const young = this.young.get(key);
    if (young !== undefined) return young;
    const old = this.old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    if (this.young.size >= this.generation && !this.young.has(key)) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
  }

  delete(key: string): void {
    this.young.delete(key);
    this.old.delete(key);
  }

  clear(): void {
    this.young.clear();
    this.old.clear();
  }

  /** The value of the key, made once. */
  remember(key: string, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }
}
