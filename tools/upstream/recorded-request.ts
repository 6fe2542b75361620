import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A request that the test upstream has received. */
export interface RecordedRequest {
  method: string;
  /** Path and query, unchanged. */
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
  /** Whether the client's socket closed before the response was finished. */
  closed: boolean;
}

/** Undefined if the client leaves while it is still sending. */
export async function record(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<RecordedRequest | undefined> {
  const rawBody = await buffer(request).catch(() => undefined);
  if (!rawBody) return undefined;
  const recorded: RecordedRequest = {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    rawBody,
    body: parse(rawBody),
    closed: false,
  };
  response.on('close', () => {
    // A socket that this server itself destroyed carries the error it was destroyed with.
    recorded.closed = !response.writableFinished && response.errored === null;
  });
  return recorded;
}

function parse(bytes: Buffer): RecordedRequest['body'] {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
