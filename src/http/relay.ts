/** The upstream's answer on its way back to the caller: as it came, with the report, and with the rounds of retrieval in it. */
import type { Report } from '../memory/report.ts';
import {
  type AnswerFault,
  type AnswerFormat,
  addReport,
  type JoinedAnswers,
} from '../protocol/answer-format.ts';
import type { Rounds } from '../retrieval/rounds.ts';
import { faultOf, RetrievalStream } from '../retrieval/stream.ts';
import type { WaitUntil } from '../storage/writer.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { responseHeaders } from '../upstream/request.ts';
import { type EventFormat, readBody, relayEvents } from '../upstream/stream.ts';
import type { ArchiveRequest } from './archive.ts';
import { ApiError, internalError, upstreamError } from './errors.ts';
import type { MadeView, RequestScope } from './make-view.ts';
import type { OfferedTools } from './offer-tools.ts';
import { setReportHeaders } from './report-headers.ts';

/** How often a silent stream is kept alive, in milliseconds: under the usual idle limits of proxies. */
export const KEEPALIVE_MS = 15_000;

/** How an answer is relayed. */
export interface Relayed {
  readonly format: AnswerFormat;
  /** Whether the report stands in the body too. */
  readonly inBody: boolean;
  /** Whether the caller has asked for a stream. */
  readonly streams: boolean;
  /** Absent where the model was given no tools of ours. */
  readonly retrieval: { readonly tools: OfferedTools; readonly rounds: Rounds } | undefined;
  /** Absent where nothing is archived. */
  readonly archive: ArchiveRequest | undefined;
}

/** The caller's answer. @throws ApiError when one that must be read as a whole breaks off */
export async function relay(
  answer: UpstreamAnswer,
  made: MadeView,
  how: Relayed,
  scope: RequestScope,
): Promise<Response> {
  const { response } = answer;
  if (response.ok && response.body && isEventStream(response)) return relayStream(answer, made, how, scope);
  const isJson = response.headers.get('content-type')?.includes('json');
  const isRead = isJson && (how.inBody || made.remember || how.archive);
  // What a server calls its JSON is its own affair: a call of ours must not come through.
  const mayCall = how.retrieval && (isJson || !how.streams);
  if (response.ok && response.body && (isRead || mayCall)) return relayWhole(answer, made, how, scope);
  if (response.ok && how.archive) scope.waitUntil(how.archive(undefined));
  return new Response(response.body, headOf(answer, made.report, scope));
}

function relayStream(
  answer: UpstreamAnswer,
  made: MadeView,
  { format: answers, inBody, retrieval, archive }: Relayed,
  scope: RequestScope,
): Response {
  const { config } = scope.services;
  const head = headOf(answer, made.report, scope);
  head.headers.set('cache-control', 'no-cache, no-transform');
  head.headers.set('x-accel-buffering', 'no');
  head.headers.delete('content-length');
  const streamed = answers.gather();
  let said: string | undefined;
  const listener = (made.remember || archive) && {
    push: (data: string) => streamed.push(data),
    complete: () => {
      said = streamed.text();
      rememberAll(made, said, scope);
    },
  };
  const joined = retrieval && answers.joinStreams(retrieval.tools.names, () => retrieval.rounds.isOpen);
  const report = (): Report => reportWith(made.report, retrieval?.rounds, joined);
  const seen = answers.stream(inBody ? report : undefined, listener || undefined);
  const goesOn = async (coming: Promise<UpstreamAnswer>): Promise<UpstreamAnswer | AnswerFault> => {
    try {
      const next = await coming;
      const { ok, body } = next.response;
      if (ok && body && isEventStream(next.response)) return next;
      return faultOf(body ? await readAnswer(next, scope) : new Uint8Array(), ok);
    } catch (error) {
      return told(error, scope).toBody().error;
    }
  };
  const format: EventFormat =
    retrieval && joined ? new RetrievalStream(joined, seen, retrieval.rounds, goesOn) : seen;
  const times = { idleMs: config.idleTimeoutMs, keepaliveMs: KEEPALIVE_MS };
  const ended = archive && archiveAtEnd(archive, () => said, scope.waitUntil);
  return new Response(relayEvents(answer, format, times, ended), head);
}

