/**
 * Texts in the making. The object makes each text once, whoever asks for it: whether it is being
 * made is a question to this map, and whoever asks meanwhile waits for the same promise. All of it
 * is in memory: what an object was making when it was restarted is lost.
 */

/** Resolves for those who wait, once nobody wants a text any more, or its maker has failed. */
const DROPPED = { state: 'dropped' } as const;

export type Dropped = typeof DROPPED;

/** A text, as its maker sees it. */
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

  /** @param make ends the text. One that it has not ended when it settles is dropped */
  begin(key: Key, make: (text: Text<Value>) => Promise<void>): Promise<Value | Dropped> {
    const text = Promise.withResolvers<Value | Dropped>();
    this.texts.set(key, text);
    const isWanted = () => this.texts.get(key) === text;
    const end = (value: Value | Dropped): void => {
      if (isWanted()) this.texts.delete(key);
      text.resolve(value);
    };
    this.run(make({ isWanted, end }).finally(() => end(DROPPED)));
    return text.promise;
  }

  /** Keeps the object awake for some work. */
  run(work: Promise<void>): void {
    const ended = work.finally(() => this.running.delete(ended));
    this.running.add(ended);
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
