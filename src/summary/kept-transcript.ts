/**
 * Transcripts of the messages that summaries cover. A summary names the ref of its transcript, and
 * each transcript names the previous one.
 *
 * A version remembers where its transcript starts. A lost transcript is written again from the
 * caller's array, under the same ref.
 */

import { Buffer } from 'node:buffer';
import { after } from '../lib/time-limit.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Entry } from '../memory/conversation/passage.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory, Transcript } from '../storage/conversation/memories.ts';
import type { StoredContent } from '../storage/refs/store.ts';
import type { RefWriter } from '../storage/refs/writer.ts';
import { sha256Hex, type Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { StoredConversation } from './conversation.ts';
import { entriesOf } from './text/entries.ts';
import { writeTranscript } from './text/transcript.ts';

/** The tool name in a transcript's metadata. */
const TRANSCRIPT = 'session_transcript';

/** For a summary without a stored transcript. */
export const NO_TRANSCRIPT: Transcript = { ref: null, transcript_from: '', transcript_earlier: null };

/**
 * Where a transcript starts: after the transcript of its base, or at the first message if the base
 * has none.
 */
export function transcriptStart(
  history: History,
  base: Pick<Memory, 'ref' | 'covers_end'> | null | undefined,
): Pick<TranscriptRange, 'from' | 'earlier'> {
  if (base?.ref) return { from: base.covers_end, earlier: base.ref };
  return { from: 0, earlier: history.echo?.ref };
}

interface TranscriptRange {
  readonly history: History;
  /** The messages `[from, end)`. */
  readonly from: number;
  readonly end: number;
  /** The ref of the previous transcript. */
  readonly earlier: string | undefined;
  /** An answer that is not in the caller's array yet. */
  readonly answer?: Entry | undefined;
}

/** The transcript of a range, ready to be written under its ref. */
export function transcriptOf(
  range: TranscriptRange,
  tenant: Tenant,
  conversation: string | undefined,
  counter: TokenCounter,
): StoredContent {
  let known: string | undefined;
  const text = (): string => {
    known ??= textOf(range);
    return known;
  };
  const ref = tenant.refs.name(`transcript:${sha256Hex(keyOf(range))}`, text);
  return {
    ref,
    text,
    metadata: () => ({
      tool_name: TRANSCRIPT,
      tool_call_id: 'none',
      content_type: 'text/plain; charset=utf-8',
      tokens: counter.weight(`transcript:${ref}`, () => ({ texts: [text()], flat: 0 })),
      bytes: Buffer.byteLength(text()),
      created: Math.floor(Date.now() / 1000),
      ...(conversation === undefined ? {} : { conversation }),
    }),
  };
}

/** The source and the destination of a conversation's transcripts. */
export interface TranscriptPlace {
  readonly history: History;
  readonly boundaries: Boundaries;
  readonly conversation: StoredConversation;
  readonly refs: RefWriter;
  readonly counter: TokenCounter;
}

/** A transcript before it is written. */
export interface NamedTranscript {
  /** Its ref and start, as stored with a version. */
  readonly named: Transcript;
  /** Writes it within a time limit. @returns whether it is known to be written */
  write(): Promise<boolean>;
}

export function nameTranscript(range: TranscriptRange, place: TranscriptPlace): NamedTranscript {
  const { conversation, refs, counter, boundaries } = place;
  const content = transcriptOf(range, conversation.tenant, conversation.label, counter);
  const { from, earlier } = range;
  const start = { transcript_from: boundaries.at(from).prefixHash, transcript_earlier: earlier ?? null };
  return { named: { ref: content.ref, ...start }, write: () => keepContent(content, refs) };
}

/**
 * Writes a content within a time limit.
 *
 * @returns whether it is known to be written
 */
export async function keepContent(content: StoredContent, refs: RefWriter): Promise<boolean> {
  const limit = after(TIME_LIMITS.refWriteMs);
  await refs.ensure([[content]], limit.over);
  limit.clear();
  return refs.isKnown(content.ref);
}

/** Whether a ref is known to be fetchable within a time limit. */
export async function isThere(ref: string, refs: RefWriter): Promise<boolean> {
  const limit = after(TIME_LIMITS.refWriteMs);
  const there = await refs.isThereBy(ref, limit.over);
  limit.clear();
  return there;
}

/** A ref from the caller, if it is this tenant's and can be fetched. */
export async function ownRef(
  ref: string | undefined,
  { tenant, refs }: { readonly tenant: Tenant | undefined; readonly refs: RefWriter | undefined },
): Promise<string | undefined> {
  if (ref === undefined || !refs || !tenant?.refs.owns(ref)) return undefined;
  return (await isThere(ref, refs)) ? ref : undefined;
}

/**
 * The ref of a version's transcript. A missing one is written again, since the caller's array still
 * contains its messages: under the same ref if it can follow the one before it, else from the
 * array's beginning.
 */
export async function fetchableRef(memory: Memory, place: TranscriptPlace): Promise<string | undefined> {
  const { ref, covers_end: end, transcript_from, transcript_earlier: earlier } = memory;
  const { history, boundaries, refs, conversation, counter } = place;
  if (ref !== null && (await isThere(ref, refs))) return ref;
  const from = transcript_from === '' ? 0 : boundaries.ofHash(transcript_from)?.end;
  // A link to a transcript that has gone would lead nowhere.
  const follows = ref !== null && from !== undefined && (earlier === null || (await isThere(earlier, refs)));
  const start = follows ? { from, earlier: earlier ?? undefined } : transcriptStart(history, undefined);
  const content = transcriptOf({ history, ...start, end }, conversation.tenant, conversation.label, counter);
  return (await keepContent(content, refs)) ? content.ref : undefined;
}

const LINK = /^What stood before them is kept under (ref_[a-z2-7]{26})\.$/m;

/** What the lines before a transcript's first message say. */
export function parseTranscriptHead(text: string): { readonly earlier: string | undefined } {
  const head = text.slice(0, Math.max(0, text.indexOf('\n\n')));
  return { earlier: LINK.exec(head)?.[1] };
}

/** A key for the text that needs no message contents: digests and indices. */
function keyOf({ history, from, end, earlier = '', answer }: TranscriptRange): string {
  const messages = history.messages
    .slice(from, end)
    .flatMap(({ role, digest }, index) => (role === 'preamble' ? [] : `${from + index}:${digest}`));
  return [earlier, history.echo?.length ?? 0, ...messages, answer?.index ?? '', answer?.text ?? ''].join(' ');
}

function textOf({ history, from, end, earlier, answer }: TranscriptRange): string {
  const entries = [...entriesOf(history, from, end, 'whole'), ...(answer ? [answer] : [])];
  const head = `Messages ${entries[0]?.index}-${entries.at(-1)?.index} of a conversation, unchanged.\n`;
  const link = earlier === undefined ? '' : `What stood before them is kept under ${earlier}.\n`;
  return `${head}${link}\n${writeTranscript(entries)}`.toWellFormed();
}
