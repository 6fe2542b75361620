/** Relays the upstream's answer to the caller, with the report and the retrieval rounds. */

import type { CallLife } from '../listeners/life.ts';
import { errorFields } from '../log.ts';
import { fetchedMisses, type Report } from '../memory/plan/report.ts';
import {
  type AnswerFault,
  type AnswerFormat,
  type AnswerGatherer,
  type AnswerListener,
  addReport,
  type JoinedAnswers,
  type Joining,
  type Reword,
  type StreamForm,
} from '../protocol/answers/answer-format.ts';
import { AnswerPipeline } from '../protocol/answers/answer-pipeline.ts';
import { ApiError, accountErrorIn, answerTooLarge, brokenAnswer, internalError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Rounds } from '../retrieval/rounds.ts';
import { faultOf, RoundsStage } from '../retrieval/stream.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { readBody } from '../upstream/body.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import {
  isDecoded,
  isEventStream,
  responseHeaders,
  responseWith,
  type UpstreamAccount,
} from '../upstream/request.ts';
import { relayEvents } from '../upstream/stream.ts';
import type { Retrieval } from './rounds/retrieval-of.ts';
import { tooLongByWords } from './stream-errors.ts';
import { bodyRelay, unreadBody } from './unread/unread-body.ts';

export interface RelayOptions {
  readonly format: AnswerFormat;
  /** Whether the body includes the report. */
  readonly inBody: boolean;
  /** Whether the caller asked for a stream. */
  readonly streams: boolean;
  /** Absent if the answer passes unchanged. */
  readonly form?: StreamForm;
  /** Absent if the model was given no tools of Precis. */
  readonly retrieval: Retrieval | undefined;
  readonly life: CallLife;
  /** Adds to the body's report what is known when the answer has come. */
  complete?(report: Report): Report;
}

/**
 * The caller's answer.
 *
 * @param report of the view, without the retrieval rounds
 * @throws ApiError if an answer that must be read completely breaks off
 */
export async function relay(
  answer: UpstreamAnswer,
  report: Report,
  options: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const { response } = answer;
  const isOpen = response.ok && response.body !== null;
  if (isOpen && !isDecoded(response.headers)) {
    const fields = { code: 'answer_unreadable' };
    scope.services.log('warn', 'an answer is passed on unread: its encoding is unknown', fields);
  } else if (isOpen) {
    if (isEventStream(response)) return relayStream(answer, report, options, scope);
    const isJson = response.headers.get('content-type')?.toLowerCase().includes('json');
    const isRead = isJson && (options.inBody || options.life.readsAnswer);
    // Read it even if it isn't labeled as JSON: it may hold a call of our tools.
    const mayCall = options.retrieval && (isJson || !options.streams);
    if (isRead || mayCall) return relayWhole(answer, report, options, scope);
  }
  return relayUnread(answer, report, options, scope);
}

async function relayUnread(
  answer: UpstreamAnswer,
  report: Report,
  { life }: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const body = await unreadBody(answer, scope.services, (how) => life.ended(how));
  const response = responseWith(body, answer.response, accountOf(scope));
  life.begins(response, report);
  if (!(body instanceof ReadableStream)) life.ended('complete');
  return response;
}

function relayStream(
  answer: UpstreamAnswer,
  planned: Report,
  options: RelayOptions,
  scope: RequestScope,
): Response {
  const { format: answers, inBody, form, retrieval, life } = options;
  const head = headOf(answer, planned, life, scope);
  head.headers.set('cache-control', 'no-cache, no-transform');
  head.headers.set('x-accel-buffering', 'no');
  head.headers.delete('content-length');
  const gather = life.readsAnswer ? gathering(answers, life, scope) : undefined;
  const joined = retrieval && joining(retrieval, answers.joinStreams);
  const report = (): Report => {
    const whole = completed(reportWith(planned, retrieval?.rounds, joined), options);
    return pipeline.isTooLong ? { ...whole, warnings: [...whole.warnings, TOO_LONG] } : whole;
  };
  const reword = rewording(scope, form);
  const stream = answers.stream(inBody ? report : undefined, reword, form);
  const check = (coming: Promise<UpstreamAnswer>) => continuation(coming, reword, scope);
  const join = retrieval && joined && new RoundsStage(joined, retrieval.rounds, check);
  const readsBlanks = scope.headers.get('x-stainless-lang') === 'go';
  const pipeline: AnswerPipeline<UpstreamAnswer> = new AnswerPipeline(stream, { join, gather, readsBlanks });
  const events = relayEvents(answer, pipeline, {
    ...bodyRelay(scope.services),
    keepaliveMs: TIME_LIMITS.keepaliveMs,
    // As long as headers may take: a server that sends comments has sent nothing more.
    beginningMs: scope.services.config.headersTimeoutMs,
    failed: (error) => callerError(error, scope).toBody().error,
    ended: (how) => {
      if (pipeline.isTooLong)
        scope.services.log('warn', 'an answer is too long to be read for features', { code: TOO_LONG });
      if (joined) retrieval.reasoning?.learn(joined);
      // Nothing is kept of an answer that was not complete.
      void retrieval?.rounds.end({ said: undefined });
      life.ended(how === 'complete' && !pipeline.isWhole ? 'error' : how);
    },
  });
  return new Response(events, head);
}

