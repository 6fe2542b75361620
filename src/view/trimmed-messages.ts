/** Keeps what `auto` trims, before the view says so. */
import type { Plan } from '../memory/plan/plan.ts';
import type { ShownTrim } from '../memory/plan/view.ts';
import { keepContent } from '../summary/kept-transcript.ts';
import type { SummaryPorts } from '../summary/prefix.ts';
import { trimmedTranscript } from '../summary/text/trimmed-transcript.ts';
import type { Prepared } from './made-view.ts';

/**
 * The line for what a plan trims; undefined where nothing is trimmed, or where it is not known to
 * be kept.
 */
export async function keepTrimmed(
  { history, trimmed }: Plan,
  { scope, options }: Prepared,
  { conversation, refs, counter }: SummaryPorts,
): Promise<ShownTrim | undefined> {
  if (!trimmed) return undefined;
  const { tenant, label } = conversation ?? {};
  const { segments, shown } = trimmedTranscript(history, trimmed, tenant, label, counter);
  if (!conversation || !refs || options.dryRun) return shown;
  const isKept = segments.every(({ ref }) => refs.isKnown(ref));
  if (!isKept && !(await scope.mayStore(conversation.tenant))) return undefined;
  const kept = await Promise.all(segments.map((segment) => keepContent(segment, refs)));
  return kept.includes(false) ? undefined : shown;
}
