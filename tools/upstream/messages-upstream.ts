/**
 * A server of Anthropic's API for tests. It refuses what the API would refuse (strict-messages.ts),
 * bills by its prompt cache, records every request, and misbehaves on demand: `next()` queues what
 * it does with the coming requests; with an empty queue it answers.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type ErrorBehaviour, openStream, sendError, sendJson, setHeaders } from './behaviours.ts';
import { nextThought } from './bound-thinking.ts';
import { compactionOf } from './compaction.ts';
import { listening } from './listening.ts';
import { type MessageAnswer, messageEvents, messageOf } from './message.ts';
import { MessagesCache, promptTokens } from './messages-cache.ts';
import { type RecordedRequest, record } from './recorded-request.ts';
import { violations } from './strict-messages.ts';
import { type ThreadRefusal, Threads } from './threads.ts';

export type MessagesBehaviour =
  | ({ type: 'answer'; headers?: Record<string, string> } & MessageAnswer)
  /** Whatever the model says of a body. */
  | { type: 'model'; answer(body: RecordedRequest['body']): MessageAnswer }
  /** A summary, for a request that asks for one. It is what such a request gets by default. */
  | { type: 'compaction'; content?: string }
  | ErrorBehaviour
  /** A model with a limited context. `streamed`: it says so inside of a stream of status 200. */
  | { type: 'window'; tokens: number; streamed?: true }
  | ((recorded: RecordedRequest, response: ServerResponse) => void);

export interface MessagesUpstreamOptions {
  /** False: bodies are not checked. */
  strict?: false;
  /** Whether the model thinks, and binds what it thinks to all before it. */
  thinks?: boolean;
  /** What it does when the queue is empty. Default: a short answer. */
  messages?: MessagesBehaviour;
}

export interface MessagesUpstream {
  /** `http://127.0.0.1:PORT/v1` */
  readonly url: string;
  readonly requests: RecordedRequest[];
  /** What it has refused of what it was asked, in the API's words. */
  readonly refusals: string[];
  /** The requests to `/messages`, in order. */
  messages(): RecordedRequest[];
  /** Queues what it does with the coming requests for an answer. */
  next(...behaviours: MessagesBehaviour[]): void;
  /** Likewise for requests for a compaction. */
  nextCompactions(...behaviours: MessagesBehaviour[]): void;
  /** Forgets what it was asked and what was queued, and behaves by these options from now on. */
  become(options: MessagesUpstreamOptions): void;
  close(): Promise<void>;
}

const MODELS = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'];

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const THOUGHT = 'I should look at what I have, and go on from there.';

