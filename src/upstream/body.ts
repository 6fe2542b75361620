/**
 * Bodies other than event streams: read completely if they are short enough, or relayed as they
 * come. Either way a silent upstream is given up, and the caller can distinguish a broken body
 * from a complete one.
 */
import type { AnswerEnd } from '../memory/run/event.ts';
import { type UpstreamAnswer, UpstreamError, type UpstreamFault } from './fetch.ts';
import { Source } from './source.ts';

/**
 * Longest answer that is read completely, in decoded bytes. An isolate has 128 MB for all its
 * requests.
 */
export const LONGEST_ANSWER = 16 * 1024 * 1024;

/** How to relay a body. */
export interface BodyRelay {
  /** How long the upstream may be silent, in milliseconds. */
  readonly idleMs: number;
  /** Called when a body breaks off after its first byte. */
  broken(fault: UpstreamFault): void;
  /** Called with the reason when the connection breaks off. */
  readonly died?: (error: unknown) => void;
  /** Called once, when a body that is relayed as it comes has ended. */
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
    if (read.done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    chunks.push(read.value);
    size += read.value.length;
  }
  return goOn(answer, source, chunks, relay);
}

/**
 * Relays a body as it comes. Waits for the first byte, so that a failure until then can still be a
 * status. Null for an empty body; bytes if all of a body of known length came with the first.
 *
 * @param length of the body, if it is known
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
  if (first.value.length !== length) return goOn(answer, source, [first.value], relay);
  source.finish();
  return first.value;
}

/**
 * Like `relayBody`, but without waiting for the first byte: the caller gets its headers at once.
 */
export function relayEarly(answer: UpstreamAnswer, relay: BodyRelay): ReadableStream<Uint8Array> | null {
  return answer.response.body && goOn(answer, new Source(answer, relay.died), [], relay);
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

/** @param chunks already read; they go first */
function goOn(
  answer: UpstreamAnswer,
  source: Source,
  chunks: Uint8Array[],
  { idleMs, broken, ended }: BodyRelay,
): ReadableStream<Uint8Array> {
  const waiting = chunks.toReversed();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const known = waiting.pop();
        if (known) return controller.enqueue(known);
        const read = await source.read(idleMs);
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
