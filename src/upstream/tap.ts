/** Listens to the body of an answer while it is read for its caller. */
import { type Chunks, chunksOf } from './chunks.ts';
import type { UpstreamAnswer } from './fetch.ts';

interface Listener {
  push(chunk: Uint8Array): void;
  /** The body has come to its end. Not called if it breaks off, or if nobody reads all of it. */
  end(): void;
  /** The body has broken off, or nobody reads the rest of it. */
  cut?(): void;
}

/** The same answer, whose chunks the listener gets too. */
export function tap(answer: UpstreamAnswer, { push, end, cut }: Listener): UpstreamAnswer {
  const { body } = answer.response;
  if (!body) return answer;
  const chunks = answer.rest ?? chunksOf(body);
  let hasEnded = false;
  const over = (notify: (() => void) | undefined): void => {
    if (!hasEnded) notify?.();
    hasEnded = true;
  };
  const rest: Chunks = {
    async next() {
      try {
        const read = await chunks.next();
        if (read.done) over(end);
        else push(read.value);
        return read;
      } catch (error) {
        over(cut);
        throw error;
      }
    },
    cancel: (reason) => {
      over(cut);
      return chunks.cancel(reason);
    },
    finish: () => over(end),
  };
  return { ...answer, rest };
}
