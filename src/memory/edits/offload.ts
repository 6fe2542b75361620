/** Offload: a huge tool output is replaced by its head and its tail, and a ref between the two. */
import { withoutHalfAtEnd, withoutHalfAtStart } from '../../lib/characters.ts';
import type { History, Output } from '../conversation/history.ts';
import type { CompactSettings } from '../strategy/fields.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { type CompactContext, candidateOf, messageAt, outputLine, remove } from './compact.ts';
import type { Removal } from './removal.ts';

/** What an output is offloaded by. */
export interface OffloadSettings extends CompactSettings {
  /** What has no more tokens than this stays. */
  readonly offload_min_tokens: number;
}

/** What stays of an offloaded output, in tokens. */
const HEAD_TOKENS = 160;
const TAIL_TOKENS = 80;

/**
 * An offloaded output may have so many times the preview of a compacted one: it is at least that
 * much larger.
 */
const PREVIEW_FACTOR = 4;

/**
 * Where a line ends within this share of a head, or begins within that of a tail, it is cut there.
 */
const LINE_SHARE = 0.5;

/**
 * The offloading of a tool output; undefined where it is not large enough, or where nothing keeps
 * it.
 */
export function offloadOutput(
  history: History,
  output: Output,
  strategy: OffloadSettings,
  context: CompactContext,
): Removal | undefined {
  // What can't be fetched again is not taken from a model that has yet to see it.
  if (!context.keep || !context.refs) return undefined;
  const message = messageAt(history, output.message);
  // Bytes are never fewer than tokens.
  if (message.bytes <= strategy.offload_min_tokens) return undefined;
  const { texts, flat } = message.content().weight;
  if (flat > 0) return undefined;
  return remove(
    {
      ...candidateOf(output, message, context),
      reason: 'offloaded',
      least: strategy.offload_min_tokens + 1,
      replacements: (marker, facts) => {
        const line = outputLine(marker, facts);
        const text = texts.join('\n');
        facts.ends ??= endsOf(text, context.counter);
        const removed = { from: facts.ends.head, to: facts.ends.tail };
        const most = PREVIEW_FACTOR * strategy.compact_preview_tokens;
        const preview = most === 0 ? '' : context.writer.write(output.message, () => text, most, removed);
        const parts = [text.slice(0, removed.from).trimEnd(), line, preview, text.slice(removed.to)];
        return [parts.filter((part) => part !== '').join('\n')];
      },
    },
    strategy,
    context,
  );
}

function endsOf(text: string, counter: TokenCounter): { head: number; tail: number } {
  const head = headOf(text, HEAD_TOKENS, counter).length;
  return { head, tail: text.length - tailOf(text.slice(head), TAIL_TOKENS, counter).length };
}

/**
 * The beginning of a text, at most so many tokens, cut behind a line or at least between two
 * characters.
 */
export function headOf(text: string, tokens: number, counter: TokenCounter): string {
  const head = withoutHalfAtEnd(fitting((length) => text.slice(0, length), text.length, tokens, counter));
  const line = head.lastIndexOf('\n') + 1;
  return head.length < text.length && line >= head.length * LINE_SHARE ? head.slice(0, line) : head;
}

/** The end of a text, likewise, cut before a line. */
export function tailOf(text: string, tokens: number, counter: TokenCounter): string {
  const tail = fitting((length) => text.slice(text.length - length), text.length, tokens, counter);
  const whole = withoutHalfAtStart(tail);
  const line = whole.indexOf('\n') + 1;
  return whole.length < text.length && line > 0 && line <= whole.length * LINE_SHARE
    ? whole.slice(line)
    : whole;
}

/** The longest cut that has at most so many tokens, to within a tenth. */
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
