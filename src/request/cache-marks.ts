/** Who marks what the upstream's prompt cache keeps (docs/design.md#marks). */

import { asObject } from '../lib/json.ts';
import type { HitRule } from '../memory/models/schedule.ts';
import type { Marking } from '../memory/models/terms.ts';
import type { CacheMarksChoice } from '../memory/strategy/fields.ts';
import type { ModelRequest } from '../protocol/model-request.ts';

/** Who marks a request, as its terms depend on it. */
export function markingOf(request: ModelRequest, choice: CacheMarksChoice): Marking {
  const isOurs = choice === 'auto';
  return {
    atBoundaries: isOurs && !marksAll(request),
    atMarks: isOurs && request.cacheMarks.areCallers,
    marksMessages: () => marksMessages(request),
  };
}

/** Whether a caller of OpenAI's cache places all marks itself. */
function marksAll(request: Pick<ModelRequest, 'field'>): boolean {
  return asObject(request.field('prompt_cache_options')).mode === 'explicit';
}

/** Whether the caller marks messages, and not only tools and instructions. */
export function marksMessages({ markedUntil, messages }: ModelRequest): boolean {
  return markedUntil !== undefined && markedUntil >= 0 && messages[markedUntil]?.role !== 'preamble';
}

/**
 * The share of a request's array up to the caller's last mark, by bytes: the vendor's cache could
 * have kept no more of it. 0 without a mark; undefined where the cache needs none, or where the
 * form of the model's marks is not known.
 */
export function markedShare(request: ModelRequest, hits: HitRule): number | undefined {
  const needsMarks = hits === 'marks' ? request.cacheMarks.field === 'cache_control' : marksAll(request);
  if (!needsMarks) return undefined;
  const { markedUntil, messages, tools } = request;
  if (markedUntil === undefined) return 0;
  if (markedUntil === messages.length - 1) return 1;
  const sizes = [tools?.bytes ?? 0, ...messages.map(({ bytes }) => bytes)];
  const sum = (parts: readonly number[]): number => parts.reduce((total, part) => total + part, 0);
  return sum(sizes.slice(0, markedUntil + 2)) / Math.max(1, sum(sizes));
}
