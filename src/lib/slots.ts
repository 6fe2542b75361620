/** Limits on how much of a request runs at once. The rest waits for a slot. */

/**
 * Connections of one invocation that may wait for response headers at once. The platform queues any
 * more (https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections).
 * Calls to R2 count too.
 */
export const AT_ONCE = 6;

/** Runs at most `count` tasks at a time, first come, first served. */
export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Runs `work` once a slot is free. @throws what the work throws */
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
 * Maps the items with at most `most` calls running at a time. Results keep the items' order.
 *
 * @throws the first error of `work`; no further call starts after it
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
