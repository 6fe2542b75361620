/** `POST /v1/responses`, and its compaction and count of input tokens. */
import type { Context } from 'hono';
import { askUpstream } from '../answer/ask-upstream.ts';
import { countInput } from '../answer/count-input.ts';
import { answerCall, checkState, type ModelApi, readRequest, readWholeCall } from '../answer/model-call.ts';
import { unread } from '../answer/unread-body.ts';
import { concat } from '../lib/bytes.ts';
import { secondsOf } from '../lib/seconds.ts';
import {
  type CompactionAnswer,
  compactionBody,
  compactionEvents,
  compactionResponse,
} from '../protocol/responses/compaction.ts';
import { responsesFormat } from '../protocol/responses/format.ts';
import { type ResponsesRequest, readResponsesRequest } from '../protocol/responses/request.ts';
import { readBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import type { RequestScope } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import { type Run, recorded, startRun } from '../tell/run-event.ts';
import { tellReport } from '../tell/tell-report.ts';
import { type Compaction, compactConversation } from '../view/compaction.ts';
import { scopeOf } from './scope-of.ts';

export const RESPONSES: ModelApi<ResponsesRequest> = {
  path: '/responses',
  field: 'input',
  read: readResponsesRequest,
  answers: responsesFormat,
  compaction: (request, compaction, inBody) => {
    const answer = answerOf(compaction, inBody);
    if (request.field('stream') !== true) return Response.json(compactionResponse(request, answer));
    return new Response(concat(compactionEvents(request, answer)), {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
    });
  },
};

export function responses(c: Context<AppEnv>): Promise<Response> {
  return answerCall(scopeOf(c), RESPONSES);
}

/** `POST /v1/responses/compact`. Forwarded if the upstream stores the conversation. */
export async function compactResponses(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(await readBody(c.req.raw, RESPONSES.field), RESPONSES, scope);
  checkState(request, scope);
  if (request.upstreamState !== undefined) return forwarded(request, scope);
  const call = await readWholeCall(request, scope);
  const run = startRun(call, { protocol: 'responses', kind: 'compaction' }, c.req.raw.signal);
  return recorded(run, () => compactedItems(call, run));
}

async function compactedItems(call: Call<ResponsesRequest>, run: Run | undefined): Promise<Response> {
  const { request, scope } = call;
  const compaction = await compactConversation(call);
  const stays = new Set([...request.standing, ...compaction.users]);
  const beside = request.messages.filter((message) => stays.has(message));
  const texts = beside.map(({ json }) => new TextDecoder().decode(json));
  const response = Response.json(compactionBody(texts, answerOf(compaction, call.chosen.report)));
  tellReport(response, compaction.report, RESPONSES.answers, scope);
  run?.planned(compaction);
  run?.answered(response);
  return response;
}

/** `POST /v1/responses/input_tokens`: of the view that would go up. */
export async function countResponsesInput(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const body = await readBody(c.req.raw, RESPONSES.field);
  const request = await readRequest(body, RESPONSES, scope);
  checkState(request, scope);
  const call = await readWholeCall(request, scope);
  return countInput('/responses/input_tokens', RESPONSES.answers, call);
}

async function forwarded(request: ResponsesRequest, scope: RequestScope): Promise<Response> {
  return unread(await askUpstream(scope, '/responses/compact', request.write(undefined)), scope);
}

function answerOf({ sealed, usage, report }: Compaction, inBody: boolean): CompactionAnswer {
  return {
    sealed,
    usage,
    report: inBody ? report : undefined,
    id: crypto.randomUUID().replaceAll('-', ''),
    created: secondsOf(Date.now()),
  };
}
