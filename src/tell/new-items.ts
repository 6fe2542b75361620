/** Which items of a view are new since the conversation's earlier requests in this isolate. */
import { type ViewItem, viewItems } from '../memory/plan/view-items.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { MadeView } from '../view/made-view.ts';

/**
 * Counts the items that a view has left out or replaced and that no earlier one had, by type of
 * edit, and remembers them. Of a request whose conversation is not known, all are new. Undefined
 * where nothing is counted.
 */
export function newItems({ view }: MadeView, call: Call): ReadonlyMap<ViewItem['type'], number> | undefined {
  const { services } = call.scope;
  if (!view || !services.metrics.isOn) return undefined;
  const items = viewItems(view);
  if (items.length === 0) return undefined;
  const conversation = conversationOfCall(call);
  const known = conversation && services.memory.of('items').of(conversation.name);
  const before = known?.get('');
  const counts = new Map<ViewItem['type'], number>();
  for (const { type, name } of items) if (!before?.has(name)) counts.set(type, (counts.get(type) ?? 0) + 1);
  if (counts.size > 0) known?.set('', new Set([...(before ?? []), ...items.map(({ name }) => name)]));
  return counts;
}
