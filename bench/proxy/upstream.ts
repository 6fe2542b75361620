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

const FIRST_WORD = 'It ';
const NEXT_WORD = 'is ';
const FIRST = chunkOf({ role: 'assistant', content: '' }) + chunkOf({ content: FIRST_WORD });
const NEXT = chunkOf({ content: NEXT_WORD });
const LAST = `${chunkOf({}, 'stop')}data: [DONE]\n\n`;

/** An answer as JSON and as a stream, by the end of the path. */
interface Form {
  readonly answer: string;
  readonly first: string;
  readonly next: string;
  readonly last: string;
}

/** Of reasoning, in characters: what a bridge keeps of each answer. */
const THOUGHT = 'A'.repeat(1_000);
const MARKS = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

const FORMS: ReadonlyMap<string, Form> = new Map([
  ['/responses', responsesForm()],
  ['/messages', messagesForm()],
]);

function formOf(url = ''): Form {
  const [, form] = [...FORMS].find(([path]) => url.endsWith(path)) ?? [];
  const answer = url.startsWith(SUMMARIZER_PATH) ? SUMMARY : ANSWER;
  return form ?? { answer, first: FIRST, next: NEXT, last: LAST };
}

function responsesForm(): Form {
  const thought = { type: 'reasoning', id: 'rs_0', summary: [], encrypted_content: THOUGHT };
  const said = (text: string) => ({
    ...{ type: 'message', id: 'msg_0', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const head = { id: 'resp_0', object: 'response', created_at: identity.created, model: identity.model };
  const whole = { ...head, status: 'completed', output: [thought, said('Done.')], usage: MARKS };
  const delta = (text: string) =>
    eventOf('response.output_text.delta', {
      output_index: 1,
      content_index: 0,
      item_id: 'msg_0',
      delta: text,
    });
  return {
    answer: JSON.stringify(whole),
    first:
      eventOf('response.created', { response: { ...head, status: 'in_progress', output: [] } }) +
      eventOf('response.output_item.added', { output_index: 0, item: thought }) +
      eventOf('response.output_item.done', { output_index: 0, item: thought }) +
      eventOf('response.output_item.added', { output_index: 1, item: { ...said(''), content: [] } }) +
      delta(FIRST_WORD),
    next: delta(NEXT_WORD),
    last: eventOf('response.completed', { response: whole }),
  };
}

function messagesForm(): Form {
  const thought = { type: 'thinking', thinking: '', signature: THOUGHT };
  const head = { id: 'msg_0', type: 'message', role: 'assistant', model: identity.model, usage: MARKS };
  const delta = (text: string) =>
    eventOf('content_block_delta', { index: 1, delta: { type: 'text_delta', text } });
  const content = [thought, { type: 'text', text: 'Done.' }];
  return {
    answer: JSON.stringify({ ...head, stop_reason: 'end_turn', content }),
    first:
      eventOf('message_start', { message: { ...head, stop_reason: null, content: [] } }) +
      eventOf('content_block_start', { index: 0, content_block: thought }) +
      eventOf('content_block_stop', { index: 0 }) +
      eventOf('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }) +
      delta(FIRST_WORD),
    next: delta(NEXT_WORD),
    last:
      eventOf('content_block_stop', { index: 1 }) +
      eventOf('message_delta', { delta: { stop_reason: 'end_turn' }, usage: MARKS }) +
      eventOf('message_stop', {}),
  };
}

function eventOf(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

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
      const { answer, first, next, last } = formOf(request.url);
      if (deltas === 0) return response.end(answer);
      response.write(first);
      for (let left = deltas - 1; left > 0; left -= BATCH) response.write(next.repeat(Math.min(left, BATCH)));
      return response.end(last);
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
