/**
 * What the test upstream may do with one request: all forms of answers, and all the ways in which
 * an upstream can fail.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ANSWERED, type Answer, chunks, completion, DONE, type Frame, usageOf } from './completion.ts';
import type { RecordedRequest } from './recorded-request.ts';
import { eventsOf, type ResponseAnswer, responseOf } from './response.ts';

export interface ErrorBehaviour {
  type: 'error';
  status: number;
  body?: object | string;
  headers?: Record<string, string>;
}

export type Behaviour =
  | ({ type: 'answer'; headers?: Record<string, string> } & Answer)
  | ErrorBehaviour
  | { type: 'redirect'; location: string; status?: number }
  /**
   * A model with a limited context: longer bodies are refused in OpenAI's words, shorter ones are
   * answered.
   */
  | { type: 'window'; tokens: number }
  /** A stream up to its second word, then a destroyed socket. */
  | { type: 'die-mid-stream' }
  /** The same, then silence on an open socket. */
  | { type: 'hang-mid-stream' }
  /** The same, then a clean end with neither finish_reason nor [DONE]. */
  | { type: 'end-without-done' }
  | { type: 'slow-stream'; chunks: number; intervalMs: number }
  | { type: 'gzip' }
  /** No response at all. */
  | { type: 'hang' }
  /** No response, and a destroyed socket. */
  | { type: 'drop' }
  /** A body that announces more bytes than it sends before the socket is destroyed. */
  | { type: 'break-off'; status: number; body: string }
  | ((request: IncomingMessage, response: ServerResponse, recorded: RecordedRequest) => void);

export const DEFAULT_ANSWER: Answer = { content: ANSWERED };

export async function behave(
  behaviour: Behaviour,
  request: IncomingMessage,
  response: ServerResponse,
  recorded: RecordedRequest,
): Promise<void> {
  if (typeof behaviour === 'function') return behaviour(request, response, recorded);
  switch (behaviour.type) {
    case 'answer':
      setHeaders(response, behaviour.headers);
      answer(behaviour.content || behaviour.toolCalls ? behaviour : DEFAULT_ANSWER, response, recorded);
      return;
    case 'error':
      return sendError(behaviour, response, () => ({
        error: { message: 'Upstream error', type: 'server_error' },
      }));
    case 'window': {
      const found = tokensOf(recorded);
      if (found <= behaviour.tokens) return answer(DEFAULT_ANSWER, response, recorded);
      const message = `This model's maximum context length is ${behaviour.tokens} tokens. However, your messages resulted in ${found} tokens. Please reduce the length of the messages.`;
      const error = {
        message,
        type: 'invalid_request_error',
        param: isResponses(recorded) ? 'input' : 'messages',
        code: 'context_length_exceeded',
      };
      return sendJson(response, { error }, 400);
    }
    case 'redirect':
      response.writeHead(behaviour.status ?? 307, { location: behaviour.location });
      response.end();
      return;
    case 'die-mid-stream':
      await beginStream(response, recorded);
      response.destroy(new Error('the upstream died'));
      return;
    case 'hang-mid-stream':
      return beginStream(response, recorded);
    case 'end-without-done':
      await beginStream(response, recorded);
      response.end();
      return;
    case 'slow-stream': {
      const content = Array.from({ length: behaviour.chunks }, (_, at) => `word${at}`).join(' ');
      openStream(response);
      for (const frame of framesOf({ content }, recorded)) {
        if (response.destroyed) return;
        response.write(frame);
        await sleep(behaviour.intervalMs);
      }
      response.end();
      return;
    }
    case 'gzip': {
      const body = isResponses(recorded)
        ? responseOf(recorded.body, DEFAULT_ANSWER)
        : completion(DEFAULT_ANSWER, frameOf(recorded, DEFAULT_ANSWER));
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(body)));
      return;
    }
    case 'hang':
      return;
    case 'drop':
      response.destroy();
      return;
    case 'break-off': {
      const { status, body } = behaviour;
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': body.length + 1_000,
      });
      response.write(body, () => response.destroy());
      return;
    }
  }
}

/** Answers as the request asks, streamed or not. */
function answer(of: Answer, response: ServerResponse, recorded: RecordedRequest): void {
  const frame = frameOf(recorded, of);
  if (isResponses(recorded)) respond(response, recorded.body, { ...of, usage: frame.usage });
  else sendAnswer(response, recorded.body ?? {}, of, frame);
}

/** Sends all events up to the second word, and waits until they are flushed. */
async function beginStream(response: ServerResponse, recorded: RecordedRequest): Promise<void> {
  openStream(response);
  const begun = [...framesOf(DEFAULT_ANSWER, recorded)].slice(0, isResponses(recorded) ? 6 : 3);
  await new Promise<void>((resolve) => response.write(begun.join(''), () => resolve()));
}

/** The frames of a whole stream. */
function* framesOf(of: Answer, recorded: RecordedRequest): Generator<string> {
  if (isResponses(recorded)) return yield* eventsOf(recorded.body, of);
  yield* chunks(of, frameOf(recorded, of), includesUsage(recorded.body));
  yield DONE;
}

function isResponses({ path }: RecordedRequest): boolean {
  return new URL(path, 'http://upstream').pathname.endsWith('/responses');
}

export function openStream(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
}

/**
 * Sends an error in OpenAI's format. As with OpenAI, `param` is the field at the message's
 * beginning.
 */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  code: string | null = null,
): void {
  const param = status === 400 ? (/^[\w.[\]]+(?=:)/.exec(message)?.[0] ?? null) : null;
  sendJson(response, { error: { message, type: 'invalid_request_error', param, code } }, status);
}

/** @param otherwise makes the body, if the error has none: it may repeat a header */
export function sendError(
  { status, headers, ...given }: ErrorBehaviour,
  response: ServerResponse,
  otherwise: () => object,
): void {
  setHeaders(response, headers);
  const { body = otherwise() } = given;
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
  response.statusCode = status;
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export function sendJson(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Sends one answer as the request asks, streamed or not. */
export function sendAnswer(
  response: ServerResponse,
  body: RecordedRequest['body'],
  of: Answer,
  frame: Frame,
): void {
  if (!body?.stream) {
    sendJson(response, completion(of, frame));
    return;
  }
  openStream(response);
  for (const chunk of chunks(of, frame, includesUsage(body))) response.write(chunk);
  response.end(DONE);
}

/** Likewise for a request of the Responses API. */
export function respond(
  response: ServerResponse,
  body: RecordedRequest['body'],
  of: ResponseAnswer = {},
): void {
  if (!body?.stream) {
    sendJson(response, responseOf(body ?? {}, of));
    return;
  }
  openStream(response);
  for (const frame of eventsOf(body, of)) response.write(frame);
  response.end();
}

/** An estimate of four bytes per token. */
export function tokensOf({ rawBody }: RecordedRequest): number {
  return Math.ceil(rawBody.length / 4);
}

function frameOf(recorded: RecordedRequest, of: Answer): Frame {
  const usage = usageOf(
    tokensOf(recorded),
    Math.ceil(Buffer.byteLength(JSON.stringify([of.content, of.toolCalls])) / 4),
  );
  return { id: 'chatcmpl-upstream', model: String(recorded.body?.model), usage };
}

function includesUsage(body: RecordedRequest['body']): boolean {
  return body?.stream_options?.include_usage === true;
}

export function setHeaders(response: ServerResponse, headers: Record<string, string> = {}): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
