/** An answer of another API as an answer of chat completions. */
import { type Frame, FrameSplitter } from '../../protocol/answers/sse.ts';
import type {
  AnswerReader,
  BridgedAnswer,
  BridgedStream,
  CompleteAnswer,
} from '../../protocol/bridges/bridge.ts';
import { accountErrorIn, answerTooLarge, brokenAnswer } from '../../request/errors.ts';
import type { RequestScope } from '../../request/scope.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { LONGEST_ANSWER, readBody } from '../../upstream/body.ts';
import { type Chunks, chunksOf, type Read } from '../../upstream/chunks.ts';
import { openStream } from '../../upstream/opening.ts';
import { isEventStream } from '../../upstream/request.ts';
import { type CountedAnswer, withoutAccount } from '../ask-upstream.ts';
import { bodyRelay } from '../unread/unread-body.ts';
import { withStreamType } from '../untyped-streams.ts';

const encoder = new TextEncoder();

interface Translating {
  readonly reader: AnswerReader;
  /** Whether the caller asks for a stream. */
  readonly streams: boolean;
  /** As the API takes the request. */
  readonly scope: RequestScope;
  /** Keeps the output of a complete answer. What ends the answer waits for it. Never rejects. */
  keep(kept: CompleteAnswer): Promise<void>;
}

/**
 * A stream that fails before it has said anything is a refusal with a status, if that comes before
 * the caller must have headers.
 *
 * @throws ApiError if an answer breaks off that must be read completely, or has said nothing yet;
 *   if it is too long
 */
export async function chatAnswer(came: CountedAnswer, translating: Translating): Promise<CountedAnswer> {
  const { reader, streams, scope, keep } = translating;
  const answer = streams ? await withStreamType(came, scope) : came;
  const { response } = answer;
  if (response.ok && streams && isEventStream(response)) return streamed(answer, translating);
  const body = response.body ? await readBody(answer, bodyRelay(scope.services)) : new Uint8Array();
  if (typeof body === 'string') throw brokenAnswer(body);
  if (body instanceof ReadableStream) {
    answer.abort();
    throw answerTooLarge();
  }
  if (!response.ok) return withBody(answer, reader.error(body, response.status), response.status);
  const said = reader.answer(body);
  if (said.fault) return refused(answer, said, translating);
  return said.kept ? whole(answer, said, keep(said.kept)) : withBody(answer, said.body, said.status);
}

/** An answer whose body waits until it is kept. All else goes on meanwhile. */
function whole(answer: CountedAnswer, { body, status }: BridgedAnswer, isKept: Promise<void>): CountedAnswer {
  const left = [body];
  const next = async (): Promise<Read> => {
    const value = left.pop();
    if (!value) return { done: true };
    await isKept;
    return { done: false, value };
  };
  const headers = headersOf(answer, 'application/json');
  return readElsewhere(answer, status, headers, { next, cancel: async () => undefined });
}

/** An answer whose chunks are read in place of its body. */
function readElsewhere(answer: CountedAnswer, status: number, headers: Headers, rest: Chunks): CountedAnswer {
  return { ...answer, response: new Response(new ReadableStream(), { status, headers }), rest };
}

/** An answer with the status 200 that is an error. What it says of a shared account is hidden. */
function refused(
  answer: CountedAnswer,
  { body, status, fault }: BridgedAnswer,
  translating: Translating,
): CountedAnswer | Promise<CountedAnswer> {
  const shown = withoutAccount(answer, translating.scope, fault && accountErrorIn({ ...fault }));
  return shown === answer ? withBody(answer, body, status) : chatAnswer(shown, translating);
}

function withBody(answer: CountedAnswer, body: Uint8Array, status: number): CountedAnswer {
  const headers = headersOf(answer, 'application/json');
  const { rest: _, ...read } = answer;
  return { ...read, response: new Response(new Uint8Array(body), { status, headers }) };
}

function headersOf({ response }: CountedAnswer, type: string): Headers {
  const headers = new Headers(response.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  headers.set('content-type', type);
  return headers;
}

async function streamed(answer: CountedAnswer, translating: Translating): Promise<CountedAnswer> {
  const { status, body } = answer.response;
  if (!body) return answer;
  const { reader, scope, keep } = translating;
  const relay = bodyRelay(scope.services);
  const stream = reader.stream();
  const chunks = new ChatChunks(answer.rest ?? chunksOf(body), stream, keep);
  const headers = headersOf(answer, 'text/event-stream; charset=utf-8');
  const looker = { push: () => stream.hasBegun || stream.refusal !== undefined, end: () => undefined };
  const limitMs = Math.min(TIME_LIMITS.streamBeginningMs, relay.idleMs);
  const opened = await openStream(readElsewhere(answer, status, headers, chunks), looker, limitMs);
  if (stream.hasBegun || !(stream.refusal || chunks.isOver)) return { ...opened, hasBegun: true };
  answer.abort();
  if (stream.refusal) return refused(answer, stream.refusal, translating);
  if (chunks.brokenBy !== undefined) relay.died?.(chunks.brokenBy);
  throw brokenAnswer('upstream_unreachable');
}

/**
 * Reads the chunks of another API's stream, and gives out chunks of chat. What comes together with
 * the end of an answer does not wait until that is kept.
 */
class ChatChunks implements Chunks {
  private readonly chunks: Chunks;
  private readonly stream: BridgedStream;
  private readonly keep: Translating['keep'];
  private readonly splitter = new FrameSplitter(LONGEST_ANSWER);
  /** What ends the answer, which is given out once that is kept. */
  private ending = '';
  /** Undefined before it has ended. */
  private isKept: Promise<void> | undefined;
  isOver = false;
  /** Why it has broken off. */
  brokenBy: unknown;

  constructor(chunks: Chunks, stream: BridgedStream, keep: Translating['keep']) {
    this.chunks = chunks;
    this.stream = stream;
    this.keep = keep;
  }

  async next(): Promise<Read> {
    if (this.isOver && this.ending === '') return { done: true };
    let said = this.ending === '' ? await this.said() : '';
    if (said === '' && this.ending !== '') {
      await this.isKept;
      said = this.ending;
      this.ending = '';
    }
    // Bytes that say nothing are a sign of life all the same.
    return { done: false, value: encoder.encode(said) };
  }

  cancel(reason: unknown): Promise<void> {
    return this.chunks.cancel(reason);
  }

  finish(): void {
    this.chunks.finish?.();
  }

  /** What is said before the answer ends. @throws what breaks the stream off */
  private async said(): Promise<string> {
    try {
      const read = await this.chunks.next();
      this.isOver = read.done;
      return this.take(read.done ? this.last() : this.framesOf(read.value));
    } catch (error) {
      this.isOver = true;
      this.brokenBy = error;
      throw error;
    }
  }

  private framesOf(bytes: Uint8Array): readonly Frame[] {
    const frames = this.splitter.push(bytes);
    // A frame of this length says nothing that could be answered.
    if (this.splitter.inside) throw new Error('an event is too long to be read');
    return frames;
  }

  private last(): readonly Frame[] {
    const frame = this.splitter.last();
    return frame ? [frame] : [];
  }

  private take(frames: readonly Frame[]): string {
    let said = '';
    for (const frame of frames) {
      const given = this.stream.push(frame);
      if (this.stream.kept) this.isKept ??= this.keep(this.stream.kept);
      if (this.isKept) this.ending += given;
      else said += given;
    }
    return said;
  }
}
