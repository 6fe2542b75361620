/**
 * Texts in the making. The object makes each text once, whoever asks for it: whether it is being
 * made is a question to this map, and whoever asks meanwhile waits for the same promise. All of it
 * is in memory: what an object was making when it was restarted is lost.
 */

/**
 * How many bytes of material may be held at once. An object has 128 MB, and a text takes several
 * times its material while a summarizer is asked.
 */
const MOST_HELD = 16 * 1024 * 1024;

/** Resolves for those who wait, once no request wants a text, or its maker has failed. */
const DROPPED = { state: 'dropped' } as const;

export type Dropped = typeof DROPPED;

interface Text<Value> {
  /** Whether it is still wanted. A deletion drops it, and nothing of it may be stored. */
  isWanted(): boolean;
  /** Ends the waits. Has no effect on a text that is dropped. */
  end(value: Value): void;
}

export class Making<Key, Value> {
  private readonly texts = new Map<Key, PromiseWithResolvers<Value | Dropped>>();
  /** Until all that belongs to them is done. */
  private readonly running = new Set<Promise<void>>();
  /** Bytes of their material. */
  private held = 0;
  private readonly waitUntil: (work: Promise<void>) => void;

  constructor(waitUntil: (work: Promise<void>) => void) {
    this.waitUntil = waitUntil;
  }

  keys(): Key[] {
    return [...this.texts.keys()];
  }

  /** The end of a text in the making. Without one nobody makes it. */
  get(key: Key): Promise<Value | Dropped> | undefined {
    return this.texts.get(key)?.promise;
  }

  /** Whether this many bytes of material may be taken. One text alone always has room. */
  hasRoom(bytes: number): boolean {
    return this.held === 0 || this.held + bytes <= MOST_HELD;
  }

  /**
   * @param bytes of its material
   * @param make ends the text. One that it has not ended when it settles is dropped
   */
  begin(key: Key, bytes: number, make: (text: Text<Value>) => Promise<void>): Promise<Value | Dropped> {
    const text = Promise.withResolvers<Value | Dropped>();
    this.texts.set(key, text);
    const isWanted = () => this.texts.get(key) === text;
    const end = (value: Value | Dropped): void => {
      if (isWanted()) this.texts.delete(key);
      text.resolve(value);
    };
    this.run(
      make({ isWanted, end }).finally(() => end(DROPPED)),
      bytes,
    );
    return text.promise;
  }

  /** Keeps the object awake for some work. @param bytes that it holds */
  run(work: Promise<void>, bytes = 0): void {
    const ended = work.finally(() => {
      this.running.delete(ended);
      this.held -= bytes;
    });
    this.running.add(ended);
    this.held += bytes;
    this.waitUntil(ended);
  }

  /** Drops all texts, and resolves the waits for them. */
  drop(): void {
    const texts = [...this.texts.values()];
    this.texts.clear();
    for (const { resolve } of texts) resolve(DROPPED);
  }

  /** What keeps the object awake. */
  work(): readonly Promise<void>[] {
    return [...this.running];
  }
}

/** About how many bytes the texts of a plain value take, which are most of any material. */
export function heldBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + heldBytes(each), 0);
}
