/** `POST /v1/chat/completions`. */
import { answerCall } from '../answer/answer-call.ts';
import type { ModelApi } from '../answer/model-api.ts';
import { chatFormat } from '../protocol/chat/format.ts';
import { type ChatRequest, readChatRequest } from '../protocol/chat/request.ts';
import type { RouteContext } from './context.ts';
import { tracedScope } from './scope-of.ts';

export const CHAT: ModelApi<ChatRequest> = {
  path: '/chat/completions',
  field: 'messages',
  read: readChatRequest,
  answers: chatFormat,
};

export function chatCompletions(c: RouteContext): Promise<Response> {
  return answerCall(tracedScope(c), CHAT);
}
