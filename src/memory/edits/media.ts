/**
 * Inline images and files of user messages: data URLs that cost their flat price on every request.
 */
import type { History, Unit } from '../conversation/history.ts';
import type { CompactSettings } from '../strategy/fields.ts';
import { type CompactContext, messageAt, remove } from './compact.ts';
import { writeMarker } from './placeholder.ts';
import type { Removal } from './removal.ts';

/** What stands in a marker for the tool: nobody has called one. */
const NO_TOOL = 'user_message';

/**
 * The removals of what a user message holds inline. What it names by a URL costs as much, but can't
 * be given back by a ref.
 */
export function removeMedia(
  history: History,
  unit: Unit,
  strategy: CompactSettings,
  context: CompactContext,
): Removal[] {
  if (unit.kind !== 'user') return [];
  const message = messageAt(history, unit.first);
  if (message.flatTokens === 0) return [];
  return message.media().flatMap(({ kind, part, tokens, json, room }) => {
    const content = {
      text: json,
      type: 'application/json' as const,
      weight: { texts: [], flat: tokens },
      room: () => room,
    };
    const removal = remove(
      {
        kind: 'part',
        reason: 'context_compaction',
        least: 0,
        message: unit.first,
        call: part,
        tool: NO_TOOL,
        callId: `part_${part}`,
        content: () => content,
        key: `${message.digest}:part:${part}`,
        count: () => tokens,
        replacements: (marker) => [
          writeMarker({ ...marker, kind, ...(marker.ref === undefined ? {} : { tokens }) }),
        ],
      },
      strategy,
      context,
    );
    return removal ?? [];
  });
}
