/** What the test upstream does with one request: answers of every form, and every way in which an upstream can fail. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Answer, chunks, completion, DONE, type Frame, usageOf } from './completion.ts';
import type { RecordedRequest } from './upstream.ts';

export type Behaviour =
  | ({ type: 'answer'; delayMs?: number; headers?: Record<string, string> } & Answer)
  | { type: 'error'; status: number; body?: object | string; headers?: Record<string, string> }
  | { type: 'redirect'; location: string; status?: number }
  /** Three events of a stream, and then the socket is destroyed. */
  | { type: 'die-mid-stream' }
  /** Three events of a stream, and then silence on an open socket. */
  | { type: 'hang-mid-stream' }
  /** Three events of a stream, and a clean end with neither finish_reason nor [DONE]. */
  | { type: 'end-without-done' }
  | { type: 'slow-stream'; chunks: number; intervalMs: number }
  | { type: 'gzip' }
  /** No response at all. */
  | { type: 'hang' }
  | ((request: IncomingMessage, response: ServerResponse, recorded: RecordedRequest) => void);

export const DEFAULT_ANSWER: Answer = { content: 'This is what the upstream has to say.' };

export async function behave(
  behaviour: Behaviour,
  request: IncomingMessage,
  response: ServerResponse,
  recorded: RecordedRequest,
): Promise<void> {
  if (typeof behaviour === 'function') return behaviour(request, response, recorded);
  switch (behaviour.type) {
    case 'answer':
      if (behaviour.delayMs) await sleep(behaviour.delayMs);
      setHeaders(response, behaviour.headers);
      answer(behaviour.content || behaviour.toolCalls ? behaviour : DEFAULT_ANSWER, response, recorded);
      return;
    case 'error': {
      const {
        status,
        headers,
        body = { error: { message: 'Upstream error', type: 'server_error' } },
      } = behaviour;
      setHeaders(response, headers);
      if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
      response.statusCode = status;
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
      return;
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
      for (const chunk of chunks({ content }, frameOf(recorded, { content }), includesUsage(recorded.body))) {
        if (response.destroyed) return;
        response.write(chunk);
        await sleep(behaviour.intervalMs);
      }
      response.end(DONE);
      return;
    }
    case 'gzip': {
      const body = completion(DEFAULT_ANSWER, frameOf(recorded, DEFAULT_ANSWER));
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(body)));
      return;
    }
    case 'hang':
      return;
  }
}

/** Answers as the request asked for it, streaming or not. */
function answer(of: Answer, response: ServerResponse, recorded: RecordedRequest): void {
  sendAnswer(response, recorded.body ?? {}, of, frameOf(recorded, of));
}

/** Sends the first three events and waits until they have left. */
async function beginStream(response: ServerResponse, recorded: RecordedRequest): Promise<void> {
  openStream(response);
  const events = [...chunks(DEFAULT_ANSWER, frameOf(recorded, DEFAULT_ANSWER), false)].slice(0, 3);
  await new Promise<void>((resolve) => response.write(events.join(''), () => resolve()));
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
}

/** Sends an error in OpenAI's shape. `param` is the field that the message begins with, as OpenAI gives it. */
export function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  code: string | null = null,
): void {
  const param = status === 400 ? (/^[\w.[\]]+(?=:)/.exec(message)?.[0] ?? null) : null;
  sendJson(response, { error: { message, type: 'invalid_request_error', param, code } }, status);
}

export function sendJson(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Sends one answer as the request asked for it: as a stream or whole. */
export function sendAnswer(
  response: ServerResponse,
  body: RecordedRequest['body'],
  of: Answer,
  frame: Frame,
): void {
  if (!body.stream) {
    sendJson(response, completion(of, frame));
    return;
  }
  openStream(response);
  for (const chunk of chunks(of, frame, includesUsage(body))) response.write(chunk);
  response.end(DONE);
}

/** Four bytes count as a token. */
function frameOf(recorded: RecordedRequest, of: Answer): Frame {
  const usage = usageOf(
    Math.ceil(recorded.rawBody.length / 4),
    Math.ceil(Buffer.byteLength(JSON.stringify([of.content, of.toolCalls])) / 4),
  );
  return { id: 'chatcmpl-upstream', model: String(recorded.body?.model), usage };
}

function includesUsage(body: RecordedRequest['body']): boolean {
  return body?.stream_options?.include_usage === true;
}

function setHeaders(response: ServerResponse, headers: Record<string, string> = {}): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
