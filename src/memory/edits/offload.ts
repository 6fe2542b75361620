/**
 * Offload: replaces a huge tool output by its head, a marker with a ref, and its tail.
 *
 * Head and tail are cut at lines and characters.
 */

import { withoutHalfAtEnd, withoutHalfAtStart } from '../../lib/characters.ts';
import { elementAt } from '../../lib/elements.ts';
import type { Output } from '../conversation/history.ts';
import type { CompactSettings } from '../strategy/fields.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import {
  type CompactContext,
  candidateOf,
  outputLine,
  type RemovalCandidate,
  removeOnce,
} from './compact.ts';
import type { Removal } from './removal.ts';

interface OffloadSettings extends CompactSettings {
  /** Whether a model's words replace preview, head and tail. */
  readonly offload_digest: 'preview' | 'model';
}

/** Tokens of head and tail. */
const HEAD_TOKENS = 160;
const TAIL_TOKENS = 80;

/**
 * The preview may be this much longer than a compacted output's, since the output is much larger.
 */
const PREVIEW_FACTOR = 4;
/** Tokens of the preview without a setting. */
const PREVIEW_TOKENS = 192;

/** Cut at a line break if one is within this share of the head or tail. */
const LINE_SHARE = 0.5;

/**
 * The offloading of a tool output; undefined if it is too small, or if nothing can store it.
 *
 * @param most tokens of the largest output that stays
 */
export function offloadOutput(
  output: Output,
  context: CompactContext<OffloadSettings>,
  most: number,
): Removal | undefined {
  const { history, strategy } = context;
  // The model may not have seen it yet, so it must be possible to fetch it.
  if (!context.keep || !context.refs) return undefined;
  const message = elementAt(history.messages, output.message);
  // Tokens are never more than bytes.
  if (message.bytes <= most) return undefined;
  return removeOnce(`offloaded ${most}`, message, context, () => {
    const { texts, flat } = message.content().weight;
    if (flat > 0) return undefined;
    const line: NonNullable<RemovalCandidate['digestLine']> = (marker, facts) =>
      outputLine(output, marker, facts);
    return {
      ...candidateOf(output, message, context),
      reason: 'offloaded',
      least: most + 1,
      digestLine: strategy.offload_digest === 'model' ? line : undefined,
      replacements: (marker, facts) => {
        const text = texts.join('\n');
        facts.ends ??= endsOf(text, context.counter);
        const removed = { from: facts.ends.head, to: facts.ends.tail };
        const setting = strategy.compact_preview_tokens;
        const longest = setting === undefined ? PREVIEW_TOKENS : PREVIEW_FACTOR * setting;
        const preview =
          longest === 0 ? '' : context.writer.write(output.message, () => text, longest, removed);
        const head = text.slice(0, removed.from).trimEnd();
        const parts = [head, line(marker, facts), preview, text.slice(removed.to)];
        return [parts.filter((part) => part !== '').join('\n')];
      },
    };
  });
}

function endsOf(text: string, counter: TokenCounter): { head: number; tail: number } {
  const head = headOf(text, HEAD_TOKENS, counter).length;
  return { head, tail: text.length - tailOf(text.slice(head), TAIL_TOKENS, counter).length };
}

/** The beginning of a text with at most this many tokens, cut after a line break if possible. */
export function headOf(text: string, tokens: number, counter: TokenCounter): string {
  const head = withoutHalfAtEnd(fitting((length) => text.slice(0, length), text.length, tokens, counter));
  const line = head.lastIndexOf('\n') + 1;
  return head.length < text.length && line >= head.length * LINE_SHARE ? head.slice(0, line) : head;
}

/** The end of a text, likewise, cut before a line if possible. */
export function tailOf(text: string, tokens: number, counter: TokenCounter): string {
  const tail = fitting((length) => text.slice(text.length - length), text.length, tokens, counter);
  const whole = withoutHalfAtStart(tail);
  const line = whole.indexOf('\n') + 1;
  return whole.length < text.length && line > 0 && line <= whole.length * LINE_SHARE
    ? whole.slice(line)
    : whole;
}

/** The longest cut with at most this many tokens, to within a tenth. */
function fitting(
  cut: (length: number) => string,
  longest: number,
  tokens: number,
  counter: TokenCounter,
): string {
  // A token of ordinary text has about four characters.
  let length = Math.min(longest, 4 * tokens);
  for (;;) {
    const text = cut(length);
    const count = counter.text(text);
    if (count <= tokens) return text;
    length = Math.floor(length * Math.min(0.9, tokens / count));
  }
}
