/**
 * Bodies of requests: counted while they are read, and decoded (RFC 9110, section 8.4) within the
 * same bound.
 */

import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { concat } from '../protocol/json/spans.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { checkCharset } from './body-type.ts';
import { ApiError } from './errors.ts';

/**
 * The largest body that is read, before and after it is decoded
 * (docs/design.md#9-tokens-and-bytes). In bytes.
 */
export const LARGEST_BODY = 16 * 1024 * 1024;

export interface ReadBody {
  /** Decoded. */
  readonly bytes: Uint8Array;
  /** As it came, where it came encoded. */
  readonly encoded: Uint8Array | undefined;
}

/** A body that is not read, because of its size or its encoding. */
export interface UnreadBody {
  readonly fault: ApiError;
  /** As it came, from its first byte on. */
  readonly whole: ReadableStream<Uint8Array> | Uint8Array;
  /** Whether it is little enough too large to be read to its end, for its sender's sake. */
  readonly isNear?: boolean;
}

/**
 * A sender whose connection closes while it sends may not hear why; of a body that is larger by an
 * eighth at the most the rest is read away.
 */
const NEAR = 1 + 1 / 8;

/** RFC 9659: no decoder of `zstd` needs a larger window than 8 MiB. */
const ZSTD_WINDOW_LOG = 23;

/** By their names, with those of RFC 9110, section 8.4.1.3. */
const DECODERS: Readonly<Record<string, (bytes: Uint8Array, maxOutputLength: number) => Uint8Array>> = {
  gzip: (bytes, maxOutputLength) => gunzipSync(bytes, { maxOutputLength }),
  'x-gzip': (bytes, maxOutputLength) => gunzipSync(bytes, { maxOutputLength }),
  deflate: (bytes, maxOutputLength) =>
    isZlib(bytes) ? inflateSync(bytes, { maxOutputLength }) : inflateRawSync(bytes, { maxOutputLength }),
  br: (bytes, maxOutputLength) => brotliDecompressSync(bytes, { maxOutputLength }),
  zstd: (bytes, maxOutputLength) =>
    zstdDecompressSync(bytes, {
      maxOutputLength,
      params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
    }),
};

/**
 * @param param the field that a body is about, for an error
 * @throws ApiError `body_too_large`, `unsupported_media_type`, or `invalid_json` for what can't be
 *   decoded
 */
export async function readBody(
  request: Request,
  param: string | null,
  limit = LARGEST_BODY,
): Promise<Uint8Array> {
  const read = await tryBody(request, param, limit);
  if ('fault' in read) throw await refused(read);
  return read.bytes;
}

/** Why a body is not read; nobody reads it any more. */
export async function refused({ fault, whole, isNear }: UnreadBody): Promise<ApiError> {
  if (!(whole instanceof ReadableStream)) return fault;
  const done = isNear ? whole.pipeTo(new WritableStream()) : whole.cancel();
  await done.catch(() => undefined);
  return fault;
}

/**
 * The same; what is not read can still be passed on. Of a body whose length is announced and too
 * large nothing is read.
 *
 * @throws ApiError `unsupported_media_type` for another charset
 */
export async function tryBody(
  request: Request,
  param: string | null,
  limit = LARGEST_BODY,
): Promise<ReadBody | UnreadBody> {
  checkCharset(request.headers);
  const { body } = request;
  if (!body) return { bytes: new Uint8Array(), encoded: undefined };
  const fault = tooLarge(limit, param);
  const announced = request.headers.get('content-length');
  const length = Number(announced ?? 0);
  if (length > limit) return { fault, whole: body, isNear: length <= limit * NEAR };
  // The runtime reads no more than was announced.
  const read = announced === null ? await readUpTo(body, limit) : new Uint8Array(await request.arrayBuffer());
  if (!(read instanceof Uint8Array)) return { fault, whole: read };
  if (read.length > limit) return { fault, whole: read };
  return decoded(read, request.headers.get('content-encoding') ?? '', limit, fault);
}

function decoded(
  bytes: Uint8Array,
  encoding: string,
  limit: number,
  isTooLarge: ApiError,
): ReadBody | UnreadBody {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return { bytes, encoded: undefined };
  const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (!decode)
    return { fault: notReadable('unsupported_media_type', 'names one that is not read'), whole: bytes };
  try {
    return { bytes: decode(bytes, limit), encoded: bytes };
  } catch (error) {
    const fault =
      error instanceof RangeError
        ? isTooLarge
        : notReadable('invalid_json', 'does not say how the body is encoded');
    return { fault, whole: bytes };
  }
}

/** The bytes of a stream; where it has more of them, a stream of all of them. */
async function readUpTo(
  body: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(chunks);
    chunks.push(value);
    length += value.length;
    if (length > limit) return resumed(chunks, reader);
  }
}

/** What was read of a stream, and the rest of it. */
function resumed(
  chunks: Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = chunks.shift();
        if (chunk) return controller.enqueue(chunk);
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** RFC 1950, section 2.2. Some clients send the bare format. */
function isZlib([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

function tooLarge(limit: number, param: string | null): ApiError {
  return new ApiError(
    'body_too_large',
    `The request body must have at most ${limit} bytes, decoded too. A larger one goes up only as it came: with a memory_strategy of none, said by header, agent or deployment, and without fields of Precis.`,
    param,
  );
}

function notReadable(code: 'invalid_json' | 'unsupported_media_type', fault: string): ApiError {
  return new ApiError(
    code,
    `The header content-encoding ${fault}; it may be gzip, deflate, br or zstd, or be absent.`,
    'content-encoding',
  );
}

/**
 * Checks that a body is not too large to be edited, or put away.
 *
 * @throws ApiError `body_too_large`
 */
export function checkSize({ bytes, conversationField }: ModelRequest): void {
  if (bytes.length <= LARGEST_BODY) return;
  throw new ApiError(
    'body_too_large',
    `The request body has ${bytes.length} bytes; with a memory_strategy other than none, or into a compaction item, at most ${LARGEST_BODY} are taken.`,
    conversationField,
  );
}
