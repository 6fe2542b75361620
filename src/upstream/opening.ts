/** Reading the opening of an answer that may yet be passed on: its body stays what it was, byte for byte. */
import type { UpstreamAnswer } from './fetch.ts';

export interface Opened {
  /** The whole body; undefined when it is longer than was looked at, too slow, or broke off. */
  readonly whole: Uint8Array | undefined;
  /** The answer, its body unread. Of a body that was read to its end nothing is left at the upstream. */
  readonly answer: UpstreamAnswer;
}

/**
 * Reads an answer's body without using it up. One that breaks off ends with the bytes that came: the status says whether the caller
 * may try again, and no fault of ours would.
 *
 * @param most how many bytes are read
 * @param limitMs how long that may take, in milliseconds
 */
export async function openAnswer(answer: UpstreamAnswer, most: number, limitMs: number): Promise<Opened> {
  const { response, abort } = answer;
  if (!response.body) return { whole: undefined, answer };
  const [looked, rest] = response.body.tee();
  const read = await readWithin(looked, most, limitMs);
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  const withBody = (body: BodyInit): UpstreamAnswer => ({
    response: new Response(body, { status, statusText, headers }),
    abort,
  });
  if (!read) return { whole: undefined, answer: withBody(rest) };
  rest.cancel().catch(() => undefined);
  if (read.isWhole) return { whole: read.bytes, answer: withBody(read.bytes) };
  abort();
  headers.delete('content-length');
  return { whole: undefined, answer: withBody(read.bytes) };
}

/** What came of a body, to its end or until it broke off. */
interface Read {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWhole: boolean;
}

async function readWithin(
  body: ReadableStream<Uint8Array>,
  most: number,
  limitMs: number,
): Promise<Read | undefined> {
  const reader = body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  const read = async (isWhole: boolean): Promise<Read> => ({
    bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()),
    isWhole,
  });
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), late]);
      if (!next || size > most) return undefined;
      if (next.done) return await read(true);
      chunks.push(next.value);
      size += next.value.byteLength;
    }
  } catch {
    return await read(false);
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => undefined);
  }
}
