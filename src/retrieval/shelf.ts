/** Where a retriever gets contents from. */

import { within } from '../lib/time-limit.ts';
import type { Opened } from '../tenant/envelope.ts';

export interface Shelf {
  /** Whether a ref belongs to this tenant; needs no I/O. */
  owns(ref: string): boolean;
  /** The content; undefined if it is gone. @throws if storage fails */
  get(ref: string): Promise<Opened | undefined>;
  /** Logs why a content could not be read. The model only learns that it could not. */
  failed(error: unknown): void;
}

/** How long a model waits for storage, in milliseconds. */
const STORAGE_LIMIT_MS = 5_000;

/** Bytes of contents kept for further queries. An isolate has 128 MB. */
const MOST_KEPT = 16 * 1024 * 1024;

/** Reads each ref once, as long as the contents fit in memory. */
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

  /** @throws if storage fails or takes too long */
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
