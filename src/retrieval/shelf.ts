/** Where a retriever gets contents from. */

import { within } from '../lib/time-limit.ts';
import type { Opened } from '../tenant/envelope.ts';
import { TIME_LIMITS } from '../time-limits.ts';

export interface Shelf {
  /** Whether a ref belongs to this tenant; needs no I/O. */
  owns(ref: string): boolean;
  /** The content; undefined if it is gone. @throws if storage fails */
  get(ref: string): Promise<Opened | undefined>;
  /** Counts a request for a ref that is not this tenant's. */
  unknown(): void;
  /** Logs why a content could not be read. The model only learns that it could not. */
  failed(error: unknown): void;
}

/** The model's result if storage fails or takes longer. */
export const STORAGE_FAILED =
  'Storage does not answer at the moment. Go on without it, and say so if it matters.';

/** Bytes of contents kept for further queries. An isolate has 128 MB. */
const MOST_KEPT = 16 * 1024 * 1024;

/**
 * A shelf that reads each ref once, as long as the contents fit in memory. `get` throws if storage
 * fails or takes too long.
 */
export function openedShelf(shelf: Shelf, limitMs = TIME_LIMITS.toolStorageMs): Shelf {
  const known = new Map<string, Promise<Opened | undefined>>();
  let kept = 0;
  const open = async (ref: string): Promise<Opened | undefined> => {
    try {
      const opened = await within(limitMs, shelf.get(ref));
      const bytes = opened?.content.length ?? 0;
      if (kept + bytes > MOST_KEPT) known.delete(ref);
      else kept += bytes;
      return opened;
    } catch (error) {
      known.delete(ref);
      throw error;
    }
  };
  const get = (ref: string): Promise<Opened | undefined> => {
    const opening = known.get(ref) ?? open(ref);
    known.set(ref, opening);
    return opening;
  };
  return {
    owns: (ref) => shelf.owns(ref),
    unknown: () => shelf.unknown(),
    failed: (error) => shelf.failed(error),
    get,
  };
}
