/**
 * Bodies that are no event streams: read whole as far as their length allows, or relayed as they
 * come. An upstream that falls silent is given up in either case, and a caller can tell a body that
 * broke off from a whole one.
 */
import { type UpstreamAnswer, UpstreamError, type UpstreamFault } from './fetch.ts';
import { Source } from './source.ts';

/**
 * An answer is read whole up to this length, in decoded bytes: an isolate has 128 MB for all its
 * requests.
 */
export const LONGEST_ANSWER = 16 * 1024 * 1024;

/** How the rest of a body is relayed. */
export interface BodyRelay {
  /** How long the upstream may be silent, in milliseconds. */
  readonly idleMs: number;
  /** Is told of a body that breaks off behind its first byte. */
  broken(fault: UpstreamFault): void;
}

/**
 * The whole body of an answer, or how it broke off. One of more than `LONGEST_ANSWER` bytes is left
 * as a stream of all its bytes.
 */
export async function readBody(
  answer: UpstreamAnswer,
  relay: BodyRelay,
): Promise<Uint8Array | ReadableStream<Uint8Array> | UpstreamFault> {
  const source = new Source(answer);
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
 * The body of an answer as it comes, from its first byte on, which is waited for: where none comes
 * there is still a status to say so with. Null for an empty body.
 */
export async function relayBody(
  answer: UpstreamAnswer,
  relay: BodyRelay,
): Promise<ReadableStream<Uint8Array> | UpstreamFault | null> {
  if (!answer.response.body) return null;
  const source = new Source(answer);
  const first = await source.read(relay.idleMs);
  if (typeof first === 'string') {
    answer.abort();
    return faultOf(first);
  }
  return first.done ? null : goOn(answer, source, [first.value], relay);
}

/**
 * The same for a body whose first byte may be long in coming, and whose caller is to see its
 * headers before.
 */
export function relayEarly(answer: UpstreamAnswer, relay: BodyRelay): ReadableStream<Uint8Array> | null {
  return answer.response.body && goOn(answer, new Source(answer), [], relay);
}

/**
 * An answer whose body breaks off where it is longer than `most` decoded bytes: for readers that
 * know no limit of their own.
 */
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

/** @param chunks that were read, and go first */
function goOn(
  answer: UpstreamAnswer,
  source: Source,
  chunks: Uint8Array[],
  { idleMs, broken }: BodyRelay,
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
          // A clean end would pass half a body off as a whole one.
          return controller.error(new UpstreamError(faultOf(read)));
        }
        if (read.done) return controller.close();
        controller.enqueue(read.value);
      },
      async cancel(reason) {
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
