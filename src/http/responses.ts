/** `POST /v1/responses`. */
import type { Context } from 'hono';
import { readResponsesRequest } from '../protocol/responses.ts';
import { responsesFormat } from '../protocol/responses-format.ts';
import { answerCall, type ModelApi } from './model-call.ts';
import type { AppEnv } from './services.ts';

const RESPONSES: ModelApi = { path: '/responses', read: readResponsesRequest, answers: responsesFormat };

export function responses(c: Context<AppEnv>): Promise<Response> {
  return answerCall(c, RESPONSES);
}
