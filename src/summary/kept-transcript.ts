/** What a summary covers, kept under the ref that the summary names; each transcript names the one before it. */
import type { Boundaries } from '../memory/boundaries.ts';
import type { History } from '../memory/history.ts';
import type { Entry } from '../memory/passage.ts';
import type { TokenCounter } from '../memory/tokens.ts';
import type { Memory } from '../storage/memories.ts';
import type { StoredContent } from '../storage/refs.ts';
import { labelDigest, type Tenant } from '../storage/tenant.ts';
import { type RefWriter, WRITE_LIMIT_MS } from '../storage/writer.ts';
import { entriesOf } from './entries.ts';
import { after } from './time-limit.ts';
import { writeTranscript } from './transcript.ts';

/** The name of the tool in a transcript's metadata: no tool has made it. */
const TRANSCRIPT = 'session_transcript';

/** Where a transcript starts: behind the one that its base names, and from the beginning when that names none. */
export function transcriptStart(
  history: History,
  base: Pick<Memory, 'ref' | 'covers_end'> | null | undefined,
): Pick<TranscriptRange, 'from' | 'earlier'> {
  if (base?.ref) return { from: base.covers_end, earlier: base.ref };
  return { from: 0, earlier: history.echo?.ref };
}

export interface TranscriptRange {
  readonly history: History;
  /** The messages `[from, end)`. */
  readonly from: number;
  readonly end: number;
  /** The ref of what stands before. */
  readonly earlier: string | undefined;
  /** An answer that the caller has just been given, and that is not in the array yet. */
  readonly answer?: Entry | undefined;
}

/** The transcript of a range, to be written under its ref. */
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
  return {
    ref: tenant.refs.name(`transcript:${labelDigest(keyOf(range))}`, text),
    text,
    metadata: () => ({
      tool_name: TRANSCRIPT,
      tool_call_id: 'none',
      content_type: 'text/plain; charset=utf-8',
      tokens: counter.text(text()),
      bytes: new TextEncoder().encode(text()).length,
      created: Math.floor(Date.now() / 1000),
      ...(conversation === undefined ? {} : { conversation }),
    }),
  };
}

/** Writes a transcript, as far as that is possible in time. Returns its ref, or null when it is not known to be written. */
export async function keep(content: StoredContent, refs: RefWriter): Promise<string | null> {
  const limit = after(WRITE_LIMIT_MS);
  await refs.ensure([[content]], limit.over);
  limit.clear();
  return refs.isKnown(content.ref) ? content.ref : null;
}

/** Whether a ref can be fetched, as far as that can be seen in time. */
export async function isThere(ref: string, refs: RefWriter): Promise<boolean> {
  const limit = after(WRITE_LIMIT_MS);
  const there = await refs.isThereBy(ref, limit.over);
  limit.clear();
  return there;
}

/** Whose transcripts these are, and what they are made of. */
export interface TranscriptPlace {
  readonly history: History;
  readonly boundaries: Boundaries;
  readonly tenant: Tenant;
  readonly label: string;
}

/**
 * Whether the transcript that a memory names can be fetched. One that is gone is written again: the caller's array still holds all that
 * it is made of.
 */
export async function isKept(
  memory: Memory,
  { history, boundaries, tenant, label }: TranscriptPlace,
  refs: RefWriter,
  counter: TokenCounter,
): Promise<boolean> {
  const { ref, covers_end: end, base_ref, base_prefix_hash } = memory;
  if (ref === null) return false;
  if (await isThere(ref, refs)) return true;
  const base = base_prefix_hash === null ? undefined : boundaries.ofHash(base_prefix_hash);
  const start = transcriptStart(history, base && { ref: base_ref, covers_end: base.end });
  const content = transcriptOf({ history, ...start, end }, tenant, label, counter);
  // Made of other bytes, such as an answer that its caller has rewritten, it would have another name.
  return content.ref === ref && (await keep(content, refs)) !== null;
}

/** Names the text without reading the messages: by their bytes and their places. */
function keyOf({ history, from, end, earlier = '', answer }: TranscriptRange): string {
  const digests = history.messages.slice(from, end).map(({ digest }) => digest);
  return [from, end, earlier, history.echo?.length ?? 0, ...digests, answer?.text ?? ''].join(' ');
}

function textOf({ history, from, end, earlier, answer }: TranscriptRange): string {
  const head = `Messages ${from}-${end - 1} of a conversation, as they came.\n`;
  const link = earlier === undefined ? '' : `What stood before them is kept under ${earlier}.\n`;
  const entries = [...entriesOf(history, from, end, 'whole'), ...(answer ? [answer] : [])];
  return `${head}${link}\n${writeTranscript(entries)}`.toWellFormed();
}
