/**
 * An upstream that costs next to nothing: it reads the body and answers the same to everything,
 * streamed if it is asked to.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Upstream {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Set on every answer: the length of the body that arrived. */
export const RECEIVED_HEADER = 'x-received-bytes';

const STREAM = Buffer.from('"stream":true');

/** The benchmark's bodies name their own fields first: no need to look through a megabyte. */
const HEAD_BYTES = 100;

const identity = { id: 'chatcmpl-0', created: 1_772_600_000, model: 'gpt-4.1' };

const ANSWER = JSON.stringify({
  ...identity,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** The first text delta of a stream, as it stands in its frame. */
export const FIRST_TEXT = '"content":"It "';

const CHUNKS = [
  { role: 'assistant', content: '' },
  { content: 'It ' },
  { content: 'is ' },
  { content: 'done.' },
].map((delta) => {
  const choices = [{ index: 0, delta, finish_reason: null }];
  return `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices })}\n\n`;
});

export async function startUpstream(): Promise<Upstream> {
  const server = createServer((request, response) => {
    let received = 0;
    let head = Buffer.alloc(0);
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
    });
    request.on('end', () => {
      const streamed = head.includes(STREAM);
      response.writeHead(200, {
        'content-type': streamed ? 'text/event-stream' : 'application/json',
        [RECEIVED_HEADER]: `${received}`,
      });
      if (!streamed) return response.end(ANSWER);
      for (const chunk of CHUNKS) response.write(chunk);
      return response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
