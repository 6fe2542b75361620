/** The routes that ask a model, and the routes of their APIs that compact or count. */
import { answerCall } from '../answer/answer-call.ts';
import { askUpstream } from '../answer/ask-upstream.ts';
import { compacted } from '../answer/compacted.ts';
import { countInput } from '../answer/count-input.ts';
import type { ModelApi } from '../answer/model-api.ts';
import { checkState, goesAside, readRequest, readWholeCall } from '../answer/read-call.ts';
import { unread } from '../answer/unread/unread-body.ts';
import { concat } from '../lib/bytes.ts';
import { secondsOf } from '../lib/utc-time.ts';
import { CallLife } from '../listeners/life.ts';
import { chatFormat } from '../protocol/chat/format.ts';
import { type ChatRequest, readChatRequest } from '../protocol/chat/request.ts';
import { messagesFormat } from '../protocol/messages/format.ts';
import { type MessagesRequest, readMessagesRequest } from '../protocol/messages/request.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import {
  type CompactionAnswer,
  CompactionEvents,
  compactionBody,
  compactionResponse,
  type ResponseName,
} from '../protocol/responses/compaction.ts';
import { responsesFormat } from '../protocol/responses/format.ts';
import { type ResponsesRequest, readResponsesRequest } from '../protocol/responses/request.ts';
import type { Call } from '../request/call.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Compaction } from '../view/compaction.ts';
import { bodyOf, type RouteContext, scopeOf, tracedScope } from './context.ts';

export const CHAT: ModelApi<ChatRequest> = {
  path: '/chat/completions',
  field: 'messages',
  read: readChatRequest,
  answers: chatFormat,
};

/** `POST /v1/chat/completions`. */
export function chatCompletions(c: RouteContext): Promise<Response> {
  return answerCall(tracedScope(c), CHAT);
}

export const RESPONSES: ModelApi<ResponsesRequest> = {
  path: '/responses',
  field: 'input',
  read: readResponsesRequest,
  answers: responsesFormat,
  compaction: (request, inBody) => {
    const named = newName();
    const events = new CompactionEvents(request, named);
    return {
      keepalive: () => events.keepalive(),
      response: (compaction) => {
        const answer = answerOf(compaction, inBody, named);
        if (request.field('stream') !== true) return Response.json(compactionResponse(request, answer));
        return new Response(concat(events.rest(answer).map(({ bytes }) => bytes)), {
          headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
        });
      },
    };
  },
};

/** `POST /v1/responses`. */
export function responses(c: RouteContext): Promise<Response> {
  return answerCall(tracedScope(c), RESPONSES);
}

/** `POST /v1/responses/compact`. Forwarded if the upstream stores the conversation. */
export async function compactResponses(c: RouteContext): Promise<Response> {
  const { request, scope } = await readAsked(c, RESPONSES);
  if (request.upstreamState !== undefined) return forwarded(request, scope);
  const call = await readWholeCall(request, scope);
  const life = new CallLife(scope, RESPONSES.answers.name);
  return compacted(call, life, (compaction) => compactedItems(call, compaction));
}

/** The answer with a compaction, and the messages that stay next to it. */
function compactedItems({ request, chosen }: Call<ResponsesRequest>, compaction: Compaction): Response {
  const stays = new Set([...request.standing, ...compaction.users]);
  const staying = request.messages.filter((message) => stays.has(message));
  const texts = staying.map(({ json }) => new TextDecoder().decode(json));
  return Response.json(compactionBody(texts, answerOf(compaction, chosen.report)));
}

/** `POST /v1/responses/input_tokens`: of the view that would be sent. */
export async function countResponsesInput(c: RouteContext): Promise<Response> {
  const { request, scope } = await readAsked(c, RESPONSES);
  const call = await readWholeCall(request, scope);
  return countInput('/responses/input_tokens', RESPONSES.answers, call);
}

async function forwarded(request: ResponsesRequest, scope: RequestScope): Promise<Response> {
  return unread(await askUpstream(scope, '/responses/compact', request.write(undefined)), scope);
}

function answerOf(
  { sealed, usage, report }: Compaction,
  inBody: boolean,
  named = newName(),
): CompactionAnswer {
  return { sealed, usage, report: inBody ? report : undefined, ...named };
}

function newName(): ResponseName {
  return { id: crypto.randomUUID().replaceAll('-', ''), created: secondsOf(Date.now()) };
}

export const MESSAGES: ModelApi<MessagesRequest> = {
  path: '/messages',
  field: 'messages',
  read: readMessagesRequest,
  answers: messagesFormat,
};

/** `POST /v1/messages`, Anthropic's API. */
export function messages(c: RouteContext): Promise<Response> {
  return answerCall(tracedScope(c), MESSAGES);
}

/** `POST /v1/messages/count_tokens`: of the view that would be sent. */
export async function countMessagesInput(c: RouteContext): Promise<Response> {
  const { request, scope } = await readAsked(c, MESSAGES);
  const call = await readWholeCall(request, scope, goesAside(request, scope));
  return countInput('/messages/count_tokens', MESSAGES.answers, call);
}

/** Reads a request that is not answered by a model. @throws ApiError */
async function readAsked<Request extends ModelRequest>(c: RouteContext, api: ModelApi<Request>) {
  const scope = scopeOf(c);
  const request = await readRequest(await bodyOf(c, api.field), api, scope);
  checkState(request, scope);
  return { request, scope };
}
