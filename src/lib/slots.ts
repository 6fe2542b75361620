/** Limits on how much of a request runs at once. The rest waits for a slot. */

/**
 * Connections of one invocation that may wait for response headers at once. The platform queues any
 * further ones
 * (https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections). Calls
 * to R2 count too.
 */
export const AT_ONCE = 6;

/** Runs at most `count` tasks at a time, first come, first served. */
export class Slots {
  private readonly room: Room;

  constructor(count: number) {
    this.room = new Room(count);
  }

  /** Runs `work` once a slot is free. @throws what the work throws */
  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    const leave = await this.room.take(1);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

/** Bytes of memory, or tasks. What needs more than is left waits, first come, first served. */
export class Room {
  private readonly size: number;
  private left: number;
  private readonly waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(bytes: number) {
    this.size = bytes;
    this.left = bytes;
  }

  /**
   * Waits for a part of it; what is larger than all of it waits until it is empty.
   *
   * @returns gives the part back. To be called once
   */
  async take(bytes: number): Promise<() => void> {
    const taken = Math.min(bytes, this.size);
    if (this.waiting.length > 0 || taken > this.left)
      await new Promise<void>((enter) => this.waiting.push({ bytes: taken, enter }));
    else this.left -= taken;
    return () => this.free(taken);
  }

  private free(bytes: number): void {
    this.left += bytes;
    for (let [next] = this.waiting; next && next.bytes <= this.left; [next] = this.waiting) {
      this.waiting.shift();
      this.left -= next.bytes;
      next.enter();
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
