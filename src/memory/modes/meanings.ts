/** What each mode does. */
import type { Mode } from './table.ts';

export const MODES: Readonly<Record<Mode, string>> = {
  none: 'The request is forwarded unchanged.',
  trim: 'The oldest turns are dropped.',
  compact: 'Old tool outputs become placeholders.',
  summarize: 'Old turns become a running summary.',
  rolling_summary: 'A memory of old rounds, made in the background; no request waits for it.',
  auto: "The cheapest edit, when it pays off: placeholders first, a summary if they aren't enough.",
  native: "The upstream's own compaction, or a summary by Precis where it has none.",
};

/** Their names, in the order of the table. */
export const MODE_NAMES = Object.keys(MODES) as Mode[];
