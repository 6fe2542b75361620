/**
 * Whether Precis asks the vendor why its cache was missed (docs/money.md#asking-the-vendor). It is
 * asked of the conversation's last answer, as far as this isolate knows it.
 */
import { edits } from '../memory/modes/strategy.ts';
import type { Call } from './call.ts';
import { isRefused } from './model-refusals.ts';

export function asksDiagnostics({ request, chosen: { strategy }, owner, scope }: Call): boolean {
  if (!edits(strategy) || strategy.cache_diagnostics !== true || owner.off.length > 0) return false;
  // Such requests pass unchanged.
  if (request.upstreamState !== undefined || request.isCompaction) return false;
  return scope.caller.tenant !== undefined && !isRefused('diagnostics', request, scope);
}
