/**
 * An upstream that costs next to nothing: it reads the body and gives every request the same
 * answer, as a stream if a header asks for that. It runs in its own thread, so that its client does
 * not delay it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { summaryOf } from '../summary.ts';

export interface Upstream {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Response header with the length of the body that arrived. */
export const RECEIVED_HEADER = 'x-received-bytes';

/** Path prefix of the summarizer's requests. */
export const SUMMARIZER_PATH = '/summarizer';

/** The first text delta of a stream, as it appears in its frame. */
export const FIRST_TEXT = '"content":"It "';

/** Request header with the number of text deltas to answer with; 0 asks for a JSON answer. */
export const DELTAS_HEADER = 'x-deltas';

/** Deltas per write. */
const BATCH = 50;

const identity = { id: 'chatcmpl-0', created: 1_772_600_000, model: 'gpt-4.1' };

const ANSWER = answerOf('Done.');
const SUMMARY = answerOf(summaryOf('The agent has read files and fixed an error.'));

const FIRST = chunkOf({ role: 'assistant', content: '' }) + chunkOf({ content: 'It ' });
const NEXT = chunkOf({ content: 'is ' });
const LAST = `${chunkOf({}, 'stop')}data: [DONE]\n\n`;

/** Starts the thread, and waits until it listens. */
export async function startUpstream(): Promise<Upstream> {
  const thread = new Worker(fileURLToPath(import.meta.url));
  const port = await new Promise<number>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  return { url: `http://127.0.0.1:${port}`, close: async () => void (await thread.terminate()) };
}

function listen(): void {
  const server = createServer((request, response) => {
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    request.on('end', () => {
      const deltas = Number(request.headers[DELTAS_HEADER] ?? 0);
      response.writeHead(200, {
        'content-type': deltas > 0 ? 'text/event-stream' : 'application/json',
        [RECEIVED_HEADER]: `${received}`,
      });
      if (deltas === 0) return response.end(request.url?.startsWith(SUMMARIZER_PATH) ? SUMMARY : ANSWER);
      response.write(FIRST);
      for (let left = deltas - 1; left > 0; left -= BATCH) response.write(NEXT.repeat(Math.min(left, BATCH)));
      return response.end(LAST);
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
}

function answerOf(content: string): string {
  return JSON.stringify({
    ...identity,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
}

function chunkOf(delta: object, finish: 'stop' | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices })}\n\n`;
}

if (!isMainThread) listen();
