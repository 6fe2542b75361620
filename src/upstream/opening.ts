/**
 * Reads the beginning of an answer that may still be passed on. Its body stays the same, byte for
 * byte.
 */

import { after } from '../lib/time-limit.ts';
import { errorName, type Log } from '../log.ts';
import { chunksOf, type Read } from './chunks.ts';
import type { UpstreamAnswer } from './fetch.ts';

interface Opened {
  /** The complete body; undefined if it is too long, too slow, or broke off. */
  readonly whole: Uint8Array | undefined;
  /** The answer with its body unread. If the body was read to its end, it comes from memory. */
  readonly answer: UpstreamAnswer;
}

/**
 * Reads a body without consuming it. One that breaks off ends with the bytes received: the status
 * says whether to retry, which an error by Precis would hide.
 */
export async function openAnswer(
  answer: UpstreamAnswer,
  most: number,
  limitMs: number,
  log: Log,
): Promise<Opened> {
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
  if (read.brokeBy === undefined) return { whole: read.bytes, answer: withBody(read.bytes) };
  log('warn', 'an answer of the upstream broke off', { code: 'upstream_unreachable', error: read.brokeBy });
  abort();
  headers.delete('content-length');
  return { whole: undefined, answer: withBody(read.bytes) };
}

/** Looks at the first bytes of a stream. */
interface Looker {
  /** Returns true once it has seen enough. */
  push(chunk: Uint8Array): boolean;
  end(): void;
}

/** A beginning that says nothing in this many bytes is no error, whatever follows. */
const LONGEST_BEGINNING = 1024 * 1024;

/**
 * Reads the beginning of a stream without consuming it, until the looker has seen enough, the
 * stream ends, time is up, or too much has come.
 *
 * @returns the answer with all of its chunks
 */
export async function openStream(
  answer: UpstreamAnswer,
  looker: Looker,
  limitMs: number,
): Promise<UpstreamAnswer> {
  const { body } = answer.response;
  if (!body) return answer;
  const rest = answer.rest ?? chunksOf(body);
  const chunks: Uint8Array[] = [];
  const limit = after(limitMs);
  /** A read whose chunk the caller has yet to get. */
  let pending: Promise<Read> | undefined;
  let size = 0;
  for (let isEnough = false; !isEnough && size < LONGEST_BEGINNING; ) {
    pending = rest.next();
    const read = await Promise.race([pending.catch(() => undefined), limit.over]);
    if (!read) break;
    if (read.done) {
      looker.end();
      break;
    }
    chunks.push(read.value);
    size += read.value.length;
    pending = undefined;
    isEnough = looker.push(read.value);
  }
  limit.clear();

  const next = async (): Promise<Read> => {
    const value = chunks.shift();
    if (value) return { done: false, value };
    const read = pending ?? rest.next();
    pending = undefined;
    return read;
  };
  return { ...answer, rest: { next, cancel: (reason) => rest.cancel(reason) } };
}

/** The bytes of a body, up to its end or to where it broke off. */
interface Opening {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The name of the error by which it broke off; undefined if it is whole. */
  readonly brokeBy: string | undefined;
}

async function readWithin(
  body: ReadableStream<Uint8Array>,
  most: number,
  limitMs: number,
): Promise<Opening | undefined> {
  const reader = body.getReader();
  const limit = after(limitMs);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const read = async (brokeBy?: string): Promise<Opening> => ({
    bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()),
    brokeBy,
  });
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), limit.over]);
      if (!next || size > most) return undefined;
      if (next.done) return await read();
      chunks.push(next.value);
      size += next.value.byteLength;
    }
  } catch (error) {
    return await read(errorName(error));
  } finally {
    limit.clear();
    reader.cancel().catch(() => undefined);
  }
}
