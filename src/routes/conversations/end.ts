/**
 * `POST /v1/conversations/{id}/end`: makes the final summary of a conversation, and publishes it to
 * the user's other conversations (docs/design.md#5-routes).
 */
import type { Context } from 'hono';
import { readRequest, readWholeCall } from '../../answer/model-call.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { readBody } from '../../request/body.ts';
import { type RequestScope, scopeOf } from '../../request/scope.ts';
import type { AppEnv } from '../../request/services.ts';
import { WHOLE_WAIT_MS } from '../../summary/prefix.ts';
import { endSession } from '../../view/session-memory.ts';
import { CHAT } from '../chat.ts';
import { holdsItems } from '../either-protocol.ts';
import { RESPONSES } from '../responses.ts';
import { STORAGE_LIMIT_MS, stored } from '../stored.ts';
import { target } from './memory.ts';

export async function endConversation(c: Context<AppEnv>): Promise<Response> {
  const { id, user } = await target(c, 'change');
  const scope: RequestScope = { ...scopeOf(c), named: { conversation: id, user } };
  const body = await readBody(c.req.raw, CHAT.field);
  const agent = c.get('agent');
  const request: ModelRequest = await (holdsItems(body)
    ? readRequest(body, RESPONSES, agent, scope)
    : readRequest(body, CHAT, agent, scope));
  const call = await readWholeCall(request, agent, scope);
  const limitMs = WHOLE_WAIT_MS + STORAGE_LIMIT_MS;
  const { summary, published, isPending, warnings } = await stored(c, () => endSession(call), limitMs);
  const answer = { id, object: 'memory.conversation.ended', summary, published, warnings };
  return c.json(answer, isPending ? 202 : 200);
}
