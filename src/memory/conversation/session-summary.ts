/**
 * A summary as it stands in the view (docs/design.md#summary-in-the-view), and how to recognise one
 * that the caller sends back.
 *
 *     user       Please recall what has happened …                       ← the shadow line
 *     assistant  <session_summary ref="ref_…" covers="0-41">…</session_summary>
 *
 * If the tail begins inside a turn, the user message of that turn opens with the summary instead.
 */

import type { RefNamer } from '../edits/placeholder.ts';
import type { Message } from './message.ts';
import { rehydratedAt } from './rehydrated-outputs.ts';

/** Makes the summary an answer, so that the roles alternate. */
export const SHADOW_LINE = 'Please recall what has happened in our conversation so far.';

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
  /** Its messages: one, or the shadow line and the answer. */
  readonly first: number;
  readonly last: number;
  readonly text: string;
  readonly ref: string;
  /** The outputs behind the summary, with their tags. Absent if there are none. */
  readonly rehydrated?: string;
  /**
   * Characters of the last message's opening that are the summary and these outputs; the rest is
   * the caller's.
   */
  readonly length: number;
}

/** An echo with the token counts of its text and of the outputs behind it. */
export type CountedEcho = Echo & { readonly tokens: number; readonly behind: number };

/**
 * Finds a summary directly after the preamble, or after user messages alone, which a compaction
 * keeps before it. The ref proves that Precis wrote it for this tenant.
 */
export function findEcho(messages: readonly Message[], refs: RefNamer | undefined): Echo | undefined {
  if (!refs) return undefined;
  for (const [index, { role }] of messages.entries()) {
    if (role === 'preamble') continue;
    if (role !== 'user') return undefined;
    const echo = echoAt(messages, index, refs);
    if (echo) return echo;
  }
  return undefined;
}

function echoAt(messages: readonly Message[], first: number, refs: RefNamer): Echo | undefined {
  const message = messages[first];
  if (!message) return undefined;
  const opening = message.opening();
  if (opening !== SHADOW_LINE) return parseBlock(opening, first, first, refs);
  const answer = messages[first + 1];
  if (answer?.role !== 'assistant' || answer.calls.length > 0) return undefined;
  const text = answer.opening();
  // Extra text in either message is the caller's own, so this is no echo.
  if (message.content().text !== opening || answer.content().text !== text) return undefined;
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
    text: summary,
    ref,
    ...(rehydrated === '' ? {} : { rehydrated }),
    length: whole.length + rehydrated.length,
  };
}