/** Starts the server on a free port. */
export async function startMessagesUpstream(
  options: MessagesUpstreamOptions = {},
): Promise<MessagesUpstream> {
  const requests: RecordedRequest[] = [];
  const refusals: string[] = [];
  const queue: MessagesBehaviour[] = [];
  const compactions: MessagesBehaviour[] = [];
  let cache = new MessagesCache();
  let threads = new Threads();
  let current = options;

  async function answer(recorded: RecordedRequest, response: ServerResponse): Promise<void> {
    const body = threads.whole(recorded.body, recorded.headers);
    if (isRefusal(body)) return refuse(response, body.status, body.message, body.code);
    const found =
      current.strict === false
        ? []
        : violations(body, { binds: current.thinks === true, headers: recorded.headers });
    const [first] = found;
    if (first !== undefined) {
      refusals.push(...found);
      return refuse(response, 400, first);
    }
    const asked: MessagesBehaviour | undefined = body.compaction ? { type: 'compaction' } : undefined;
    const behaviour = (asked ? compactions.shift() : queue.shift()) ??
      asked ??
      current.messages ?? { type: 'answer' };
    if (typeof behaviour === 'function') return behaviour(recorded, response);
    const say = (answer: MessageAnswer) => send(recorded.body, body, response, answer);
    switch (behaviour.type) {
      case 'compaction':
        return say(compactionOf(body, recorded.headers, behaviour.content));
      case 'error':
        return sendError(behaviour, response, () => errorOf(response, behaviour.status, 'Upstream error'));
      case 'window': {
        const tokens = promptTokens(body);
        if (tokens <= behaviour.tokens) return say({});
        const message = `prompt is too long: ${tokens} tokens > ${behaviour.tokens} maximum`;
        if (!behaviour.streamed) return refuse(response, 400, message);
        openStream(response);
        const error = errorOf(response, 400, message);
        response.end(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
        return;
      }
      case 'model':
        return say(behaviour.answer(body));
      case 'answer':
        setHeaders(response, behaviour.headers);
        return say(behaviour);
    }
  }

  /** @param body all that the model reads, also of a thread */
  async function send(
    asked: Record<string, unknown>,
    body: Record<string, unknown>,
    response: ServerResponse,
    given: MessageAnswer,
  ): Promise<void> {
    const thinking = current.thinks ? nextThought(body, THOUGHT) : undefined;
    const usage = (body.compaction ? given.usage : undefined) ?? { ...cache.usage(body, 20) };
    const said: MessageAnswer = { ...(thinking && !body.compaction ? { thinking } : {}), ...given, usage };
    threads.keep(asked, body, messageOf(body, said));
    if (body.stream !== true) return sendJson(response, messageOf(body, said));
    openStream(response);
    for (const event of messageEvents(body, said)) response.write(event);
    response.end();
  }

  const server = createServer(async (request, response) => {
    const recorded = await record(request, response);
    if (!recorded) return;
    requests.push(recorded);
    response.setHeader('request-id', `req_upstream_${requests.length}`);
    response.setHeader('anthropic-organization-id', 'org-of-the-account');
    response.setHeader('anthropic-ratelimit-requests-remaining', '49');
    const { pathname, searchParams } = new URL(recorded.path, 'http://upstream');
    const route = `${recorded.method} ${pathname.replace(/^\/v1/, '')}`;
    const fault = keyFault(recorded.headers);
    if (fault) return refuse(response, fault.status, fault.message);
    if (route === 'GET /models')
      return sendJson(response, modelsPage(Number(searchParams.get('limit') ?? 20)));
    if (route === 'POST /messages') return answer(recorded, response);
    if (route === 'POST /messages/count_tokens') {
      const [first] = violations(recorded.body, {
        counts: true,
        binds: current.thinks === true,
        headers: recorded.headers,
      });
      if (first !== undefined) refusals.push(first);
      if (first !== undefined) return refuse(response, 400, first);
      return sendJson(response, { input_tokens: promptTokens(recorded.body) });
    }
    return refuse(response, 404, 'Not found');
  });

  const { origin, close } = await listening(server);
  return {
    url: `${origin}/v1`,
    requests,
    refusals,
    messages: () => requests.filter(({ path }) => /\/messages(?:\?|$)/.test(path)),
    next: (...behaviours) => {
      queue.push(...behaviours);
    },
    nextCompactions: (...behaviours) => {
      compactions.push(...behaviours);
    },
    become(other) {
      requests.length = 0;
      refusals.length = 0;
      queue.length = 0;
      compactions.length = 0;
      cache = new MessagesCache();
      threads = new Threads();
      current = other;
    },
    close,
  };
}

function keyFault(headers: IncomingHttpHeaders): { status: number; message: string } | undefined {
  const key = headers['x-api-key'] ?? /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  if (key === undefined) return { status: 401, message: 'x-api-key header is required' };
  if (String(key).startsWith('sk-invalid')) return { status: 401, message: 'invalid x-api-key' };
  const version = headers['anthropic-version'];
  if (version === undefined) return { status: 400, message: 'anthropic-version: header is required' };
  return /^\d{4}-\d\d-\d\d$/.test(String(version))
    ? undefined
    : { status: 400, message: `anthropic-version: "${version}" is not a valid version` };
}

function modelsPage(limit: number): object {
  const data = MODELS.slice(0, limit).map((id) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: '2026-10-01T00:00:00Z',
  }));
  return { data, has_more: limit < MODELS.length, first_id: data[0]?.id, last_id: data.at(-1)?.id };
}

/** Sends an error as the API writes them. */
function refuse(response: ServerResponse, status: number, message: string, code?: string): void {
  sendJson(response, errorOf(response, status, message, code), status);
}

function errorOf(response: ServerResponse, status: number, message: string, code?: string): object {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const error = { type, message, ...(code === undefined ? {} : { details: { error_code: code } }) };
  return { type: 'error', error, request_id: response.getHeader('request-id') };
}

function isRefusal(whole: Record<string, unknown> | ThreadRefusal): whole is ThreadRefusal {
  return typeof whole.status === 'number';
}
