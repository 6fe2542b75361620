/**
 * Reports errors in streams, to callers who look for them there and not in the status
 * (docs/answers-and-errors.md#errors-in-streams). Codex shortens its conversation, or waits, only
 * for events.
 *
 * An error is first made as for any caller, so logs, metrics and the call's event have its true
 * status. Only then its response becomes a stream with that error as an event. Errors of Precis are
 * reported so, an upstream's word that the prompt is too long, and its rate limits; never 401, 402,
 * 403 and 404, by which clients renew keys and find models. A call that is forwarded unchanged has
 * its request's faults alone, once that is known.
 */
import { passesThrough } from '../memory/modes/strategy.ts';
import type { AnswerFormat, Reword, StreamFault } from '../protocol/answers/answer-format.ts';
import { bodyFault, saidFault } from '../protocol/answers/said-fault.ts';
import { streamIn } from '../protocol/top-fields.ts';
import type { Call } from '../request/call.ts';
import { ApiError } from '../request/errors.ts';
import { isObserved } from '../request/observation.ts';
import { reportedRefusal } from '../request/refusal.ts';
import type { RequestScope } from '../request/scope.ts';
import { errorPlaceIn, findsErrorsInStreams } from '../request/stream-form.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { openAnswer } from '../upstream/opening.ts';
import { isDecoded } from '../upstream/request.ts';
import { readTooLarge } from '../upstream/too-large.ts';
import { LONGEST_ERROR, mayBeTooLong, readTooLong, readTooLongEvent } from '../upstream/too-long.ts';

const RATE_LIMITED = 429;

/** Statuses that stay, whoever the caller is. */
const OF_THE_ACCOUNT: ReadonlySet<number> = new Set([401, 402, 403, 404]);

export class StreamErrors {
  private readonly scope: RequestScope;
  private readonly answers: AnswerFormat;
  private body: Uint8Array | undefined;
  /** Whether all failures of the call are reported, not its request's faults alone. */
  private reportsAll = false;

  constructor(scope: RequestScope, answers: AnswerFormat) {
    this.scope = scope;
    this.answers = answers;
  }

  /** @throws ApiError for an invalid header */
  check(): void {
    errorPlaceIn(this.scope.headers);
  }

  /** The body has come. @param body decoded */
  came(body: Uint8Array): void {
    this.body = body;
  }

  /** The body is read, for the strategy that it is answered by. */
  reads(): void {
    this.reportsAll = true;
  }

  /** The call is answered by its strategy. */
  chose(call: Call): void {
    this.reportsAll = !passesThrough(call.chosen.strategy) && !isObserved(call);
  }

  /** The answer of the work, or its error, in the caller's form. @throws what is not reported so */
  async through(work: () => Promise<Response>): Promise<Response> {
    try {
      const answer = await work();
      return answer.ok || !this.reportsAll || !this.isAsked() ? answer : await this.ofUpstream(answer);
    } catch (error) {
      if (!this.isReported(error) || !this.isAsked()) throw error;
      const { services, waitUntil } = this.scope;
      const refusal = reportedRefusal(error, services, waitUntil);
      return this.inStream({ ...refusal.toBody().error, status: refusal.status });
    }
  }

  /** Whether an error is reported in events. */
  private isReported(error: unknown): boolean {
    if (!(error instanceof ApiError)) return this.reportsAll;
    return (this.reportsAll || error.status < 500) && !OF_THE_ACCOUNT.has(error.status);
  }

  /** Whether the caller asks for a stream, and for errors in it. */
  private isAsked(): boolean {
    const { headers } = this.scope;
    try {
      if (!findsErrorsInStreams(headers, this.answers.name)) return false;
    } catch {
      // The error is about the header itself.
      return false;
    }
    // A body that is not read, or not valid, does not say it.
    const streams = this.body && streamIn(this.body);
    return streams ?? headers.get('accept')?.toLowerCase().includes('text/event-stream') === true;
  }

  private async ofUpstream(answer: Response): Promise<Response> {
    const { status, headers } = answer;
    const mayBeReported = status === RATE_LIMITED || mayBeTooLong(status);
    if (!mayBeReported || !isDecoded(headers)) return answer;
    const { log } = this.scope.services;
    const unread = { response: answer, abort: () => undefined };
    const opened = await openAnswer(unread, LONGEST_ERROR, TIME_LIMITS.errorBodyMs, log);
    const text = opened.whole && new TextDecoder().decode(opened.whole);
    const fault = text === undefined ? undefined : this.faultIn(text, status, headers);
    return fault ? this.inStream(fault, headers) : opened.answer.response;
  }

  /** The error of an answer, as it is reported in a stream; undefined if it is not. */
  private faultIn(body: string, status: number, headers: Headers): StreamFault | undefined {
    const isTooLong = readTooLong(status, body) !== undefined;
    // Its bytes are fewer, too, once the caller has compacted its conversation.
    const isTooLarge = readTooLarge(status, body, Number.POSITIVE_INFINITY) !== undefined;
    if (!isTooLong && !isTooLarge && status !== RATE_LIMITED) return undefined;
    const said = { ...bodyFault(body, status), status };
    // Codex reads the plan's limits from headers and body of the status.
    if (said.type === 'usage_limit_reached') return undefined;
    if (status === RATE_LIMITED) return withRetryText(said, headers);
    return this.answers.name === 'chat' ? said : { ...said, code: TOO_LONG };
  }

  /** A stream of nothing but an error. @param headers of the answer that it replaces */
  private inStream(fault: StreamFault, headers?: Headers): Response {
    const format = this.answers.stream(undefined, undefined, { failsAsAnswer: true });
    const head = new Headers(headers);
    for (const name of ['content-length', 'content-encoding']) head.delete(name);
    head.set('content-type', 'text/event-stream');
    head.set('cache-control', 'no-cache, no-transform');
    head.set('x-accel-buffering', 'no');
    return new Response(format.error(fault), { headers: head });
  }
}

const TOO_LONG = 'context_length_exceeded';

/** Gives an error in a stream the code that clients know, where its words say that it is that. */
export const tooLongByWords: Reword = (error) => {
  if (error.code === TOO_LONG || !readTooLongEvent(JSON.stringify({ error }))) return undefined;
  return { ...saidFault({ error }), code: TOO_LONG };
};

/** As Codex looks for it (codex-rs/codex-api/src/sse/responses.rs in openai/codex). */
const READABLE = /try again in\s*\d+(?:\.\d+)?\s*(?:s|ms|seconds?)/i;

/** An error that says when to try again, if its answer's headers do. */
export function withRetryText(fault: StreamFault, headers: Headers): StreamFault {
  const seconds = READABLE.test(fault.message) ? undefined : secondsIn(headers);
  if (seconds === undefined) return fault;
  return { ...fault, message: `${fault.message} Please try again in ${seconds}s.` };
}

/** Seconds until the next try; undefined without a valid header. */
function secondsIn(headers: Headers): number | undefined {
  const ms = headers.get('retry-after-ms');
  const after = headers.get('retry-after');
  if (isNumber(ms)) return Number(ms) / 1000;
  if (after === null) return undefined;
  if (isNumber(after)) return Number(after);
  // A date (RFC 9110, section 10.2.3).
  const until = Date.parse(after) - Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil(until / 1000));
}

function isNumber(value: string | null): value is string {
  return /^\d+(?:\.\d+)?$/.test(value?.trim() ?? '');
}
