/** Relays the upstream's answer to the caller, with the report and the retrieval rounds. */
import { errorFields } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import { fetchedMisses } from '../memory/plan/reported-misses.ts';
import {
  type AnswerFault,
  type AnswerFormat,
  type AnswerListener,
  addReport,
  type JoinedAnswers,
  type Joining,
  type Reword,
} from '../protocol/answers/answer-format.ts';
import { AnswerPipeline } from '../protocol/answers/answer-pipeline.ts';
import { ApiError, accountFault, answerTooLarge, internalError, upstreamError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Rounds } from '../retrieval/rounds.ts';
import { faultOf, RetrievalStream } from '../retrieval/stream.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import type { ArchiveRequest } from '../tell/archive.ts';
import type { Run } from '../tell/run-event.ts';
import { tellReport } from '../tell/tell-report.ts';
import { readBody } from '../upstream/body.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { isDecoded, responseHeaders } from '../upstream/request.ts';
import { type EventFormat, relayEvents } from '../upstream/stream.ts';
import type { MadeView } from '../view/made-view.ts';
import type { OfferedTools } from '../view/offer-tools.ts';
import type { JoinedReasoning } from './retries/encrypted-reasoning.ts';
import { bodyRelay, isEventStream, unreadBody } from './unread-body.ts';

/**
 * Interval of comments in a silent stream, in milliseconds: below the usual idle limits of proxies.
 */
export const KEEPALIVE_MS = 15_000;

/** Joins the answers of several rounds into one. */
interface Retrieval {
  readonly tools: OfferedTools;
  readonly rounds: Rounds;
  /** Absent where the caller decides about reasoning itself. */
  readonly reasoning?: JoinedReasoning;
}

/** How to relay an answer. */
export interface RelayOptions {
  readonly format: AnswerFormat;
  /** Whether the body includes the report. */
  readonly inBody: boolean;
  /** Whether the caller asked for a stream. */
  readonly streams: boolean;
  /** Absent if the model was given no tools of ours. */
  readonly retrieval: Retrieval | undefined;
  /** Absent if nothing is archived. */
  readonly archive: ArchiveRequest | undefined;
  /** Absent if the request has no event. */
  readonly run?: Run | undefined;
  /** Adds to the body's report what is known when the answer has come. */
  complete?(report: Report): Report;
}

/** The caller's answer. @throws ApiError if an answer that must be read completely breaks off */
export async function relay(
  answer: UpstreamAnswer,
  made: MadeView,
  options: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const { response } = answer;
  const isOpen = response.ok && response.body !== null;
  if (isOpen && !isDecoded(response.headers)) {
    const fields = { code: 'answer_unreadable' };
    scope.services.log('warn', 'an answer is passed on unread: its encoding is not known', fields);
  } else if (isOpen) {
    if (isEventStream(response)) return relayStream(answer, made, options, scope);
    const isJson = response.headers.get('content-type')?.includes('json');
    const isRead = isJson && (options.inBody || made.remember || options.archive);
    // Read it even if it isn't labelled as JSON: it may hold a call of our tools.
    const mayCall = options.retrieval && (isJson || !options.streams);
    if (isRead || mayCall) return relayWhole(answer, made, options, scope);
  }
  if (response.ok && options.archive) scope.waitUntil(options.archive(undefined));
  return relayUnread(answer, made, options, scope);
}

async function relayUnread(
  answer: UpstreamAnswer,
  made: MadeView,
  options: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const { run } = options;
  const body = await unreadBody(answer, scope.services, run && ((how) => run.ended(how)));
  const head = headOf(answer, made, options, scope);
  if (!(body instanceof ReadableStream)) run?.ended('complete');
  return new Response(body, head);
}

