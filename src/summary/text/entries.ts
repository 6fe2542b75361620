/** Messages of a history as plain data for summaries and transcripts. */

import { type History, messagesOf } from '../../memory/conversation/history.ts';
import type { Attachment, Message } from '../../memory/conversation/message.ts';
import type { Boundary, Entry, Piece } from '../../memory/conversation/passage.ts';
import type { Echo } from '../../memory/conversation/session-summary.ts';
import type { Removal } from '../../memory/edits/removal.ts';
import { contentOf } from '../../memory/edits/removed-content.ts';
import type { KnownSummary } from '../writer.ts';
import { describeAttachment } from './attachments.ts';

/**
 * How much of a message an entry contains: what a model reads, or everything, including image data.
 */
type Detail = 'readable' | 'whole';

/**
 * The messages `[from, to)`, without the preamble and without Precis's own part of the history's
 * echo: a summary that the caller has sent back.
 */
export function entriesOf(history: History, from: number, to: number, detail: Detail): Entry[] {
  const entries: Entry[] = [];
  const { echo } = history;
  for (const unit of history.units) {
    if (unit.last < from || unit.first >= to) continue;
    const calls = new Map(unit.outputs.map(({ message, call }) => [message, call]));
    for (const index of messagesOf(history, unit)) {
      const message = history.messages[index];
      if (!message || index < from || index >= to || message.role === 'preamble') continue;
      const call = calls.get(index);
      const text = textOfEntry(message, detail, echo?.message === index ? echo.length : 0);
      if (echo && unit.kind === 'summary' && !isCallers(index, text, echo)) continue;
      const attached = namedIn(message);
      entries.push({
        index,
        role: calls.has(index) ? 'tool' : message.role,
        text,
        calls: message.calls.map(({ id, name, input }) => ({ id, name, input })),
        ...(attached.length > 0 ? { attached } : {}),
        ...(call ? { tool: { id: call.id, name: call.name } } : {}),
      });
    }
  }
  return entries;
}

/**
 * A tool output as a transcript has it, except for its index.
 *
 * @param call undefined for a text observation
 */
export function outputEntry(message: Message, call: Entry['tool']): Pick<Entry, 'role' | 'text' | 'tool'> {
  const text = textOfEntry(message, 'whole', 0);
  return { role: 'tool', text, ...(call ? { tool: { id: call.id, name: call.name } } : {}) };
}

function namedIn(message: Message): Attachment[] {
  if (message.flatTokens === 0) return [];
  return (message.content().attached?.() ?? []).filter(({ names }) => names.length > 0);
}

/** Whether a message of a summary's unit is the first request, or has a line beside the summary. */
function isCallers(index: number, text: string, echo: Echo): boolean {
  return index === echo.request || (index === echo.message && text !== '');
}

/** The summary that the caller has sent back. It ends where the messages continue. */
export function echoOf({ echo }: History): KnownSummary | undefined {
  // If a user message opens with it, the rest of that message is still to be read.
  return echo && { text: echo.text, end: echo.last + (echo.first === echo.last ? 0 : 1) };
}

/**
 * The entries between boundaries, one piece for each.
 *
 * @param boundaries ascending, between units
 * @param removals contents that placeholders replace
 */
export function piecesOf(
  history: History,
  from: number,
  boundaries: readonly Boundary[],
  removals: readonly Removal[] = [],
): Piece[] {
  const ahead = boundaries.filter(({ end }) => end > from);
  const whole = entriesOf(history, from, ahead.at(-1)?.end ?? from, 'readable');
  const byMessage = Map.groupBy(removals, ({ message }) => message);
  const entries = whole.map((entry) =>
    (byMessage.get(entry.index) ?? []).reduce(
      (left, removal) => shortened(left, removal, history.messages),
      entry,
    ),
  );
  let next = 0;
  return ahead.map((boundary) => {
    const start = next;
    while ((entries[next]?.index ?? Number.POSITIVE_INFINITY) < boundary.end) next++;
    return { entries: entries.slice(start, next), boundary };
  });
}

function shortened(entry: Entry, removal: Removal, messages: readonly Message[]): Entry {
  const { kind, call, replacement } = removal;
  if (kind === 'hosted') {
    const output = contentOf(removal, messages).weight.texts.join('\n');
    return { ...entry, text: entry.text.replace(output, () => replacement) };
  }
  if (kind === 'output') return { ...entry, text: replacement };
  if (kind === 'part') return { ...entry, text: `${entry.text}\n${replacement}` };
  const calls = entry.calls.map((made, index) => (index === call ? { ...made, input: replacement } : made));
  return { ...entry, calls };
}

/** @param skipped characters of the opening that are a summary which the caller has sent back */
function textOfEntry(message: Message, detail: Detail, skipped: number): string {
  const content = message.content();
  const known = new Set(message.calls.flatMap(({ name, input }) => [name, input]));
  const metadata = message.otherTexts().filter((text) => !known.has(text));
  const join = (texts: readonly string[]): string => [...metadata, ...texts].filter(Boolean).join('\n');
  const without = (text: string): string =>
    skipped > 0 && text.startsWith(message.opening().slice(0, skipped)) ? text.slice(skipped) : text;
  if (detail === 'whole') return join([without(content.text), ...(message.beside?.() ?? [])]);
  const { texts, flat, encrypted = 0 } = content.weight;
  const [opening = '', ...others] = texts;
  const attached = flat > encrypted ? (content.attached?.() ?? []) : [];
  const lines = attached.map((one) => `[${describeAttachment(one)}]`);
  const unnamed = lines.length === 0 && flat > encrypted ? ['[images, audio or files]'] : [];
  return join([without(opening), ...others, ...lines, ...unnamed]);
}
