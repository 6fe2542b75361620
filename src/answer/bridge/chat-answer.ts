/** An answer of another API as an answer of chat completions. */
import { concat } from '../../lib/bytes.ts';
import { FrameSplitter } from '../../protocol/answers/sse.ts';
import type { AnswerReader, BridgedStream, CompleteAnswer } from '../../protocol/bridges/bridge.ts';
import { answerTooLarge, brokenAnswer } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import { LONGEST_ANSWER, readBody } from '../../upstream/body.ts';
import { type Chunks, chunksOf, type Read } from '../../upstream/chunks.ts';
import type { UpstreamAnswer } from '../../upstream/fetch.ts';
import { isEventStream } from '../../upstream/request.ts';
import { bodyRelay } from '../unread/unread-body.ts';

interface Translating {
  readonly reader: AnswerReader;
  /** Whether the caller asks for a stream. */
  readonly streams: boolean;
  readonly services: Services;
  /** Keeps the output of a complete answer. What ends the answer waits for it. Never rejects. */
  keep(kept: CompleteAnswer): Promise<void>;
}

/** @throws ApiError if an answer that must be read completely breaks off, or is too long */
export async function chatAnswer<Answer extends UpstreamAnswer>(
  answer: Answer,
  { reader, streams, services, keep }: Translating,
): Promise<Answer> {
  const { response } = answer;
  if (response.ok && streams && isEventStream(response)) return streamed(answer, reader.stream(), keep);
  const body = response.body ? await readBody(answer, bodyRelay(services)) : new Uint8Array();
  if (typeof body === 'string') throw brokenAnswer(body);
  if (body instanceof ReadableStream) {
    answer.abort();
    throw answerTooLarge();
  }
  if (!response.ok) return withBody(answer, reader.error(body, response.status), response.status);
  const { body: chat, status, kept } = reader.answer(body);
  if (kept) await keep(kept);
  return withBody(answer, chat, status);
}

function withBody<Answer extends UpstreamAnswer>(answer: Answer, body: Uint8Array, status: number): Answer {
  const headers = headersOf(answer, 'application/json');
  return { ...answer, response: new Response(new Uint8Array(body), { status, headers }), rest: undefined };
}

function headersOf({ response }: UpstreamAnswer, type: string): Headers {
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  headers.set('content-type', type);
  return headers;
}

function streamed<Answer extends UpstreamAnswer>(
  answer: Answer,
  stream: BridgedStream,
  keep: Translating['keep'],
): Answer {
  const { status, body } = answer.response;
  if (!body) return answer;
  const rest = new ChatChunks(answer.rest ?? chunksOf(body), stream, keep);
  const headers = headersOf(answer, 'text/event-stream; charset=utf-8');
  // Its chunks are read in place of its body.
  return { ...answer, response: new Response(new ReadableStream(), { status, headers }), rest };
}

/** Reads the chunks of another API's stream, and gives out chunks of chat. */
class ChatChunks implements Chunks {
  private readonly chunks: Chunks;
  private readonly stream: BridgedStream;
  private readonly keep: Translating['keep'];
  private readonly splitter = new FrameSplitter(LONGEST_ANSWER);
  private isKept = false;
  private hasEnded = false;

  constructor(chunks: Chunks, stream: BridgedStream, keep: Translating['keep']) {
    this.chunks = chunks;
    this.stream = stream;
    this.keep = keep;
  }

  async next(): Promise<Read> {
    if (this.hasEnded) return { done: true };
    const read = await this.chunks.next();
    this.hasEnded = read.done;
    const frames = read.done ? this.last() : this.taken(read.value);
    const { kept } = this.stream;
    if (kept && !this.isKept) {
      this.isKept = true;
      await this.keep(kept);
    }
    // Bytes that say nothing are a sign of life all the same.
    return { done: false, value: frames.length === 1 && frames[0] ? frames[0] : concat(frames) };
  }

  cancel(reason: unknown): Promise<void> {
    return this.chunks.cancel(reason);
  }

  finish(): void {
    this.chunks.finish?.();
  }

  private taken(bytes: Uint8Array): Uint8Array[] {
    const frames = this.splitter.push(bytes);
    // A frame of this length says nothing that could be answered.
    if (this.splitter.inside) throw new Error('an event is too long to be read');
    return frames.flatMap((frame) => this.stream.push(frame));
  }

  private last(): Uint8Array[] {
    const frame = this.splitter.last();
    return frame ? [...this.stream.push(frame)] : [];
  }
}
