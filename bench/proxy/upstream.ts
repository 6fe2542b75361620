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

/**
 * Request header with the message of the model that an answer has, as JSON in ASCII, so that a
 * client sends back what it was answered. Without it, the answer says that the work is done. The
 * text of a stream is `textOf` its deltas.
 */
export const ANSWER_HEADER = 'x-answer';

/** Deltas per write. */
const BATCH = 50;

const identity = { id: 'chatcmpl-0', created: 1_772_600_000, model: 'gpt-4.1' };

const SUMMARY = answerOf({ content: summaryOf('The agent has read files and fixed an error.') });

const FIRST_WORD = 'It ';
const NEXT_WORD = 'is ';
const FIRST = chunkOf({ role: 'assistant', content: '' }) + chunkOf({ content: FIRST_WORD });
const NEXT = chunkOf({ content: NEXT_WORD });

/** A message of the model, as a client sends it back. */
interface AnswerMessage {
  readonly content: string | null;
  readonly tool_calls?: readonly AnswerCall[];
}

interface AnswerCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

const DONE: AnswerMessage = { content: 'Done.' };

/** An answer as JSON and as a stream, by the end of the path. */
interface Form {
  answer(message: AnswerMessage): string;
  readonly first: string;
  readonly next: string;
  /** The calls of a message whose text has been given, and the end. */
  last(message: AnswerMessage): string;
}

/** The text of a stream. */
export function textOf(deltas: number): string {
  return FIRST_WORD + NEXT_WORD.repeat(Math.max(0, deltas - 1));
}

/**
 * Of reasoning: what a bridge keeps of each answer. It counts toward the budget, so it is short
 * beside a step: the view of a bridged request is edited about as often as the view of another one.
 */
const THOUGHT = 'A'.repeat(100);
const MARKS = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

const FORMS: ReadonlyMap<string, Form> = new Map([
  ['/responses', responsesForm()],
  ['/messages', messagesForm()],
]);

function formOf(url = ''): Form {
  const [, form] = [...FORMS].find(([path]) => url.endsWith(path)) ?? [];
  const answer = url.startsWith(SUMMARIZER_PATH) ? () => SUMMARY : answerOf;
  return form ?? { answer, first: FIRST, next: NEXT, last: lastOf };
}

function responsesForm(): Form {
  const thought = { type: 'reasoning', id: 'rs_0', summary: [], encrypted_content: THOUGHT };
  const said = (text: string) => ({
    ...{ type: 'message', id: 'msg_0', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const head = { id: 'resp_0', object: 'response', created_at: identity.created, model: identity.model };
  const callOf = ({ id, function: called }: AnswerCall) => ({
    ...{ type: 'function_call', id: `fc_${id}`, call_id: id, status: 'completed', ...called },
  });
  const whole = ({ content, tool_calls = [] }: AnswerMessage) => ({
    ...{ ...head, status: 'completed', usage: MARKS },
    output: [thought, ...(content === null ? [] : [said(content)]), ...tool_calls.map(callOf)],
  });
  const delta = (text: string) =>
    eventOf('response.output_text.delta', {
      output_index: 1,
      content_index: 0,
      item_id: 'msg_0',
      delta: text,
    });
  return {
    answer: (message) => JSON.stringify(whole(message)),
    first:
      eventOf('response.created', { response: { ...head, status: 'in_progress', output: [] } }) +
      eventOf('response.output_item.added', { output_index: 0, item: thought }) +
      eventOf('response.output_item.done', { output_index: 0, item: thought }) +
      eventOf('response.output_item.added', { output_index: 1, item: { ...said(''), content: [] } }) +
      delta(FIRST_WORD),
    next: delta(NEXT_WORD),
    last: (message) => eventOf('response.completed', { response: whole(message) }),
  };
}

function messagesForm(): Form {
  const thought = { type: 'thinking', thinking: '', signature: THOUGHT };
  const head = { id: 'msg_0', type: 'message', role: 'assistant', model: identity.model, usage: MARKS };
  const delta = (text: string) =>
    eventOf('content_block_delta', { index: 1, delta: { type: 'text_delta', text } });
  const contentOf = ({ content, tool_calls = [] }: AnswerMessage) => [
    thought,
    ...(content === null ? [] : [{ type: 'text', text: content }]),
    ...tool_calls.map(({ id, function: { name, arguments: input } }) => ({
      ...{ type: 'tool_use', id, name, input: JSON.parse(input) as object },
    })),
  ];
  const callEvents = ({ id, function: { name, arguments: json } }: AnswerCall, at: number) => {
    const index = 2 + at;
    const begun = { index, content_block: { type: 'tool_use', id, name, input: {} } };
    const delta = { index, delta: { type: 'input_json_delta', partial_json: json } };
    const events = [eventOf('content_block_start', begun), eventOf('content_block_delta', delta)];
    return events.join('') + eventOf('content_block_stop', { index });
  };
  const stop = ({ tool_calls }: AnswerMessage) => (tool_calls ? 'tool_use' : 'end_turn');
  return {
    answer: (message) => JSON.stringify({ ...head, stop_reason: stop(message), content: contentOf(message) }),
    first:
      eventOf('message_start', { message: { ...head, stop_reason: null, content: [] } }) +
      eventOf('content_block_start', { index: 0, content_block: thought }) +
      eventOf('content_block_stop', { index: 0 }) +
      eventOf('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }) +
      delta(FIRST_WORD),
    next: delta(NEXT_WORD),
    last: (message) =>
      eventOf('content_block_stop', { index: 1 }) +
      (message.tool_calls ?? []).map(callEvents).join('') +
      eventOf('message_delta', { delta: { stop_reason: stop(message) }, usage: MARKS }) +
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
      const said = request.headers[ANSWER_HEADER];
      const message = typeof said === 'string' ? (JSON.parse(said) as AnswerMessage) : DONE;
      if (deltas === 0) return response.end(answer(message));
      response.write(first);
      for (let left = deltas - 1; left > 0; left -= BATCH) response.write(next.repeat(Math.min(left, BATCH)));
      return response.end(last({ ...message, content: textOf(deltas) }));
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
}

function answerOf(said: AnswerMessage): string {
  const message = { role: 'assistant', ...said };
  return JSON.stringify({
    ...identity,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: said.tool_calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });
}

function lastOf({ tool_calls }: AnswerMessage): string {
  const calls = tool_calls?.map((call, index) => ({ index, ...call }));
  const end = chunkOf({}, calls ? 'tool_calls' : 'stop');
  return `${calls ? chunkOf({ tool_calls: calls }) : ''}${end}data: [DONE]\n\n`;
}

function chunkOf(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices })}\n\n`;
}

if (!isMainThread) listen();
