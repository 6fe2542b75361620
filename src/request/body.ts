/**
 * Request bodies: their charset and encoding (RFC 9110, section 8.4), read and decoded within a
 * size limit.
 */
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { ModelRequest } from '../protocol/model-request.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { Chunks } from '../upstream/chunks.ts';
import { ApiError } from './errors.ts';
import { MOST_UNVERIFIED } from './known-key.ts';
import { readingBodies } from './reading-bodies.ts';
import { SIZE_LIMITS } from './size-limits.ts';

/** A body that announces no more is read at once, and is not counted. In bytes. */
const SHORT_BODY = 64 * 1024;

export interface ReadBody {
  /** Decoded. */
  readonly bytes: Uint8Array;
  /** The encoded bytes, if the body came encoded. */
  readonly encoded: Uint8Array | undefined;
}

/** A body that is not read because of its size or its encoding. */
export interface UnreadBody {
  readonly fault: ApiError;
  /** The complete body unchanged. */
  readonly whole: ReadableStream<Uint8Array> | Uint8Array;
  /** Whether the body exceeds the limit by so little that the rest is read and dropped. */
  readonly isNear?: boolean;
}

/** Why a body must not be decoded to more than `MOST_UNVERIFIED`, if so. Asked about such alone. */
type GrowthFault = () => Promise<ApiError | undefined>;

/**
 * Senders may miss the error if the connection closes while they send. So the rest of a body that
 * is at most an eighth too large is read and dropped.
 */
const NEAR = 1 + 1 / 8;

/** Decoders of `zstd` need no window larger than 8 MiB (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;

/** By name, including the aliases of RFC 9110, section 8.4.1.3. */
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
 * @param param the field that an error names
 * @throws ApiError `body_too_large`, `unsupported_media_type`, `invalid_value` for a body that
 *   can't be decoded, `invalid_json` for one that breaks off, `overloaded`
 */
export async function readBody(
  request: Request,
  param: string | null,
  limit = SIZE_LIMITS.body,
  growthFault?: GrowthFault,
): Promise<Uint8Array> {
  const read = await tryBody(request, param, limit, growthFault);
  if ('fault' in read) throw await refused(read);
  return read.bytes;
}

/** The error for a body that is not read. Drops the body. */
export async function refused({ fault, whole, isNear }: UnreadBody): Promise<ApiError> {
  if (!(whole instanceof ReadableStream)) return fault;
  const done = isNear ? whole.pipeTo(new WritableStream()) : whole.cancel();
  await done.catch(() => undefined);
  return fault;
}

/**
 * Like `readBody`, but a body that is not read can still be forwarded. If `content-length` is over
 * the limit, nothing is read.
 *
 * @param growthFault for a body whose key nobody has looked at yet
 * @throws ApiError `unsupported_media_type` for a charset other than UTF-8; `overloaded`
 */
export async function tryBody(
  request: Request,
  param: string | null,
  limit = SIZE_LIMITS.body,
  growthFault?: GrowthFault,
): Promise<ReadBody | UnreadBody> {
  checkCharset(request.headers);
  const { body } = request;
  if (!body) return { bytes: new Uint8Array(), encoded: undefined };
  // Made where it is needed: an error records where it was made, which takes time.
  const fault = () => tooLarge(limit, param);
  const announced = request.headers.get('content-length');
  const length = Number(announced ?? 0);
  if (length > limit) return { fault: fault(), whole: body, isNear: length <= limit * NEAR };
  const read = await readUpTo(request, body, announced === null ? undefined : length, limit);
  if (read === 'no_room') throw noRoom();
  if (!(read instanceof Uint8Array)) return { fault: fault(), whole: read };
  if (read.length > limit) return { fault: fault(), whole: read };
  return decoded(read, request.headers.get('content-encoding') ?? '', limit, fault, growthFault);
}

async function decoded(
  bytes: Uint8Array,
  encoding: string,
  limit: number,
  isTooLarge: () => ApiError,
  growthFault?: GrowthFault,
): Promise<ReadBody | UnreadBody> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return { bytes, encoded: undefined };
  const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (!decode)
    return { fault: notReadable('unsupported_media_type', 'names one that is not supported'), whole: bytes };
  try {
    const most = growthFault ? Math.min(limit, MOST_UNVERIFIED) : limit;
    return { bytes: decode(bytes, most), encoded: bytes };
  } catch (error) {
    if (growthFault && error instanceof RangeError) {
      const fault = await growthFault();
      return fault ? { fault, whole: bytes } : decoded(bytes, encoding, limit, isTooLarge);
    }
    const fault =
      error instanceof RangeError
        ? isTooLarge()
        : notReadable('invalid_value', 'does not say how the body is encoded');
    return { fault, whole: bytes };
  }
}

