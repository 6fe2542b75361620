/** Stores the messages that `auto` trims, before the view names them. */
import type { History } from '../memory/conversation/history.ts';
import type { TrimmedSpan } from '../memory/edits/trim.ts';
import type { ShownTrim } from '../memory/plan/view.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { SummaryPorts } from '../summary/conversation.ts';
import { keepContent } from '../summary/kept-transcript.ts';
import { trimmedTranscript } from '../summary/text/trimmed-transcript.ts';
import type { ViewCall } from './made-view.ts';

/** The line for trimmed messages. Undefined if they are not known to be stored. */
export async function keepTrimmed(
  history: History,
  trimmed: TrimmedSpan,
  { scope, options }: ViewCall,
  { conversation, refs }: SummaryPorts,
  counter: TokenCounter,
): Promise<ShownTrim | undefined> {
  const { tenant, label } = conversation ?? {};
  const { segments, shown } = trimmedTranscript(history, trimmed, tenant, label, counter);
  if (!conversation || !refs || options.dryRun) return shown;
  const isKept = segments.every(({ ref }) => refs.isKnown(ref));
  if (!isKept && !(await scope.mayStore(conversation.tenant))) return undefined;
  const kept = await Promise.all(segments.map((segment) => keepContent(segment, refs)));
  return kept.includes(false) ? undefined : shown;
}
