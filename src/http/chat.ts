/** `POST /v1/chat/completions`: the view goes up, the upstream's answer comes back. */
import type { Context } from 'hono';
import { addReport, type ChatRequest, readChatRequest, writeChatRequest } from '../protocol/chat.ts';
import { ChatStream } from '../protocol/chat-stream.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { responseHeaders } from '../upstream/request.ts';
import { readBody, relayEvents } from '../upstream/stream.ts';
import { askUpstream, scopeOf } from './ask-upstream.ts';
import { type ChosenStrategy, chooseStrategy } from './choose-strategy.ts';
import { ApiError, upstreamError } from './errors.ts';
import { type MadeView, makeView, type RequestScope } from './make-view.ts';
import { setReportHeaders } from './report-headers.ts';
import type { AppEnv } from './services.ts';

/** How often a silent stream is kept alive, in milliseconds: under the usual idle limits of proxies. */
const KEEPALIVE_MS = 15_000;

export async function chatCompletions(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(c.req.raw);
  const chosen = chooseStrategy(request, c.req.raw.headers, c.get('agent'), scope.services);
  const made = await makeView(request, chosen, scope, { force: false, dryRun: false, count: chosen.report });
  const answer = await askUpstream(c, scope, '/chat/completions', writeChatRequest(request, made.view));
  if (answer.response.ok && scope.caller.tenant) {
    scope.services.accepted.accept(scope.caller.tenant.id);
    scope.waitUntil(made.prepareNext());
  }
  return relay(answer, made, chosen, scope);
}

/** Reads the body of a chat request. @throws ApiError */
export async function readRequest(raw: Request): Promise<ChatRequest> {
  const read = readChatRequest(new Uint8Array(await raw.arrayBuffer()));
  if (read.ok) return read.value;
  const { code, message, param } = read.reason;
  throw new ApiError(code, message, param);
}

/** The whole of an answer. @throws ApiError when it breaks off */
async function readAnswer(answer: UpstreamAnswer, { config }: RequestScope['services']): Promise<Uint8Array> {
  const body = await readBody(answer, config.idleTimeoutMs);
  if (body instanceof Uint8Array) return body;
  throw upstreamError(body);
}

async function relay(
  answer: UpstreamAnswer,
  { report }: MadeView,
  chosen: ChosenStrategy,
  { caller, services, timings }: RequestScope,
): Promise<Response> {
  const { response } = answer;
  const headers = responseHeaders(response.headers, caller.account);
  setReportHeaders(headers, report, timings);
  const { status, statusText } = response;
  const type = response.headers.get('content-type') ?? '';

  if (response.ok && response.body && type.includes('text/event-stream')) {
    headers.set('cache-control', 'no-cache, no-transform');
    headers.set('x-accel-buffering', 'no');
    headers.delete('content-length');
    const format = new ChatStream(chosen.report ? report : undefined);
    const events = relayEvents(answer, format, {
      idleMs: services.config.idleTimeoutMs,
      keepaliveMs: KEEPALIVE_MS,
    });
    return new Response(events, { status, statusText, headers });
  }
  if (response.ok && response.body && chosen.report && type.includes('json')) {
    headers.delete('content-length');
    const body = addReport(await readAnswer(answer, services), report);
    return new Response(body, { status, statusText, headers });
  }
  return new Response(response.body, { status, statusText, headers });
}
