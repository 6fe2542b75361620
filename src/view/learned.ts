/**
 * What earlier requests of a conversation have shown, as far as this isolate knows: what its
 * upstream refuses, and whether its cache holds the instructions.
 */
import type { EditingStrategy } from '../memory/modes/table.ts';
import { areUncached } from '../memory/money/uncached-instructions.ts';
import type { Warning } from '../memory/plan/report.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';
import { uneditedKinds } from './unedited.ts';

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

/** Undefined where they stay, and nothing is wrong with that. */
function placeOf(
  call: Call,
  { move_instructions: isMoved }: EditingStrategy,
): MadeView['instructions'] | 'uncached' {
  const { request, scope } = call;
  if (!request.instructions) return undefined;
  const conversation = conversationOfCall(call);
  const known = conversation && scope.caches.conversation(conversation.name).instructions.get('');
  if (isMoved) return known?.place === 'field' ? 'begin' : 'moved';
  return known && areUncached(known) ? 'uncached' : undefined;
}

/**
 * A view whose instructions move, where those of the request before have stayed, is another one.
 */
export function withBegun(made: MadeView): MadeView {
  if (made.instructions !== 'begin') return made;
  const { report } = made;
  return { ...made, report: { ...report, frontier: { ...report.frontier, moved: true } } };
}
