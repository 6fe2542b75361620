/** Listens to the body of an answer while it is read for its caller. */
import { type Chunks, chunksOf } from './chunks.ts';
import type { UpstreamAnswer } from './fetch.ts';

interface Listener {
  push(chunk: Uint8Array): void;
  /** The body has come to its end. Not called if it breaks off, or if nobody reads all of it. */
  end(): void;
}

/** The same answer, whose chunks the listener gets too. */
export function heard(answer: UpstreamAnswer, { push, end }: Listener): UpstreamAnswer {
  const { body } = answer.response;
  if (!body) return answer;
  const chunks = answer.rest ?? chunksOf(body);
  let hasEnded = false;
  const rest: Chunks = {
    async next() {
      const read = await chunks.next();
      if (!read.done) push(read.value);
      else if (!hasEnded) {
        hasEnded = true;
        end();
      }
      return read;
    },
    cancel: (reason) => chunks.cancel(reason),
  };
  return { ...answer, rest };
}