/** The code of a warning. */
const TOO_LONG = 'answer_not_kept';

/** What is reworded in the upstream's errors; undefined if nothing is. */
function rewording({ services: { config } }: RequestScope, form: StreamForm | undefined): Reword | undefined {
  const ofAccount: Reword | undefined = config.access && ((error) => accountErrorIn(error)?.toBody().error);
  if (!form?.failsAsAnswer) return ofAccount;
  return (error) => ofAccount?.(error) ?? tooLongByWords(error);
}

/** Gathers the text of a stream for the call's listeners. */
function gathering(answers: AnswerFormat, life: CallLife, scope: RequestScope): AnswerListener {
  let gathered: AnswerGatherer | undefined = answers.gather();
  const listener: AnswerListener = {
    skip: (block) => !gathered || gathered.skip?.(block) === true,
    push: (frame) => gathered?.push(frame),
    complete: () => life.completes({ text: gathered?.text() }),
    forget: () => {
      gathered = undefined;
    },
  };
  return guarded(listener, scope);
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
function guarded(
  { skip, push, complete, forget }: AnswerListener,
  { services }: RequestScope,
): AnswerListener {
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
    forget: () => forget?.(),
  };
}

async function relayWhole(
  first: UpstreamAnswer,
  planned: Report,
  options: RelayOptions,
  scope: RequestScope,
): Promise<Response> {
  const { format, inBody, retrieval, life } = options;
  const { answer, body, answers } = await readRounds(first, options, scope);
  if (!body) return relayUnread(answer, planned, options, scope);
  const head = headOf(answer, planned, life, scope);
  if (body instanceof ReadableStream) return new Response(body, head);
  const hasFailed = format.hasFailed(body);
  if (life.readsAnswer) life.completes({ text: hasFailed ? undefined : format.text(body) });
  life.ended(hasFailed ? 'error' : 'complete');
  if (inBody || retrieval) head.headers.delete('content-length');
  if (!inBody) return new Response(body, head);
  const report = completed(reportWith(planned, retrieval?.rounds, answers), options);
  return new Response(addReport(body, report), head);
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
  { format, retrieval, life }: RelayOptions,
  scope: RequestScope,
): Promise<ReadAnswer> {
  let answer = first;
  if (!retrieval) return { answer, body: await readAnswer(answer, scope, life), answers: undefined };
  let body = await readWhole(answer, scope);
  const answers = joining(retrieval, format.joinBodies);
  for (;;) {
    const taken = answers.take(body);
    retrieval.reasoning?.learn(answers);
    if (taken instanceof Uint8Array) {
      await retrieval.rounds.end({ said: answers.said });
      return { answer, body: taken, answers };
    }
    answer = await retrieval.rounds.next(taken);
    if (!answer.response.ok || !answer.response.body) return { answer, body: undefined, answers };
    body = await readWhole(answer, scope);
  }
}

/** @param join from the protocol */
function joining<Joined>(retrieval: Retrieval, join: Joining<Joined>): Joined {
  const { tools, rounds, reasoning, isBound, isJson } = retrieval;
  const { isAsked: isHidden, isUnstored } = reasoning ?? {};
  return join(tools.names, () => rounds.isOpen, { isHidden, isUnstored, isBound, isJson });
}

/** The account that an answer must not reveal. A closed one was answered over another API. */
function accountOf({ api, caller }: RequestScope): UpstreamAccount {
  return caller.isClosed ? { api, apiKey: '' } : caller.account;
}

/** Status and headers of the answer. The caller's answer begins. */
function headOf(
  { response }: UpstreamAnswer,
  report: Report,
  life: CallLife,
  scope: RequestScope,
): { status: number; statusText: string; headers: Headers } {
  const headers = responseHeaders(response.headers, accountOf(scope));
  const head = { status: response.status, statusText: response.statusText, headers };
  life.begins(head, report);
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

/**
 * Reads an answer completely; a stream if it is too long for that.
 *
 * @throws ApiError if it breaks off
 */
async function readAnswer(
  answer: UpstreamAnswer,
  { services }: RequestScope,
  life?: CallLife,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const body = await readBody(answer, bodyRelay(services, life && ((how) => life.ended(how))));
  if (typeof body === 'string') throw brokenAnswer(body);
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
  services.log('error', 'an answer has failed after its first byte', fields);
  return internalError();
}
