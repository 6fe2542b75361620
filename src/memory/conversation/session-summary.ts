/**
 * A summary as it is in the view (docs/design.md#summary-in-the-view), and how to recognize one
 * that the caller sends back.
 *
 *     user       the first request of the conversation, as it came
 *     assistant  <session_summary ref="ref_…" covers="0-41">…</session_summary>     ← the recap
 *
 * If the turn of the first request continues after the summary, a fixed user line follows. If the
 * first request does not stay, a shadow line replaces it. If the tail begins inside a turn then,
 * the user message of that turn opens with the summary instead.
 *
 * A summary with a ref of this tenant, directly after the preamble, as the answer to the first
 * request, or after user messages alone (which a compaction keeps before it), is the base of the
 * next one, and is no turn. A first request before it is part of its unit and no turn either, so
 * that the view replays in step with the array that it was made of; unless the fixed line says that
 * its turn goes on.
 */

import type { Message } from './message.ts';
import { parseTrimLine, type RefNamer } from './refs.ts';
import { rehydratedAt } from './rehydrated-outputs.ts';

/** Makes the summary an answer, so that the roles alternate. */
export const SHADOW_LINE = 'Please recall what has happened in our conversation so far.';

/** Makes what follows the recap an answer, if the caller has said nothing between. */
export const CONTINUE_LINE = 'Please continue where this leaves off.';

const REF = /^<session_summary ref="(ref_[a-z2-7]{26})"/;

/** The ref of the transcript that a block names. */
export function refOfBlock(block: string): string | undefined {
  return REF.exec(block)?.[1];
}

const BLOCK =
  /^<session_summary ref="(ref_[a-z2-7]{26})" covers="\d+-\d+">\n([\s\S]*?)\n<\/session_summary>(?:\n\n|$)/;

/**
 * The block around a summary's text.
 *
 * @param covers index of the first and the last message it covers
 */
export function writeBlock(text: string, ref: string | undefined, covers: readonly [number, number]): string {
  const name = ref === undefined ? '' : ` ref="${ref}"`;
  return `<session_summary${name} covers="${covers.join('-')}">\n${text}\n</session_summary>`;
}

/** A summary that the caller sends back. */
export interface Echo {
  /**
   * Its messages: one that it opens; or the answer and the line before or after it. Instead of the
   * shadow line, the first request counts among them: its turn has left the conversation.
   */
  readonly first: number;
  readonly last: number;
  /** The message that begins with the summary. */
  readonly message: number;
  /** The first request, if it is one of its messages. */
  readonly request?: number;
  readonly text: string;
  readonly ref: string;
  /** The outputs after the summary, with their tags. Absent if there are none. */
  readonly rehydrated?: string;
  /**
   * Characters of that message's opening that are the summary and these outputs. What follows is
   * not.
   */
  readonly length: number;
}

/** An echo with the token counts of its text and of the outputs after it. */
export type CountedEcho = Echo & { readonly tokens: number; readonly after: number };

/**
 * Finds a summary directly after the preamble, after the first request, or after user messages
 * alone, which a compaction keeps before it. The ref proves that Precis wrote it for this tenant.
 */
export function findEcho(messages: readonly Message[], refs: RefNamer | undefined): Echo | undefined {
  if (!refs) return undefined;
  for (const [index, { role }] of messages.entries()) {
    if (role === 'preamble') continue;
    if (role !== 'user') return recapAt(messages, index, refs);
    const echo = echoAt(messages, index, refs);
    if (echo) return echo;
  }
  return undefined;
}

/** A recap with a summary, if nothing but the first request is before it. */
function recapAt(messages: readonly Message[], index: number, refs: RefNamer): Echo | undefined {
  const request = messages.findIndex(({ role }) => role === 'user');
  const recap = messages[index];
  if (request < 0 || request !== index - 1 || !isPlainAnswer(recap)) return undefined;
  const text = recap.opening();
  const echo = parseBlock(text, index, index, refs);
  if (!echo || recap.content().text !== text || !isTrimLine(text.slice(echo.length), refs)) return undefined;
  const next = messages[index + 1];
  const goesOn = next?.role === 'user' && isExactly(next, CONTINUE_LINE);
  return goesOn ? { ...echo, last: index + 1 } : { ...echo, first: request, request };
}

/** Whether a text is nothing, or the line for trimmed messages alone. */
function isTrimLine(text: string, refs: RefNamer): boolean {
  if (text === '') return true;
  const line = parseTrimLine(text);
  return line !== undefined && line.length === text.length && refs.owns(line.ref);
}

function isPlainAnswer(message: Message | undefined): message is Message {
  return message?.role === 'assistant' && message.calls.length === 0;
}

/** Extra text in a message by Precis is the caller's own. */
function isExactly(message: Message, line: string): boolean {
  return message.opening() === line && message.content().text === line;
}

function echoAt(messages: readonly Message[], first: number, refs: RefNamer): Echo | undefined {
  const message = messages[first];
  if (!message) return undefined;
  const opening = message.opening();
  if (opening !== SHADOW_LINE) return parseBlock(opening, first, first, refs);
  const answer = messages[first + 1];
  if (!isPlainAnswer(answer)) return undefined;
  const text = answer.opening();
  if (!isExactly(message, SHADOW_LINE) || answer.content().text !== text) return undefined;
  const echo = parseBlock(text, first, first + 1, refs);
  return echo?.length === text.length ? echo : undefined;
}

function parseBlock(text: string, first: number, last: number, refs: RefNamer): Echo | undefined {
  if (!text.startsWith('<session_summary ')) return undefined;
  const [whole, ref, summary] = BLOCK.exec(text) ?? [];
  if (whole === undefined || ref === undefined || summary === undefined || !refs.owns(ref)) return undefined;
  const rehydrated = rehydratedAt(text.slice(whole.length));
  return {
    first,
    last,
    message: last,
    text: summary,
    ref,
    ...(rehydrated === '' ? {} : { rehydrated }),
    length: whole.length + rehydrated.length,
  };
}