/**
 * Archives when a stream has ended, however it did, so that array and answer are one write. It is waited for from the beginning on: a
 * caller who leaves takes with it what is not.
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
  { format, inBody, retrieval, archive }: Relayed,
  scope: RequestScope,
): Promise<Response> {
  let said: string | undefined;
  try {
    const { answer, body, answers } = await readRounds(first, format, retrieval, scope);
    const head = headOf(answer, made.report, scope);
    if (!body) return new Response(answer.response.body, head);
    said = format.text(body);
    rememberAll(made, said, scope);
    if (inBody || retrieval) head.headers.delete('content-length');
    return new Response(
      inBody ? addReport(body, reportWith(made.report, retrieval?.rounds, answers)) : body,
      head,
    );
  } finally {
    if (archive) scope.waitUntil(archive(said));
  }
}

interface ReadAnswer {
  /** The last one. */
  readonly answer: UpstreamAnswer;
  /** What the caller gets; undefined where a further round was refused. */
  readonly body: Uint8Array | undefined;
  readonly answers: JoinedAnswers | undefined;
}

/** An answer with all its rounds. @throws ApiError when one has no answer, or breaks off */
async function readRounds(
  first: UpstreamAnswer,
  format: AnswerFormat,
  retrieval: Relayed['retrieval'],
  scope: RequestScope,
): Promise<ReadAnswer> {
  let answer = first;
  let body = await readAnswer(answer, scope);
  if (!retrieval) return { answer, body, answers: undefined };
  const answers = format.joinBodies(retrieval.tools.names, () => retrieval.rounds.isOpen);
  for (;;) {
    const taken = answers.take(body);
    if (taken instanceof Uint8Array) return { answer, body: taken, answers };
    answer = await retrieval.rounds.next(taken);
    if (!answer.response.ok || !answer.response.body) return { answer, body: undefined, answers };
    body = await readAnswer(answer, scope);
  }
}

/** Status and headers of an answer, with the report's. */
function headOf(
  { response }: UpstreamAnswer,
  report: Report,
  { caller, timings }: RequestScope,
): { status: number; statusText: string; headers: Headers } {
  const headers = responseHeaders(response.headers, caller.account);
  setReportHeaders(headers, report, timings);
  return { status: response.status, statusText: response.statusText, headers };
}

function reportWith(report: Report, rounds: Rounds | undefined, counted: JoinedAnswers | undefined): Report {
  if (!rounds || rounds.count === 0) return report;
  const { usage, lastId } = counted ?? {};
  return {
    ...report,
    retrieval: {
      rounds: rounds.count,
      refs: rounds.refs,
      ...(usage ? { usage } : {}),
      ...(lastId ? { response_id: lastId } : {}),
    },
  };
}

/** An answer that calls tools goes on with its round. */
function rememberAll({ remember }: MadeView, text: string | undefined, { waitUntil }: RequestScope): void {
  if (remember && text !== undefined) waitUntil(remember(text));
}

/** The whole of an answer. @throws ApiError when it breaks off */
async function readAnswer(answer: UpstreamAnswer, { services }: RequestScope): Promise<Uint8Array> {
  const body = await readBody(answer, services.config.idleTimeoutMs);
  if (body instanceof Uint8Array) return body;
  throw upstreamError(body);
}

/** What the caller is told of an error behind the first byte. */
export function told(error: unknown, { services }: RequestScope): ApiError {
  if (error instanceof ApiError) return error;
  const { name } = Object(error);
  services.log('error', 'an answer has failed behind its first byte', {
    code: 'internal_error',
    error: name,
  });
  return internalError();
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.includes('text/event-stream') === true;
}
