/**
 * A summary as it stands in the view (docs/design.md#summary-in-the-view), and how one that comes
 * back in the caller's array is recognised.
 *
 *     user       Please recall what has happened …                       ← the shadow line
 *     assistant  <session_summary ref="ref_…" covers="0-41">…</session_summary>
 *
 * Where the tail begins inside a turn, the user message that is being worked on opens with the
 * summary instead.
 */

import type { RefNamer } from '../edits/placeholder.ts';
import type { Message } from './message.ts';

/** What the user is made to ask, so that the summary is an answer and the roles alternate. */
export const SHADOW_LINE = 'Please recall what has happened in our conversation so far.';

const BLOCK =
  /^<session_summary ref="(ref_[a-z2-7]{26})" covers="\d+-\d+">\n([\s\S]*?)\n<\/session_summary>(?:\n\n|$)/;

/**
 * The block around a summary's text.
 *
 * @param covers the first and the last message that it stands for
 */
export function writeBlock(text: string, ref: string | undefined, covers: readonly [number, number]): string {
  const name = ref === undefined ? '' : ` ref="${ref}"`;
  return `<session_summary${name} covers="${covers.join('-')}">\n${text}\n</session_summary>`;
}

/** A summary that the caller sends back. */
export interface Echo {
  /** The messages that hold it: one, or the shadow line and its answer. */
  readonly first: number;
  readonly last: number;
  readonly text: string;
  readonly ref: string;
  /**
   * How many characters of the last message's opening are the summary; what follows is the
   * caller's.
   */
  readonly length: number;
}

/** An echo that has been counted. */
export type CountedEcho = Echo & { readonly tokens: number };

/**
 * Finds a summary directly after the preamble, or behind nothing but user messages, which a
 * compaction item leaves before it. Its ref proves that Precis wrote it for this tenant.
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
  // Whatever else one of the two says is the caller's own.
  if (message.content().text !== opening || answer.content().text !== text) return undefined;
  const echo = parseBlock(text, first, first + 1, refs);
  return echo?.length === text.length ? echo : undefined;
}

function parseBlock(text: string, first: number, last: number, refs: RefNamer): Echo | undefined {
  if (!text.startsWith('<session_summary ')) return undefined;
  const [whole, ref, summary] = BLOCK.exec(text) ?? [];
  if (whole === undefined || ref === undefined || summary === undefined || !refs.owns(ref)) return undefined;
  return { first, last, text: summary, ref, length: whole.length };
}
