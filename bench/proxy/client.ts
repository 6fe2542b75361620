/** One request of the benchmark. */
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http';
import { FIRST_TEXT } from './upstream.ts';

export interface Answer {
  readonly headers: IncomingHttpHeaders;
  /** Time to the first byte of the body, or to a stream's first text, in milliseconds. */
  readonly first: number;
  /** Time to the last byte. */
  readonly whole: number;
}

/** Keeps one connection per parallel request. */
export const agent = new Agent({ keepAlive: true });

/** @throws Error if the status is not 200 */
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