function relayStream(
  answer: UpstreamAnswer,
  made: MadeView,
  options: RelayOptions,
  scope: RequestScope,
): Response {
  const { format: answers, inBody, retrieval, archive, run } = options;
  const { config } = scope.services;
  const head = headOf(answer, made, options, scope);
  head.headers.set('cache-control', 'no-cache, no-transform');
  head.headers.set('x-accel-buffering', 'no');
  head.headers.delete('content-length');
  const gathered = answers.gather();
  let answerText: string | undefined;
  const listener: AnswerListener = {
    skip: (block) => gathered.skip?.(block) === true,
    push: (frame) => gathered.push(frame),
    complete: () => {
      answerText = gathered.text();
      rememberAll(made, answerText, scope);
    },
  };
  const gather = made.remember || archive ? guarded(listener, scope) : undefined;
  const joined = retrieval && joining(retrieval, answers.joinStreams);
  const report = (): Report => completed(reportWith(made.report, retrieval?.rounds, joined), options);
  const reword = config.access && accountFault;
  const stream = answers.stream(inBody ? report : undefined, reword);
  const check = (coming: Promise<UpstreamAnswer>) => continuation(coming, reword, scope);
  const pipeline: EventFormat & Pick<AnswerPipeline, 'isWhole'> =
    retrieval && joined
      ? new RetrievalStream(joined, stream, retrieval.rounds, check, gather)
      : new AnswerPipeline(stream, gather);
  const archived = archive && archiveAtEnd(archive, () => answerText, scope.waitUntil);
  const events = relayEvents(answer, pipeline, {
    ...bodyRelay(scope.services),
    keepaliveMs: KEEPALIVE_MS,
    failed: (error) => callerError(error, scope).toBody().error,
    ended: (how) => {
      if (joined) retrieval.reasoning?.learn(joined);
      archived?.();
      run?.ended(how === 'complete' && !pipeline.isWhole ? 'error' : how);
    },
  });
  return new Response(events, head);
}

/** The next answer of a stream, or the error that ends it. */
async function continuation(
  coming: Promise<UpstreamAnswer>,
  reword: Reword | undefined,
  scope: RequestScope,
): Promise<UpstreamAnswer | AnswerFault> {
  try {
    const next = await coming;
    const { ok, body } = next.response;
    if (ok && body && isEventStream(next.response)) return next;
    const fault = faultOf(body ? await readWhole(next, scope) : new Uint8Array(), ok);
    return reword?.({ ...fault }) ?? fault;
  } catch (error) {
    return callerError(error, scope).toBody().error;
  }
}

/** A listener whose failures are logged and don't end the stream. */
function guarded({ skip, push, complete }: AnswerListener, { services }: RequestScope): AnswerListener {
  let hasFailed = false;
  const guard = (listen: () => void): void => {
    if (hasFailed) return;
    try {
      listen();
    } catch (error) {
      hasFailed = true;
      const fields = { code: 'internal_error', ...errorFields(error) };
      services.log('error', 'the text of an answer could not be gathered', fields);
    }
  };
  return {
    skip: (block) => hasFailed || skip?.(block) === true,
    push: (frame) => guard(() => push(frame)),
    complete: () => guard(complete),
  };
}

/**
 * Archives when the stream ends, however it ends, so that messages and answer are one write.
 * `waitUntil` is called now, because after the caller leaves it would be too late.
 */
function archiveAtEnd(
  archive: ArchiveRequest,
  answer: () => string | undefined,
  waitUntil: WaitUntil,
): () => void {
  const end = Promise.withResolvers<void>();
  waitUntil(end.promise.then(() => archive(answer())));
  return end.resolve;
}

async function relayWhole(
  first: UpstreamAnswer,
  made: MadeView,
  options: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const { format, inBody, retrieval, archive, run } = options;
  let answerText: string | undefined;
  try {
    const { answer, body, answers } = await readRounds(first, options, scope);
    if (!body) return await relayUnread(answer, made, options, scope);
    const head = headOf(answer, made, options, scope);
    if (body instanceof ReadableStream) return new Response(body, head);
    run?.ended('complete');
    answerText = format.text(body);
    rememberAll(made, answerText, scope);
    if (inBody || retrieval) head.headers.delete('content-length');
    return new Response(
      inBody
        ? addReport(body, completed(reportWith(made.report, retrieval?.rounds, answers), options))
        : body,
      head,
    );
  } finally {
    if (archive) scope.waitUntil(archive(answerText));
  }
}

