/** Kinds of elements whose outputs stay whole, since the upstream has refused them edited. */
import { HOSTED } from '../protocol/responses/hosted-output.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';

/** Of this conversation, as far as this isolate knows. Undefined: none. */
export function uneditedKinds(call: Call): ReadonlySet<string> | undefined {
  const { refusals } = call.scope.services;
  const conversation = refusals.any ? conversationOfCall(call) : undefined;
  if (!conversation) return undefined;
  const kinds = HOSTED.filter((kind) => refusals.at(conversation.name, kind) !== undefined);
  return kinds.length === 0 ? undefined : new Set(kinds);
}
