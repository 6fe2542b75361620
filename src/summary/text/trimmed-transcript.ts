/**
 * The transcript of the messages that `auto` trims, in segments that link back to the previous one,
 * and the line that names the last segment.
 */

import type { History } from '../../memory/conversation/history.ts';
import { parseTrimLine } from '../../memory/conversation/refs.ts';
import { writeTrimLine } from '../../memory/edits/placeholder.ts';
import { recapOverhead } from '../../memory/edits/shown-summary.ts';
import { TRIM_LINE_TOKENS, type TrimmedSpan } from '../../memory/edits/summarize.ts';
import type { ShownTrim } from '../../memory/plan/view.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import type { StoredContent } from '../../storage/refs/store.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { transcriptOf } from '../kept-transcript.ts';

interface TrimmedTranscript {
  /** To be written before the line is used. None without a tenant. */
  readonly segments: readonly StoredContent[];
  readonly shown: ShownTrim;
}

/** In characters: tokens that begin in what precedes a text end in them. */
const HEAD = 64;

export function trimmedTranscript(
  history: History,
  { from, ends, place, prefix }: TrimmedSpan,
  tenant: Tenant | undefined,
  conversation: string | undefined,
  counter: TokenCounter,
): TrimmedTranscript {
  // A line that the caller has sent back names an earlier transcript.
  const holder = 'opens' in place ? place.opens : (history.echo?.message ?? place.after + 1);
  const summary = history.echo?.message === holder ? history.echo.length : 0;
  const opening = parseTrimLine((history.messages[holder]?.opening() ?? '').slice(summary));
  const known = opening && tenant?.refs.owns(opening.ref) ? opening : undefined;
  const segments: StoredContent[] = [];
  // No summary builds on one that is trimmed: its words and its ref are in the transcript alone.
  const at = history.echo?.message ?? -1;
  const isTrimmed = from <= at && at < (ends.at(-1) ?? from);
  const whole = isTrimmed ? { ...history, echo: undefined } : history;
  for (const [index, end] of ends.entries()) {
    if (!tenant) break;
    const earlier = segments.at(-1)?.ref ?? known?.ref;
    const range = { history: whole, from: ends[index - 1] ?? from, end, earlier };
    segments.push(transcriptOf(range, tenant, conversation, counter));
  }
  const newest = segments.at(-1);
  const kept = newest && { ref: newest.ref, ...sizeOf(newest) };
  const line = writeTrimLine([from, (ends.at(-1) ?? from) - 1], kept);
  if ('opens' in place) {
    const taken = known ? summary + known.length : 0;
    const message = history.messages[place.opens];
    const isInText = taken > 0 || message?.content().isList !== true;
    // Tokens reach over the breaks, into the first characters of the text.
    const head = isInText ? (message?.opening() ?? '').slice(taken, taken + HEAD) : '';
    const opened = counter.text(head === '' ? line : `${line}\n\n${head}`) - counter.text(head);
    const request = { message: place.opens, opening: taken };
    return { segments, shown: { line, request, kept, tokens: opened - TRIM_LINE_TOKENS } };
  }
  // With a summary, the recap is counted with that.
  const overhead = prefix ? 0 : recapOverhead(place, counter);
  const tokens = counter.text(line) - TRIM_LINE_TOKENS + overhead;
  return { segments, shown: { line, recap: place, kept, tokens } };
}

function sizeOf(content: StoredContent): { tokens: number; bytes: number } {
  const { tokens, bytes } = content.metadata();
  return { tokens, bytes };
}
