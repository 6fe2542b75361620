/** Warnings about the limits of a strategy, which report no fault. */
import type { History } from '../memory/conversation/history.ts';
import { SMALLEST_WINDOW } from '../memory/models/facts.ts';
import type { PlanRequest } from '../memory/modes/planned.ts';
import { waitsForWindow } from '../memory/modes/strategy.ts';
import type { EditingStrategy } from '../memory/modes/table.ts';
import type { Report, Warning } from '../memory/plan/report.ts';
import type { MakeViewOptions } from './made-view.ts';

/** Of messages whose tokens nobody has counted: about as many as in English text. */
const BYTES_PER_TOKEN = 4;

/** Adds `idle` and `window_unknown` to a report. */
export function withNotices(
  report: Report,
  strategy: EditingStrategy,
  { terms, limit, history }: PlanRequest,
  options: MakeViewOptions,
): Report {
  const notices: Warning[] = [];
  if (isIdle(report, strategy, options)) notices.push('idle');
  const isUnknown =
    terms.windowAssumed && strategy.context_window_tokens === undefined && limit === undefined;
  if (isUnknown && (report.tokens?.after ?? tokensOf(history)) > SMALLEST_WINDOW)
    notices.push('window_unknown');
  return { ...report, warnings: [...new Set([...report.warnings, ...notices])] };
}

/** Whether a request is unchanged since its strategy names no budget and no trigger. */
function isIdle(report: Report, strategy: EditingStrategy, { force }: MakeViewOptions): boolean {
  const { before, budget, window } = report.tokens ?? { before: 0, budget: null, window: 0 };
  const isDue = force || before > (budget ?? window) || report.applied_edits.length > 0;
  return !isDue && waitsForWindow(strategy);
}

/** An estimate. Media have the tokens of their kind, whatever their bytes. */
function tokensOf({ messages }: History): number {
  return messages.reduce((sum, { bytes, flatTokens }) => sum + bytes / BYTES_PER_TOKEN + flatTokens, 0);
}
