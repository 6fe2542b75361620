/** `POST /v1/messages`, Anthropic's API, and its count of input tokens. */
import { answerCall } from '../answer/answer-call.ts';
import { countInput } from '../answer/count-input.ts';
import type { ModelApi } from '../answer/model-api.ts';
import { checkState, goesAside, readRequest, readWholeCall } from '../answer/read-call.ts';
import { messagesFormat } from '../protocol/messages/format.ts';
import { type MessagesRequest, readMessagesRequest } from '../protocol/messages/request.ts';
import { readBody } from '../request/body.ts';
import type { RouteContext } from './context.ts';
import { scopeOf, tracedScope } from './scope-of.ts';

export const MESSAGES: ModelApi<MessagesRequest> = {
  path: '/messages',
  field: 'messages',
  read: readMessagesRequest,
  answers: messagesFormat,
};

export function messages(c: RouteContext): Promise<Response> {
  return answerCall(tracedScope(c), MESSAGES);
}

/** `POST /v1/messages/count_tokens`: of the view that would be sent. */
export async function countMessagesInput(c: RouteContext): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(await readBody(c.req.raw, MESSAGES.field), MESSAGES, scope);
  checkState(request, scope);
  const call = await readWholeCall(request, scope, goesAside(request, scope));
  return countInput('/messages/count_tokens', MESSAGES.answers, call);
}
