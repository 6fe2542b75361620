/** What a retriever reads from. */

import { within } from '../lib/time-limit.ts';
import type { Opened } from '../tenant/envelope.ts';

export interface Shelf {
  /** Whether a ref is one of this tenant's; known without I/O. */
  owns(ref: string): boolean;
  /** The content; undefined when it is gone. @throws when storage fails */
  get(ref: string): Promise<Opened | undefined>;
  /**
   * Takes why a content could not be had, for the log: who asked for it is told only that it could
   * not.
   */
  failed(error: unknown): void;
}

/** How long a model waits for storage, in milliseconds. */
export const STORAGE_LIMIT_MS = 5_000;

/**
 * Contents that are kept for the other parts that a model may ask for, in bytes: an isolate has 128
 * MB.
 */
const MOST_KEPT = 16 * 1024 * 1024;

/** A shelf that is asked once for each ref, as far as there is room for what it gave. */
export class OpenedShelf implements Shelf {
  private readonly shelf: Shelf;
  private readonly limitMs: number;
  private readonly opened = new Map<string, Promise<Opened | undefined>>();
  private kept = 0;

  constructor(shelf: Shelf, limitMs = STORAGE_LIMIT_MS) {
    this.shelf = shelf;
    this.limitMs = limitMs;
  }

  owns(ref: string): boolean {
    return this.shelf.owns(ref);
  }

  failed(error: unknown): void {
    this.shelf.failed(error);
  }

  /** @throws when storage fails, or takes longer than the limit */
  get(ref: string): Promise<Opened | undefined> {
    const known = this.opened.get(ref);
    if (known) return known;
    const opening = this.open(ref);
    this.opened.set(ref, opening);
    return opening;
  }

  private async open(ref: string): Promise<Opened | undefined> {
    try {
      const opened = await within(this.limitMs, this.shelf.get(ref));
      const bytes = opened?.content.length ?? 0;
      if (this.kept + bytes > MOST_KEPT) this.opened.delete(ref);
      else this.kept += bytes;
      return opened;
    } catch (error) {
      this.opened.delete(ref);
      throw error;
    }
  }
}
