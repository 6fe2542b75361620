/**
 * Bodies other than event streams: read completely if they are short enough, or relayed as they
 * arrive. Either way a silent upstream is given up, and the caller can distinguish a broken body
 * from a complete one.
 */
import { concat } from '../lib/bytes.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { Read } from './chunks.ts';
import { type UpstreamAnswer, UpstreamError, type UpstreamFault } from './fetch.ts';
import { Source } from './source.ts';

/**
 * Longest answer that is read completely, in decoded bytes. An isolate has 128 MB for all its
 * requests.
 */
export const LONGEST_ANSWER = 16 * 1024 * 1024;

/**
 * Longest answer that is passed on as bytes if it comes at once. A longer one gains nothing by
 * that. In decoded bytes.
 */
const LONGEST_AT_ONCE = 64 * 1024;

export interface BodyRelay {
  /** How long the upstream may be silent, in milliseconds. */
  readonly idleMs: number;
  /** Called when a body breaks off after its first byte. */
  broken(fault: UpstreamFault): void;
  /** Called with the reason when the connection breaks off. */
  readonly died?: (error: unknown) => void;
  /** Called once, when a body that is relayed as it arrives has ended. */
  ended?(how: AnswerEnd): void;
}

/** Breaks off the caller's body. */
class BrokenBody extends UpstreamError {
  /**
   * The runtime takes an error with this member for a lost connection, as it marks its own
   * (https://developers.cloudflare.com/durable-objects/best-practices/error-handling/), and closes
   * the caller's. Any other error at the end of a body is an uncaught exception as well.
   */
  readonly retryable = true;
}

/**
 * Reads a body completely. Returns a fault if it breaks off, and a stream of all its bytes if they
 * are more than `LONGEST_ANSWER`.
 */
export async function readBody(
  answer: UpstreamAnswer,
  relay: BodyRelay,
): Promise<Uint8Array | ReadableStream<Uint8Array> | UpstreamFault> {
  const source = new Source(answer, relay.died);
  const chunks: Uint8Array[] = [];
  for (let size = 0; size <= LONGEST_ANSWER; ) {
    const read = await source.read(relay.idleMs);
    if (typeof read === 'string') {
      answer.abort();
      return faultOf(read);
    }
    if (read.done) return concat(chunks);
    chunks.push(read.value);
    size += read.value.length;
  }
  return goOn(answer, source, { chunks }, relay);
}

/**
 * Relays a body as it arrives. Waits for the first byte, so that a failure until then can still be
 * a status. Null for an empty body; bytes if a short one comes at once, since a stream of Precis's
 * own costs more than all else that is done for such an answer.
 */
export async function relayBody(
  answer: UpstreamAnswer,
  relay: BodyRelay,
  length?: number,
): Promise<ReadableStream<Uint8Array> | Uint8Array | UpstreamFault | null> {
  if (!answer.response.body) return null;
  const source = new Source(answer, relay.died, length);
  const first = await source.read(relay.idleMs);
  if (typeof first === 'string') {
    answer.abort();
    return faultOf(first);
  }
  if (first.done) return null;
  const begun = await readAtOnce(source, first.value, length);
  // One that ends short of its length must break off.
  const isWhole = length === undefined ? typeof begun.end === 'object' : sizeOf(begun.chunks) === length;
  if (!isWhole) return goOn(answer, source, begun, relay);
  source.finish();
  return concat(begun.chunks);
}

interface Begun {
  readonly chunks: readonly Uint8Array[];
  /** Absent if more may come. */
  readonly end?: Extract<Read, { readonly done: true }> | 'died';
}

/** What comes of a short body as soon as its first chunk has come. */
async function readAtOnce(source: Source, first: Uint8Array, length?: number): Promise<Begun> {
  const chunks = [first];
  const until = Date.now() + TIME_LIMITS.answerAtOnceMs;
  for (let size = first.length; size !== length && Math.max(size, length ?? 0) <= LONGEST_AT_ONCE; ) {
    const left = until - Date.now();
    const read = left > 0 ? await source.read(left) : 'silent';
    if (read === 'silent') return { chunks };
    if (read === 'died' || read.done) return { chunks, end: read };
    chunks.push(read.value);
    size += read.value.length;
  }
  return { chunks };
}

function sizeOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Like `relayBody`, but without waiting for the first byte: the caller gets its headers at once.
 */
export function relayEarly(answer: UpstreamAnswer, relay: BodyRelay): ReadableStream<Uint8Array> | null {
  return answer.response.body && goOn(answer, new Source(answer, relay.died), { chunks: [] }, relay);
}

/** An answer whose body fails after `most` decoded bytes, for readers without their own limit. */
export function bounded(response: Response, most: number): Response {
  if (!response.body) return response;
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > most) throw new Error(`an answer of more than ${most} bytes`);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counted), response);
}

/** @param begun what was read already; it goes first */
function goOn(
  answer: UpstreamAnswer,
  source: Source,
  { chunks, end }: Begun,
  { idleMs, broken, ended }: BodyRelay,
): ReadableStream<Uint8Array> {
  const waiting = chunks.toReversed();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const known = waiting.pop();
        if (known) return controller.enqueue(known);
        const read = end ?? (await source.read(idleMs));
        if (typeof read === 'string') {
          answer.abort();
          broken(faultOf(read));
          ended?.('upstream_broke');
          // Closing normally would pass off half a body as a complete one.
          return controller.error(new BrokenBody(faultOf(read)));
        }
        if (read.done) {
          ended?.('complete');
          return controller.close();
        }
        controller.enqueue(read.value);
      },
      async cancel(reason) {
        ended?.('caller_left');
        answer.abort();
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function faultOf(read: 'died' | 'silent'): UpstreamFault {
  return read === 'died' ? 'upstream_unreachable' : 'upstream_timeout';
}
