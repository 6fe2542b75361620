/**
 * Requests at which the caller's `tool_choice` kept the model from fetching. What it was given
 * whole then stays so until the frontier passes it, so the view of the next request extends it,
 * whatever that one chooses. Another isolate that has not seen such a request cuts what any request
 * cuts.
 */
import { elementAt } from '../lib/elements.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { ViewCall } from './made-view.ts';

/** Of a conversation, the newest ones. */
const MOST_REQUESTS = 256;

/** See `PlanRequest.closed`. Notes this request, if it is one. */
export function closedRequests(call: ViewCall): readonly number[] | undefined {
  const { request, history, options, scope, tools } = call;
  if (!tools?.retrieves) return undefined;
  const conversation = conversationOfCall(call);
  const cache = conversation && scope.services.memory.of('closed').of(conversation.name);
  const known = cache?.get('') ?? new Set();
  if (known.size === 0 && request.leavesOurs) return undefined;
  const hashes = prefixHashes(history.messages, sha256Hex);
  const own = elementAt(hashes, history.messages.length);
  const all = request.leavesOurs ? known : new Set([...known, own]);
  if (all !== known && !options.dryRun) cache?.set('', new Set([...all].slice(-MOST_REQUESTS)));
  const lengths = history.requestPoints.map(({ messages }) => messages);
  return lengths.filter((length) => all.has(elementAt(hashes, length)));
}
