/**
 * What earlier requests have shown, as far as this isolate knows: what a conversation's upstream
 * refuses, whether its cache holds the instructions, and how long a context may be.
 */
import type { EditingStrategy } from '../memory/modes/table.ts';
import { areUncached } from '../memory/money/uncached-instructions.ts';
import type { Warning } from '../memory/plan/report.ts';
import { HOSTED } from '../protocol/responses/hosted-output.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { type LearnedLimit, noteLimit } from '../upstream/learned-limits.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';

/** How a view is made because of it. */
interface Learned extends Pick<MadeView, 'unedited' | 'movesInstructions'> {
  readonly warnings: Warning[];
}

export function learnedOf(call: Call, strategy: EditingStrategy, options: MakeViewOptions): Learned {
  const known = options.unedited ?? uneditedKinds(call);
  const unedited = known?.size ? known : undefined;
  const movesInstructions = strategy.move_instructions && call.request.instructions !== undefined;
  return {
    unedited,
    movesInstructions,
    warnings: [
      ...(unedited ? ['outputs_whole' as const] : []),
      ...(!movesInstructions && areLeftOut(call) ? ['instructions_uncached' as const] : []),
    ],
  };
}

/** Kinds of elements whose outputs stay whole, since the upstream has refused them edited. */
function uneditedKinds(call: Call): ReadonlySet<string> | undefined {
  const refusals = call.scope.services.memory.of('refusals');
  const conversation = refusals.isEmpty ? undefined : conversationOfCall(call);
  if (!conversation) return undefined;
  const kinds = HOSTED.filter((kind) => refusals.get(conversation.name, kind) !== undefined);
  return kinds.length === 0 ? undefined : new Set(kinds);
}

/** Whether the upstream's cache leaves the instructions out. */
function areLeftOut(call: Call): boolean {
  const conversation = call.request.instructions && conversationOfCall(call);
  const known = conversation && call.scope.services.memory.of('instructions').get(conversation.name, '');
  return known !== undefined && areUncached(known);
}

/**
 * Remembers how long a context may be, and reports it to the deployer.
 *
 * @param limit undefined if nothing was learned
 * @param stated the upstream's own number of tokens, which the limit was made from
 */
export function learnLimit(
  limit: LearnedLimit | undefined,
  stated: number | undefined,
  { request, scope: { services, caller, waitUntil } }: Call,
): void {
  if (!limit || !caller.tenant) return;
  const { id: tenant } = caller.tenant;
  noteLimit(services.memory.of('learnedLimits'), tenant, request.model, limit, request.answerTokens);
  const data = { tenant, model: request.model ?? null, tokens: limit.tokens, stated: stated ?? null };
  services.webhooks.notify('limit.learned', data, waitUntil);
}
