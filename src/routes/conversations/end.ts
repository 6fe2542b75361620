/**
 * `POST /v1/conversations/{id}/end`: makes the final summary of a conversation, and publishes it to
 * the user's other conversations (docs/conversations.md#memory-across-conversations).
 */
import { readWholeCall } from '../../answer/read-call.ts';
import { wholeSummary } from '../../memory/modes/strategy.ts';
import type { ModelRequest, WireMessage } from '../../protocol/model-request.ts';
import { ApiError } from '../../request/errors.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { workLimited } from '../../view/limited-summary.ts';
import { endSession } from '../../view/session-memory.ts';
import { anyBody, readAny } from '../any-protocol.ts';
import { type RouteContext, scopeOf } from '../context.ts';
import { stored } from '../stored.ts';
import { target } from './memory.ts';

export async function endConversation(c: RouteContext): Promise<Response> {
  const body = await anyBody(c);
  const { id, user, conversation, services } = await target(c, 'change');
  const scope = scopeOf(c, { named: { conversation: id, user } });
  const { request } = await readAny(body, scope);
  if (!request.messages.some(says)) throw nothingSaid(request);
  const call = await readWholeCall(request, scope);
  const limitMs = TIME_LIMITS.wholeSummaryMs + TIME_LIMITS.routeStorageMs;
  const end = () => Promise.all([endSession(call), services.runOutboxes.settled(conversation.name)]);
  const [{ summary, published, isPending, warnings }] = await workLimited(
    () => stored(c, end, limitMs),
    wholeSummary(call.chosen.strategy),
    call,
  );
  const answer = { id, object: 'memory.conversation.ended', summary, published, warnings };
  return c.json(answer, isPending ? 202 : 200);
}

/** Whether a message has a text, a call or a file. Instructions say nothing. */
function says(message: WireMessage): boolean {
  if (message.role === 'preamble') return false;
  const { texts, flat } = message.content().weight;
  const isFile = message.role === 'user' && flat > 0;
  return isFile || [...texts, ...message.otherTexts()].some((text) => text.trim() !== '');
}

function nothingSaid({ conversationField: field }: ModelRequest): ApiError {
  return new ApiError(
    'invalid_messages',
    `The field ${field} has no message besides instructions; send the whole conversation.`,
    field,
  );
}
