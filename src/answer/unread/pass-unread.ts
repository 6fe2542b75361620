/** Passes on requests to a model without parsing their bodies, if nothing in them is for Precis. */

import { Buffer } from 'node:buffer';
import type { CallLife } from '../../listeners/life.ts';
import { noteVerdict } from '../../listeners/verdict.ts';
import { passesThrough } from '../../memory/modes/strategy.ts';
import { idleReport, type Warning } from '../../memory/plan/report.ts';
import { modelIn, topFieldsOf } from '../../protocol/top-fields.ts';
import { type ReadBody, refused, tooLargeToRead, type UnreadBody } from '../../request/body.ts';
import { type ChosenByHeaders, chosenByHeaders, type ReadFor } from '../../request/choose-strategy.ts';
import type { ApiError } from '../../request/errors.ts';
import type { RequestScope } from '../../request/scope.ts';
import type { UpstreamAnswer } from '../../upstream/fetch.ts';
import { askUpstream } from '../ask-upstream.ts';
import type { ModelApi } from '../model-api.ts';
import { relay } from '../relay.ts';
import { holdsName, LONGEST_NAME, mayConcernUs } from './may-concern-us.ts';

type Api = Pick<ModelApi, 'path' | 'answers'>;

/**
 * Passes on a body unchanged, without parsing it. Undefined if it must be parsed: the strategy
 * edits it, or it may concern Precis.
 *
 * @throws ApiError for invalid headers
 */
export function passRead(
  api: Api,
  { bytes, encoded }: ReadBody,
  scope: RequestScope,
  life: CallLife,
): Promise<Response> | undefined {
  const chosen = chosenUnread(scope);
  if (typeof chosen !== 'object' || mayConcernUs(bytes)) return undefined;
  scope.trace?.asks({ model: modelIn(bytes) });
  const warnings: Warning[] = isThread(bytes, api, scope) ? ['upstream_state'] : [];
  return askUpstream(scope, api.path, encoded ?? bytes, { keepsEncoding: true }).then((answer) =>
    relayed(answer, api, chosen, scope, life, warnings),
  );
}

/** The beta of message threads, without which the API refuses them. */
const THREADS = 'message-threads-';

/** Whether the upstream stores the conversation of a body that is not read. */
function isThread(bytes: Uint8Array, { answers }: Api, { headers }: RequestScope): boolean {
  if (answers.name !== 'messages' || !headers.get('anthropic-beta')?.includes(THREADS)) return false;
  return (topFieldsOf(bytes, ['thread'])?.get('thread') ?? null) !== null;
}

/**
 * Passes on a body that is too large to be read, or encoded in a way that is not read.
 *
 * @throws ApiError the body's fault, if it must be read
 */
export async function passUnread(
  api: Api,
  unread: UnreadBody,
  scope: RequestScope,
  life: CallLife,
): Promise<Response> {
  const { headers } = scope;
  const { whole } = unread;
  const chosen = chosenUnread(scope);
  const fault = explained(unread.fault, typeof chosen === 'string' ? chosen : undefined);
  if (typeof chosen !== 'object') throw await refused({ ...unread, fault });
  const isPlain = (headers.get('content-encoding') ?? '') === '';
  const watched =
    whole instanceof ReadableStream && isPlain ? watch(whole, headers, unread.isNear === true) : undefined;
  let answer: UpstreamAnswer;
  try {
    answer = await askUpstream(scope, api.path, watched?.body ?? whole, { keepsEncoding: true });
  } catch (error) {
    throw watched?.found() ? fault : error;
  }
  if (watched?.found()) {
    answer.abort();
    throw fault;
  }
  return relayed(answer, api, chosen, scope, life);
}

/** Why a body is read although its strategy may edit nothing. */
const REASONS = {
  archive: 'its memory_strategy asks for an archive, so the whole body is read',
  bridge: 'its memory_strategy sends it over another API, which has another form',
  deployer_archive: 'the deployer archives each conversation that a request names, so the whole body is read',
  marks: 'its memory_strategy asks for cache marks, which are inside its messages',
  shared_account: 'every request to a shared account is read',
} as const satisfies Record<ReadFor | 'shared_account', string>;

type Reason = keyof typeof REASONS;

/**
 * The fault of a body that is not read. If it is the body's size, it says why it must be read, or
 * when it needs not be.
 */
function explained(fault: ApiError, reason: Reason | undefined): ApiError {
  return fault.code === 'body_too_large' ? tooLargeToRead(fault, reason && REASONS[reason]) : fault;
}

/**
 * The strategy of a body that is not parsed, or why it must be. Undefined if the strategy edits, or
 * the body may choose one.
 */
function chosenUnread(scope: RequestScope): ChosenByHeaders | Reason | undefined {
  if (scope.services.config.access) return 'shared_account';
  const chosen = chosenByHeaders(scope.headers, scope.agent, scope);
  if (typeof chosen !== 'object') return chosen;
  return passesThrough(chosen) ? chosen : undefined;
}

function relayed(
  answer: UpstreamAnswer,
  { answers }: Api,
  { mode, source, report: inBody }: ChosenByHeaders,
  scope: RequestScope,
  life: CallLife,
  warnings: readonly Warning[] = [],
): Promise<Response> {
  // Only a refused key is worth the tenant.
  if (answer.response.status === 401) noteVerdict(answer.response, scope);
  const options = { format: answers, inBody, streams: false, retrieval: undefined, life };
  return relay(answer, idleReport(mode, source, warnings), options, scope);
}

const FIELD_FOUND = 'a body that is not read has a field of Precis';

interface Watched {
  readonly body: ReadableStream<Uint8Array>;
  /** Whether the name of one of our fields has appeared. The body ends there. */
  found(): boolean;
}

/** Watches a body on its way up; it must contain no field of Precis. */
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
