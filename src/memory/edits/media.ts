/**
 * Removes inline images and files of user messages: data URLs, which cost their flat price on every
 * request.
 */
import { elementAt } from '../../lib/elements.ts';
import type { Unit } from '../conversation/history.ts';
import type { Content, InlineMedia } from '../conversation/message.ts';
import { type CompactContext, remove } from './compact.ts';
import { writeMarker } from './placeholder.ts';
import type { Removal } from './removal.ts';

/** The tool name in their markers. */
const NO_TOOL = 'user_message';

/**
 * The removals of a user message's inline media. References by URL cost as much, but no ref could
 * give them back.
 */
export function removeMedia(unit: Unit, context: CompactContext): Removal[] {
  if (unit.kind !== 'user' && unit.kind !== 'remark') return [];
  const message = elementAt(context.history.messages, unit.first);
  if (message.flatTokens === 0) return [];
  return message.media().flatMap((media) => {
    const { kind, part, tokens } = media;
    const removal = remove(
      {
        kind: 'part',
        reason: 'context_compaction',
        least: 0,
        message: unit.first,
        call: part,
        tool: NO_TOOL,
        callId: `part_${part}`,
        content: () => mediaContent(media),
        key: `${message.digest}:part:${part}`,
        count: () => tokens,
        replacements: (marker) => [writeMarker({ ...marker, kind, tokens })],
      },
      context,
    );
    return removal ?? [];
  });
}

/** An image or file as a content: the JSON of its part. */
export function mediaContent({ json, tokens, room }: InlineMedia): Content {
  return { text: json, type: 'application/json', weight: { texts: [], flat: tokens }, room: () => room };
}
