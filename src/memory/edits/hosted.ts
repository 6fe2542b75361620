/** Replaces old outputs of tools that the upstream runs, where they are in the answers. */
import { elementAt } from '../../lib/elements.ts';
import type { Unit } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import type { RefNamer } from '../conversation/refs.ts';
import { type CompactContext, previewed, removeOnce } from './compact.ts';
import { NO_CALL, writeMarker } from './placeholder.ts';
import type { Removal } from './removal.ts';

/** The removals of a unit's hosted outputs. @param least tokens of the smallest that is removed */
export function compactHosted(
  unit: Unit,
  context: CompactContext,
  least: number = context.strategy.compact_min_tokens,
): Removal[] {
  if (unit.kind !== 'assistant') return [];
  const removals: Removal[] = [];
  for (let index = unit.first; index <= unit.last; index++) {
    const message = elementAt(context.history.messages, index);
    for (const [call, { tool, id = NO_CALL, content }] of (message.hosted?.() ?? []).entries()) {
      const key = keyOf(message, call);
      const removal = removeOnce(`hosted ${call} ${least}`, message, context, () => ({
        kind: 'hosted',
        reason: 'context_compaction',
        least,
        message: index,
        call,
        tool,
        callId: id,
        content,
        key,
        count: () => context.counter.weight(key, () => content().weight),
        replacements: (marker, { tokens }) => {
          const line = writeMarker({ ...marker, kind: 'tool output', tokens });
          const write = (most: number) =>
            context.writer.write(index, () => content().text, most, undefined, call);
          return previewed(line, context, { tokens }, write);
        },
      }));
      if (removal) removals.push(removal);
    }
  }
  return removals;
}

/** The ref of a hosted output. @param text of its content */
export function hostedRef(message: Message, index: number, text: string, refs: RefNamer): string {
  return refs.name(keyOf(message, index), () => text);
}

function keyOf({ digest }: Message, index: number): string {
  return `${digest}:hosted:${index}`;
}
