/**
 * `POST /v1/conversations/{id}/end`: makes the final summary of a conversation, and publishes it to
 * the user's other conversations (docs/design.md#5-routes).
 */
import type { Context } from 'hono';
import { readWholeCall } from '../../answer/model-call.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { ApiError } from '../../request/errors.ts';
import { type RequestScope, scopeOf } from '../../request/scope.ts';
import type { AppEnv } from '../../request/services.ts';
import { WHOLE_WAIT_MS } from '../../summary/prefix.ts';
import { endSession } from '../../view/session-memory.ts';
import { readEither } from '../either-protocol.ts';
import { STORAGE_LIMIT_MS, stored } from '../stored.ts';
import { target } from './memory.ts';

export async function endConversation(c: Context<AppEnv>): Promise<Response> {
  const { id, user } = await target(c, 'change');
  const scope: RequestScope = { ...scopeOf(c), named: { conversation: id, user } };
  const { request } = await readEither(c, scope);
  if (request.messages.every(({ role }) => role === 'preamble')) throw nothingSaid(request);
  const call = await readWholeCall(request, c.get('agent'), scope);
  const limitMs = WHOLE_WAIT_MS + STORAGE_LIMIT_MS;
  const { summary, published, isPending, warnings } = await stored(c, () => endSession(call), limitMs);
  const answer = { id, object: 'memory.conversation.ended', summary, published, warnings };
  return c.json(answer, isPending ? 202 : 200);
}

function nothingSaid({ conversationField: field }: ModelRequest): ApiError {
  return new ApiError(
    'invalid_messages',
    `The field ${field} has instructions alone; a conversation that ends has a message of its user.`,
    field,
  );
}