interface ReadAnswer {
  /** The last answer. */
  readonly answer: UpstreamAnswer;
  /**
   * The caller's body. A stream if it is too long to be read; undefined if a further round was
   * refused.
   */
  readonly body: Uint8Array | ReadableStream<Uint8Array> | undefined;
  readonly answers: JoinedAnswers | undefined;
}

/** An answer with all its rounds. @throws ApiError if one has no answer, or breaks off */
async function readRounds(
  first: UpstreamAnswer,
  { format, retrieval, run }: RelayOptions,
  scope: RequestScope,
): Promise<ReadAnswer> {
  let answer = first;
  if (!retrieval) return { answer, body: await readAnswer(answer, scope, run), answers: undefined };
  let body = await readWhole(answer, scope);
  const answers = joining(retrieval, format.joinBodies);
  for (;;) {
    const taken = answers.take(body);
    retrieval.reasoning?.learn(answers);
    if (taken instanceof Uint8Array) return { answer, body: taken, answers };
    answer = await retrieval.rounds.next(taken);
    if (!answer.response.ok || !answer.response.body) return { answer, body: undefined, answers };
    body = await readWhole(answer, scope);
  }
}

/** @param join from the protocol */
function joining<Joined>({ tools, rounds, reasoning }: Retrieval, join: Joining<Joined>): Joined {
  const { isAsked: isHidden, isUnstored } = reasoning ?? {};
  return join(tools.names, () => rounds.isOpen, { isHidden, isUnstored });
}

/** Status and headers of the answer, with those of the report. */
function headOf(
  { response }: UpstreamAnswer,
  { report, newItems }: MadeView,
  { format, run }: RelayOptions,
  scope: RequestScope,
): { status: number; statusText: string; headers: Headers } {
  const headers = responseHeaders(response.headers, scope.caller.account);
  const head = { status: response.status, statusText: response.statusText, headers };
  tellReport(head, report, format, scope, newItems);
  run?.began(head);
  return head;
}

function completed(report: Report, { complete }: RelayOptions): Report {
  return complete ? complete(report) : report;
}

function reportWith(report: Report, rounds: Rounds | undefined, counted: JoinedAnswers | undefined): Report {
  if (!rounds || rounds.count === 0) return report;
  const { usage, lastId } = counted ?? {};
  const { memory_blocks = { tokens: 0, blocks: [] } } = report;
  const { written } = rounds;
  const misses = [...(report.misses ?? []), ...fetchedMisses(rounds.refs, report.refs)];
  return {
    ...report,
    ...(misses.length > 0 ? { misses } : {}),
    ...(written.length > 0 ? { memory_blocks: { ...memory_blocks, written } } : {}),
    retrieval: {
      rounds: rounds.count,
      refs: rounds.refs,
      ...(usage ? { usage } : {}),
      ...(lastId ? { response_id: lastId } : {}),
    },
  };
}

/** Hands the closing text to rolling memory, in the background. */
function rememberAll({ remember }: MadeView, text: string | undefined, { waitUntil }: RequestScope): void {
  if (remember && text !== undefined) waitUntil(remember(text));
}

/**
 * Reads an answer completely; a stream if it is too long for that.
 *
 * @throws ApiError if it breaks off
 */
async function readAnswer(
  answer: UpstreamAnswer,
  { services }: RequestScope,
  run?: Run,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const body = await readBody(answer, bodyRelay(services, run && ((how) => run.ended(how))));
  if (typeof body === 'string') throw upstreamError(body);
  if (body instanceof ReadableStream)
    services.log('warn', 'an answer is passed on unread: it is too long', { code: 'answer_too_large' });
  return body;
}

/** Reads an answer completely. @throws ApiError if it breaks off or is too long */
async function readWhole(answer: UpstreamAnswer, scope: RequestScope): Promise<Uint8Array> {
  const body = await readAnswer(answer, scope);
  if (body instanceof Uint8Array) return body;
  answer.abort();
  throw answerTooLarge();
}

/** The error that the caller gets for a failure after the first byte. Logs internal errors. */
export function callerError(error: unknown, { services }: RequestScope): ApiError {
  if (error instanceof ApiError) return error;
  const fields = { code: 'internal_error', ...errorFields(error) };
  services.log('error', 'an answer has failed behind its first byte', fields);
  return internalError();
}
