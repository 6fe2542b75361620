/** Passes on a request to a model without reading its body, where nothing in it could matter. */

import { Buffer } from 'node:buffer';
import type { Context } from 'hono';
import { idleReport } from '../memory/plan/report.ts';
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { AnswerFormat } from '../protocol/answer-format.ts';
import { OWN_FIELDS } from '../protocol/body.ts';
import { REASONING_MARK } from '../protocol/responses/reasoning.ts';
import { refused, type UnreadBody } from '../request/body.ts';
import { chosenByHeaders } from '../request/choose-strategy.ts';
import type { RequestScope } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { askUpstream } from './ask-upstream.ts';
import { relay } from './relay.ts';

interface Api {
  readonly path: string;
  readonly answers: AnswerFormat;
}

/** @throws ApiError the body's fault, if it must be read */
export async function passUnread(
  c: Context<AppEnv>,
  { path, answers }: Api,
  unread: UnreadBody,
  scope: RequestScope,
): Promise<Response> {
  const { services, headers } = scope;
  const { fault, whole } = unread;
  // Bodies for a shared account are always read.
  const chosen = services.config.access ? undefined : chosenByHeaders(headers, c.get('agent'), scope);
  if (!chosen || !passesThrough(chosen)) throw await refused(unread);
  const isPlain = (headers.get('content-encoding') ?? '') === '';
  const watched =
    whole instanceof ReadableStream && isPlain ? watch(whole, headers, unread.isNear === true) : undefined;
  let answer: UpstreamAnswer;
  try {
    answer = await askUpstream(c, scope, path, watched?.body ?? whole, undefined, true);
  } catch (error) {
    throw watched?.found() ? fault : error;
  }
  if (watched?.found()) {
    answer.abort();
    throw fault;
  }
  const inBody = headers.get('x-memory-report')?.trim().toLowerCase() === 'true';
  const made = { view: undefined, report: idleReport(chosen.mode, chosen.source, []) };
  const options = { format: answers, inBody, streams: false, retrieval: undefined, archive: undefined };
  return relay(answer, made, options, scope);
}

const FIELD_FOUND = 'a field of ours stands in a body that is not read';

interface Watched {
  readonly body: ReadableStream<Uint8Array>;
  /** Whether the name of one of our fields has appeared. The body ends there. */
  found(): boolean;
}

/**
 * Our fields as JSON keys, and the mark of reasoning. In a JSON string the quotes would be escaped,
 * so these can't match there.
 */
const NAMES = [...OWN_FIELDS, REASONING_MARK].map((name) => `"${name}"`);
/** In bytes, with every letter escaped. */
const LONGEST_NAME = 6 * Math.max(...NAMES.map((name) => name.length));

const ESCAPE = '\\u00';
/** An escaped letter or underscore. */
const ESCAPED_LETTER = /\\u00([567][\da-f])/gi;

/** Whether a piece of a body contains the name of one of our fields, escaped or not. */
function holdsName(piece: Buffer): boolean {
  const holds = (text: { includes(name: string): boolean }): boolean =>
    NAMES.some((name) => text.includes(name));
  if (holds(piece)) return true;
  if (!piece.includes(ESCAPE)) return false;
  const letter = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
  return holds(piece.toString('latin1').replace(ESCAPED_LETTER, letter));
}

/** Watches a body on its way up; it must contain no field of ours. */
function watch(whole: ReadableStream<Uint8Array>, headers: Headers, isNear: boolean): Watched {
  let hasFound = false;
  let before: Uint8Array = new Uint8Array();
  const watching = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      // The rest of a body near the limit is read and dropped, so that its sender gets the error.
      if (hasFound) return;
      const text = Buffer.concat([before, chunk]);
      if (holdsName(text)) {
        hasFound = true;
        if (isNear) return;
        throw new Error(FIELD_FOUND);
      }
      // A copy, since a slice would keep the whole chunk alive.
      before = new Uint8Array(text.subarray(-LONGEST_NAME));
      controller.enqueue(chunk);
    },
    flush() {
      if (hasFound) throw new Error(FIELD_FOUND);
    },
  });
  // The runtime sends `content-length` only with a stream of known length.
  const length = headers.get('content-length');
  const out = length === null ? undefined : new FixedLengthStream(Number(length));
  const body = whole.pipeThrough(watching);
  // Errors propagate to the other end.
  if (out) body.pipeTo(out.writable).catch(() => undefined);
  return { body: out?.readable ?? body, found: () => hasFound };
}
