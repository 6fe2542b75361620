/**
 * Asks the upstream again where it refuses something that Precis can change
 * (docs/design.md#10-upstream-and-access). A refusal is read once, and each retry has one try. A
 * refusal may be a status or the first event of a stream. If no retry helps, or the next attempt
 * gets no answer, the refusal goes back unchanged. So does a whole answer that has filled its
 * model's window, if the next attempt is refused.
 */
import { concat } from '../lib/bytes.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from '../request/errors.ts';
import type { Services } from '../request/services.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { openAnswer, openStream } from '../upstream/opening.ts';
import { isDecoded, isEventStream } from '../upstream/request.ts';
import { LONGEST_ERROR } from '../upstream/too-long.ts';
import type { Attempt, NextAttempt, Refusal, Retry } from './retries/retry.ts';

interface Asking {
  readonly request: ModelRequest;
  readonly answers: AnswerFormat;
  readonly services: Pick<Services, 'config' | 'log'>;
  /** @throws ApiError when there is no answer */
  send(next: NextAttempt): Promise<Attempt>;
}

/**
 * The attempt whose answer the caller gets, unread.
 *
 * @param retries in the order in which they are tried
 * @throws ApiError when there is no answer
 */
export async function askAgain(
  first: NextAttempt,
  retries: readonly Retry[],
  asking: Asking,
): Promise<Attempt> {
  const tried: Retry[] = [];
  let attempt = await asking.send(first);
  for (;;) {
    const left = retries.filter((retry) => !tried.includes(retry));
    const { answer, isAnswer, refusal } = await beginningOf(attempt, left, tried, asking);
    attempt = { ...attempt, answer };
    if (isAnswer) for (const retry of tried) retry.answered?.();
    const found = refusal && (await nextAfter(attempt, refusal, left));
    const again = found && (await unlessRefused(asking.send(found.next)));
    if (!found || !again) return attempt;
    // An answer that is cut short is better than none.
    if (isAnswer && !again.answer.response.ok) {
      again.answer.abort();
      return attempt;
    }
    answer.abort();
    tried.push(found.retry);
    attempt = again;
  }
}

async function nextAfter(
  refused: Attempt,
  refusal: Refusal,
  retries: readonly Retry[],
): Promise<{ readonly retry: Retry; readonly next: NextAttempt } | undefined> {
  for (const retry of retries) {
    if (!retry.mayHelp(refused, refusal.status)) continue;
    // If a view can't be made, the upstream's own error is more helpful.
    const next = await unlessRefused(retry.next(refused, refusal));
    if (next) return { retry, next };
  }
  return undefined;
}

/** An answer, read as far as it takes to distinguish it from a refusal. */
interface Beginning {
  /** With its body still unread. */
  readonly answer: UpstreamAnswer;
  readonly isAnswer: boolean;
  /** Undefined if nobody asks, or if it can't be read. */
  readonly refusal?: Refusal;
}

async function beginningOf(
  attempt: Attempt,
  left: readonly Retry[],
  tried: readonly Retry[],
  { request, answers, services }: Asking,
): Promise<Beginning> {
  const { answer } = attempt;
  const { status, ok } = answer.response;
  const isAsked = (of: number | undefined) => left.some((retry) => retry.mayHelp(attempt, of));
  if (ok) {
    if (answer.hasBegun || !isDecoded(answer.response.headers)) return { answer, isAnswer: true };
    if (!isEventStream(answer.response))
      return isAsked(status) ? wholeOf(answer) : { answer, isAnswer: true };
    // Stored upstream state can't be shortened, so there is nothing to wait for.
    const isStateless = request.upstreamState === undefined;
    const isWanted = isAsked(undefined) || tried.some((retry) => retry.answered !== undefined);
    if (!isStateless || !isWanted) return { answer, isAnswer: true };
    const beginning = answers.begin();
    const limitMs = Math.min(TIME_LIMITS.streamBeginningMs, services.config.idleTimeoutMs);
    const opened = await openStream(answer, beginning, limitMs);
    const { error: json } = beginning;
    if (json === undefined) return { answer: opened, isAnswer: true };
    return { answer: opened, isAnswer: false, refusal: { status: undefined, json } };
  }
  if (!isAsked(status)) return { answer, isAnswer: false };
  const opened = await openAnswer(answer, LONGEST_ERROR, TIME_LIMITS.errorBodyMs, services.log);
  if (!opened.whole) return { answer: opened.answer, isAnswer: false };
  const json = new TextDecoder().decode(opened.whole);
  return { answer: opened.answer, isAnswer: false, refusal: { status, json } };
}

async function wholeOf(answer: UpstreamAnswer): Promise<Beginning> {
  const { status } = answer.response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let json: string | undefined;
  const push = (chunk: Uint8Array): boolean => {
    chunks.push(chunk);
    size += chunk.length;
    return size > LONGEST_ERROR;
  };
  const end = (): void => {
    json = new TextDecoder().decode(concat(chunks));
  };
  const opened = await openStream(answer, { push, end }, TIME_LIMITS.errorBodyMs);
  return { answer: opened, isAnswer: true, ...(json === undefined ? {} : { refusal: { status, json } }) };
}

/** The result, or undefined in place of an `ApiError`. */
async function unlessRefused<Value>(work: Promise<Value>): Promise<Value | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
}
