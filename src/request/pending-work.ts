/** Work that is left after an answer. */
import { conversationName } from '../storage/conversation/names.ts';
import type { Call } from './call.ts';

/** Has a flush of the conversation wait for work. Only a named conversation can be flushed. */
export function trackWork<Value>(work: Promise<Value>, { owner, scope }: Call): Promise<Value> {
  const { tenant } = scope.caller;
  if (!tenant || owner.conversation === undefined) return work;
  const name = conversationName(tenant.id, owner.user, { id: owner.conversation });
  return scope.services.pending.track(name, work);
}
