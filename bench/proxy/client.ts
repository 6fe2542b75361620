/** One request of the benchmark. */
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http';
import { FIRST_TEXT } from './upstream.ts';

export interface Answer {
  readonly headers: IncomingHttpHeaders;
  /** To the first byte of the body, of a stream to its first text, in milliseconds. */
  readonly first: number;
  /** To the last byte. */
  readonly whole: number;
}

/** Keeps one connection for each request that is under way. */
export const agent = new Agent({ keepAlive: true });

/** @throws Error if the answer's status is another than 200 */
export function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const request = send(url, {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const isStream = response.headers['content-type']?.startsWith('text/event-stream');
      let first = 0;
      let read = '';
      response.on('data', (chunk: Buffer) => {
        if (first > 0) return;
        if (isStream) read += chunk.toString();
        if (!isStream || read.includes(FIRST_TEXT)) first = performance.now() - start;
      });
      response.on('error', reject);
      response.on('end', () => {
        const whole = performance.now() - start;
        if (response.statusCode === 200) resolve({ headers: response.headers, first, whole });
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    });
    request.end(body);
  });
}
