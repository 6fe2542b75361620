/** `POST /v1/chat/completions`: the view goes up, the upstream's answer comes back. */
import type { Context } from 'hono';
import { addReport, type ChatRequest, readChatRequest, writeChatRequest } from '../protocol/chat.ts';
import { answerText, StreamedAnswer } from '../protocol/chat-answer.ts';
import { ChatStream } from '../protocol/chat-stream.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { responseHeaders } from '../upstream/request.ts';
import { readBody, relayEvents } from '../upstream/stream.ts';
import { askUpstream, scopeOf } from './ask-upstream.ts';
import { askWithin } from './ask-within.ts';
import { agentOf, type ChosenStrategy, chooseStrategy } from './choose-strategy.ts';
import { settingsOf } from './conversation.ts';
import { ApiError, upstreamError } from './errors.ts';
import { injectionFor, withInjection } from './inject.ts';
import { type MadeView, type MakeViewOptions, makeView, type RequestScope } from './make-view.ts';
import { type Place, placeOf } from './place.ts';
import { setReportHeaders } from './report-headers.ts';
import type { Agent, AppEnv } from './services.ts';

/** How often a silent stream is kept alive, in milliseconds: under the usual idle limits of proxies. */
const KEEPALIVE_MS = 15_000;

export async function chatCompletions(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(c.req.raw);
  const { place, chosen } = await readCall(request, c.get('agent'), scope);
  const options = { force: false, dryRun: false, count: chosen.report, expressly: false };
  const make = (how: MakeViewOptions) => makeView(request, chosen, place, scope, how);
  const [first, injected] = await Promise.all([
    make(options),
    injectionFor(request, chosen.injection, place, scope),
  ]);
  const ask = ({ view }: MadeView) =>
    askUpstream(c, scope, '/chat/completions', writeChatRequest(request, view, injected.message));
  const asking = { request, options, beside: injected.tokens ?? 0, make, ask };
  const { made, answer } = await askWithin(first, asking, scope);
  const report = withInjection(made.report, injected);
  if (answer.response.ok && scope.caller.tenant) {
    scope.services.accepted.accept(scope.caller.tenant.id);
    if (made.prepareNext) scope.waitUntil(made.prepareNext());
  }
  return relay(answer, { ...made, report }, chosen.report, scope);
}

/** Whose a request is, and what holds for it. @throws ApiError */
export async function readCall(
  request: ChatRequest,
  agentInPath: Agent | undefined,
  scope: RequestScope,
): Promise<{ place: Place; chosen: ChosenStrategy }> {
  const { headers, services } = scope;
  const agent = agentOf(request, headers, agentInPath, services);
  const place = placeOf(request, headers, agent?.isolation ?? services.config.isolation);
  const settings = () => settingsOf(place, scope);
  return { place, chosen: await chooseStrategy(request, headers, agent, settings, services) };
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
  { report, remember }: MadeView,
  inBody: boolean,
  { caller, services, timings, waitUntil }: RequestScope,
): Promise<Response> {
  const { response } = answer;
  const headers = responseHeaders(response.headers, caller.account);
  setReportHeaders(headers, report, timings);
  const { status, statusText } = response;
  const type = response.headers.get('content-type') ?? '';
  // An answer that calls tools goes on with its round.
  const rememberAll = (text: string | undefined): void => {
    if (remember && text !== undefined) waitUntil(remember(text));
  };

  if (response.ok && response.body && type.includes('text/event-stream')) {
    headers.set('cache-control', 'no-cache, no-transform');
    headers.set('x-accel-buffering', 'no');
    headers.delete('content-length');
    const streamed = new StreamedAnswer();
    const listener = remember && {
      push: (data: string) => streamed.push(data),
      complete: () => rememberAll(streamed.text()),
    };
    const format = new ChatStream(inBody ? report : undefined, listener);
    const events = relayEvents(answer, format, {
      idleMs: services.config.idleTimeoutMs,
      keepaliveMs: KEEPALIVE_MS,
    });
    return new Response(events, { status, statusText, headers });
  }
  if (response.ok && response.body && (inBody || remember) && type.includes('json')) {
    const whole = await readAnswer(answer, services);
    rememberAll(answerText(whole));
    if (inBody) headers.delete('content-length');
    const body = inBody ? addReport(whole, report) : whole;
    return new Response(body, { status, statusText, headers });
  }
  return new Response(response.body, { status, statusText, headers });
}
