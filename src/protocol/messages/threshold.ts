/**
 * Compaction at a threshold, which a caller asks for by `context_management`: the API puts its
 * summary at the beginning of an answer, and leaves out all that is before it
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-threshold). Nothing of Precis's
 * may be there, or the model would not read it.
 */
import type { View } from '../../memory/plan/view.ts';
import type { Block } from './block.ts';
import { ElementMessage } from './message.ts';

type Messages = readonly (ElementMessage | { readonly role: 'preamble' })[];

/**
 * The last message with such a summary; undefined if there is none. A failed one says nothing, and
 * after one with calls only their results may be.
 */
export function lastThreshold(messages: Messages): number | undefined {
  const at = messages.findLastIndex(
    (message) =>
      message.role === 'preamble' && message instanceof ElementMessage && message.blocks?.some(isSummary),
  );
  return at < 0 ? undefined : at;
}

function isSummary(block: Block): boolean {
  return (
    block.type === 'compaction' &&
    block.string('content') !== undefined &&
    block.field('signature') === undefined
  );
}

/**
 * A view whose summary is read: as a message of its own, if it replaces messages after the API's
 * summary and would open one before it.
 */
export function readAfter<Edited extends Pick<View, 'summary' | 'recap'>>(
  view: Edited,
  at: number | undefined,
): Edited {
  const { summary, recap: _, ...rest } = view;
  if (at === undefined || !summary || summary.signed !== undefined || summary.covers[1] < at) return view;
  if (summary.form === 'request' && (summary.request?.message ?? 0) > at) return view;
  const { request: __, recap: ___, ...shown } = summary;
  return { ...rest, summary: { ...shown, form: 'alone' } } as Edited;
}
