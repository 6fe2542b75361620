/** `POST /v1/chat/completions`. */
import type { Context } from 'hono';
import { type ChatRequest, readChatRequest } from '../protocol/chat.ts';
import { chatFormat } from '../protocol/chat-format.ts';
import { answerCall, type ModelApi } from './model-call.ts';
import type { AppEnv } from './services.ts';

export const CHAT: ModelApi<ChatRequest> = {
  path: '/chat/completions',
  field: 'messages',
  read: readChatRequest,
  answers: chatFormat,
};

export function chatCompletions(c: Context<AppEnv>): Promise<Response> {
  return answerCall(c, CHAT);
}
