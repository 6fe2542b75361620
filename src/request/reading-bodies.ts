/**
 * One bound over all bodies that an isolate is reading, so that unfinished ones can't fill its
 * memory. Only what has come is counted: a body that is announced and not sent takes nothing.
 *
 * Where there is no room, the body that has been read for longest gives way, if it has had its
 * time, and else the largest one, which may be the one that needs the room. So whoever holds bodies
 * back, or sends ever new ones, keeps no smaller one out.
 */
import { concat } from '../lib/bytes.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { chunksOf } from '../upstream/chunks.ts';

/** In bytes. An isolate has 128 MB for all that it does. */
const MOST_READING = 48 * 1024 * 1024;

class ReadingBody {
  size = 0;
  readonly began = Date.now();
  /** Whether it had to give way. */
  isOut = false;
  private readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  giveWay(): void {
    this.isOut = true;
    this.cancel();
  }
}

export class ReadingBodies {
  private readonly most: number;
  /** The one that was begun first is first. */
  private readonly bodies = new Set<ReadingBody>();
  private total = 0;

  constructor(most = MOST_READING) {
    this.most = most;
  }

  /** The bytes that all of them hold. */
  get held(): number {
    return this.total;
  }

  /**
   * The bytes of a body; the chunks read so far and its reader if they are more than `limit`;
   * `no_room` if it has to give way.
   *
   * @param length if it is announced
   */
  async read(
    body: ReadableStream<Uint8Array>,
    limit: number,
    length?: number,
  ): Promise<
    Uint8Array | { readonly read: Uint8Array[]; readonly rest: ReturnType<typeof chunksOf> } | 'no_room'
  > {
    const rest = chunksOf(body, length);
    const reading = new ReadingBody(() => void rest.cancel(NO_ROOM).catch(() => undefined));
    this.bodies.add(reading);
    const read: Uint8Array[] = [];
    try {
      for (;;) {
        const next = await rest.next().catch((error: unknown) => {
          if (!reading.isOut) throw error;
        });
        if (!next || reading.isOut) return 'no_room';
        if (next.done) return concat(read);
        read.push(next.value);
        if (!this.grow(reading, next.value.length)) {
          reading.giveWay();
          return 'no_room';
        }
        if (reading.size > limit) return { read, rest };
      }
    } finally {
      this.end(reading);
    }
  }

  /** @returns whether there is room for more of a body */
  private grow(reading: ReadingBody, bytes: number): boolean {
    reading.size += bytes;
    this.total += bytes;
    const late = Date.now() - TIME_LIMITS.bodyPatienceMs;
    for (const other of this.bodies) {
      if (this.total <= this.most || other.began > late) break;
      if (other === reading) continue;
      this.end(other);
      other.giveWay();
    }
    while (this.total > this.most) {
      const larger = (one: ReadingBody, other: ReadingBody) => (other.size > one.size ? other : one);
      const largest = [...this.bodies].reduce(larger, reading);
      // One alone is bounded by its own limit.
      if (largest === reading) return this.total === reading.size;
      this.end(largest);
      largest.giveWay();
    }
    return true;
  }

  private end(reading: ReadingBody): void {
    if (this.bodies.delete(reading)) this.total -= reading.size;
  }
}

const NO_ROOM = 'there is no room for the rest of this body';

/** The bodies that this isolate reads. */
export const readingBodies = new ReadingBodies();