/**
 * The bytes of a body, or a stream of the same bytes if there are more than `limit`.
 *
 * @param length if it is announced. The runtime reads no more
 */
async function readUpTo(
  request: Request,
  body: ReadableStream<Uint8Array>,
  length: number | undefined,
  limit: number,
): Promise<Uint8Array | ReadableStream<Uint8Array> | 'no_room'> {
  const reading =
    length !== undefined && length <= SHORT_BODY ? request.bytes() : readingBodies.read(body, limit, length);
  const came = await reading.catch((error: unknown) => {
    throw brokenOff(error);
  });
  return came instanceof Uint8Array || came === 'no_room' ? came : resumed(came.read, came.rest);
}

/** A stream of the chunks read so far and the rest. */
function resumed(chunks: Uint8Array[], rest: Chunks): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = chunks.shift();
        if (chunk) return controller.enqueue(chunk);
        const read = await rest.next();
        if (read.done) controller.close();
        else controller.enqueue(read.value);
      },
      cancel: (reason) => rest.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Some clients send raw deflate without the zlib header (RFC 1950, section 2.2). */
function isZlib([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

/** The connection of a sender who has left, or whose chunks are malformed. No fault of Precis. */
function brokenOff(cause: unknown): ApiError {
  const error = new ApiError('invalid_json', 'The request body broke off before it was complete.');
  error.cause = cause;
  return error;
}

function noRoom(): ApiError {
  const seconds = Math.ceil(TIME_LIMITS.bodyPatienceMs / 1_000);
  return new ApiError(
    'overloaded',
    `Too many large request bodies are being read at once. Please try again in ${seconds}s.`,
    null,
    undefined,
    { 'retry-after': String(seconds) },
  );
}

/** What a caller can do about a body that is too large to be planned. */
const SMALLER =
  'Leave out images and files that the model has already seen, or refer to them by URL or by the id of an uploaded file.';

function tooLarge(limit: number, param: string | null): ApiError {
  // Bodies with a lower limit are no conversations.
  const help = limit < SIZE_LIMITS.body ? '' : ` ${SMALLER}`;
  return new ApiError('body_too_large', `${mostOf(limit)}.${help}`, param);
}

function mostOf(limit: number): string {
  return `The request body must have at most ${limit.toLocaleString('en-US')} bytes, also when decoded`;
}

/**
 * The error for a body over the limit of a route that forwards some of these unread.
 *
 * @param why this one must be read; undefined for one that needs not
 */
export function tooLargeToRead({ param }: ApiError, why: string | undefined): ApiError {
  const unread = `A larger one, up to the upstream's own limit, can only be forwarded unchanged: with a memory_strategy of none, set by header, agent or deployment, and without fields of Precis.`;
  const most = mostOf(SIZE_LIMITS.body);
  const message = why === undefined ? `${most}. ${SMALLER} ${unread}` : `${most}: ${why}. ${SMALLER}`;
  return new ApiError('body_too_large', message, param);
}

function notReadable(code: 'invalid_value' | 'unsupported_media_type', fault: string): ApiError {
  return new ApiError(
    code,
    `The header content-encoding ${fault}; it may be gzip, deflate, br or zstd, or be absent.`,
    'content-encoding',
  );
}

/**
 * Checks that a body is small enough to be edited or sealed.
 *
 * @throws ApiError `body_too_large`
 */
export function checkSize({ bytes, conversationField }: ModelRequest): void {
  if (bytes.length <= SIZE_LIMITS.body) return;
  throw new ApiError(
    'body_too_large',
    `The request body has ${bytes.length} bytes; with a memory_strategy other than none, or for a compaction item, Precis's limit is ${SIZE_LIMITS.body}, whatever the upstream takes. ${SMALLER}`,
    conversationField,
  );
}

/** JSON is UTF-8 (RFC 8259, section 8.1), which includes ASCII. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/**
 * Checks that Precis reads a body as the upstream will. Servers go by the charset, and bytes that
 * are text in one charset may be different JSON in another. Every charset in the header is checked,
 * however it is written.
 *
 * @throws ApiError `unsupported_media_type`
 */
export function checkCharset(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!/charset/i.test(type)) return;
  const named = [...type.matchAll(/charset\W*([^\s";,]*)/gi)].map(([, charset = '']) => charset);
  if (named.every((charset) => CHARSETS.has(charset.toLowerCase()))) return;
  throw new ApiError(
    'unsupported_media_type',
    'The header content-type names an unsupported charset; the body must be JSON in UTF-8.',
    'content-type',
  );
}

/**
 * Checks that a body that is forwarded unread is not encoded, since its `content-encoding` is not
 * forwarded.
 *
 * @throws ApiError `unsupported_media_type`
 */
export function checkUnencoded(headers: Headers): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  throw new ApiError(
    'unsupported_media_type',
    'The body of this request must not have a content-encoding.',
    'content-encoding',
  );
}
