/**
 * What earlier requests have shown, as far as this isolate knows: what a conversation's upstream
 * refuses, whether its cache holds the instructions, and how long a context may be.
 */
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import type { EditingStrategy } from '../memory/modes/table.ts';
import { areUncached } from '../memory/money/uncached-instructions.ts';
import type { Warning } from '../memory/plan/report.ts';
import { HOSTED } from '../protocol/responses/hosted-output.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { type LearnedLimit, noteLimit } from '../upstream/learned-limits.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';

/** How a view is made because of it. */
interface Learned extends Pick<MadeView, 'unedited' | 'instructions'> {
  readonly warnings: Warning[];
}

export function learnedOf(call: Call, strategy: EditingStrategy, options: MakeViewOptions): Learned {
  const known = options.unedited ?? uneditedKinds(call);
  const unedited = known?.size ? known : undefined;
  const placed = placeOf(call, strategy);
  return {
    unedited,
    instructions: placed === 'uncached' ? undefined : placed,
    warnings: [
      ...(unedited ? ['outputs_whole' as const] : []),
      ...(placed === 'uncached' ? ['instructions_uncached' as const] : []),
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

/** Undefined where they stay, and nothing is wrong with that. */
function placeOf(
  call: Call,
  { move_instructions: isMoved }: EditingStrategy,
): MadeView['instructions'] | 'uncached' {
  const { request, scope } = call;
  if (!request.instructions) return undefined;
  const conversation = conversationOfCall(call);
  const known = conversation && scope.services.memory.of('instructions').get(conversation.name, '');
  if (isMoved) return known?.place === 'field' ? 'begin' : 'moved';
  return known && areUncached(known) ? 'uncached' : undefined;
}

/**
 * A view is another one than what its array was reported to have where its instructions move, and
 * those of the request before have stayed; or where outputs are whole since a later round.
 */
export function withMoved(made: MadeView, call: Call, options: MakeViewOptions): MadeView {
  const isWhole = made.unedited !== undefined && areNewlyWhole(call, options);
  if (made.instructions !== 'begin' && !isWhole) return made;
  const { report } = made;
  return { ...made, report: { ...report, frontier: { ...report.frontier, moved: true } } };
}

/** Notes that the view that was reported of a request is not the one that its answer follows. */
export function noteToldEdited(call: Call): void {
  const hash = prefixHashes(call.request.messages, sha256Hex).at(-1);
  if (hash !== undefined) toldEdited(call)?.set(hash, true);
}

/** Whether no report has said yet that outputs are whole in this array. */
function areNewlyWhole(call: Call, { dryRun }: MakeViewOptions): boolean {
  const told = toldEdited(call);
  const hashes = told ? prefixHashes(call.request.messages, sha256Hex) : [];
  const found = hashes.filter((hash) => told?.get(hash));
  if (!dryRun) for (const hash of found) told?.delete(hash);
  return found.length > 0;
}

function toldEdited(call: Call) {
  const conversation = conversationOfCall(call);
  return conversation && call.scope.services.memory.of('toldEdited').of(conversation.name);
}

/**
 * Remembers how long a context may be, and tells the deployer.
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
