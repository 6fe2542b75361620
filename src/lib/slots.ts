/** How much of a request may be under way at once: the rest waits for a slot. */

/**
 * So many connections of one invocation may wait for their response headers; the platform lets a
 * seventh one wait its turn
 * (https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections). Calls
 * to R2 count among them.
 */
export const AT_ONCE = 6;

/** Runs a few things at a time, in the order in which they come. */
export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Does a piece of work as soon as there is a slot for it. @throws what the work throws */
  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}

/**
 * Does a piece of work for each item, so many at a time. The results have the order of the items.
 *
 * @throws what the work throws first; none begins after that
 */
export function fewAtOnce<Item, Value>(
  most: number,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Value>,
): Promise<Value[]> {
  const slots = new Slots(most);
  const failed = new AbortController();
  const begin = async (item: Item, index: number): Promise<Value> => {
    failed.signal.throwIfAborted();
    try {
      return await work(item, index);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  return Promise.all(items.map((item, index) => slots.run(() => begin(item, index))));
}
