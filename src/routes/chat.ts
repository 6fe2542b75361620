/** `POST /v1/chat/completions`. */
import type { Context } from 'hono';
import { answerCall } from '../answer/answer-call.ts';
import type { ModelApi } from '../answer/model-api.ts';
import { chatFormat } from '../protocol/chat/format.ts';
import { type ChatRequest, readChatRequest } from '../protocol/chat/request.ts';
import type { AppEnv } from '../request/services.ts';
import { tracedScope } from './scope-of.ts';

export const CHAT: ModelApi<ChatRequest> = {
  path: '/chat/completions',
  field: 'messages',
  read: readChatRequest,
  answers: chatFormat,
};

export function chatCompletions(c: Context<AppEnv>): Promise<Response> {
  return answerCall(tracedScope(c), CHAT);
}
