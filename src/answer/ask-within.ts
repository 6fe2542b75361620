/**
 * Asks again with a smaller view when the upstream says that the context is too long, and without
 * the thinking of earlier answers when it refuses that (docs/design.md#10-upstream-and-access).
 * Each happens once; the smaller view is made by the same phases. The refusal may
 * be a status or the first event of a stream. If no view is smaller, or the smaller one gets no
 * answer, the first error goes back unchanged.
 */
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import { refusesThinking } from '../upstream/bound-thinking.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import {
  type LearnedLimit,
  limitBetween,
  limitOfRetry,
  limitTold,
  type Refused,
} from '../upstream/learned-limits.ts';
import { openAnswer, openStream } from '../upstream/opening.ts';
import { isDecoded } from '../upstream/request.ts';
import {
  LONGEST_ERROR,
  mayBeTooLong,
  readTooLong,
  readTooLongEvent,
  type TooLong,
} from '../upstream/too-long.ts';
import type { MadeView, MakeViewOptions } from '../view/made-view.ts';
import type { Attempt } from './attempt.ts';
import type { ThinkingDrop } from './drop-thinking.ts';
import { isEventStream } from './unread-body.ts';

/** How long an error's body is read before it is passed on unread, in milliseconds. */
const ERROR_LIMIT_MS = 5_000;

/**
 * How long to wait for the first event of a stream, in milliseconds. Any event ends the wait, so
 * text is never delayed; when a model thinks for longer, its caller has the headers by then.
 */
const BEGINNING_LIMIT_MS = 15_000;

/** One request, and the functions that plan and send it. */
interface Asking {
  readonly request: ModelRequest;
  readonly answers: Pick<AnswerFormat, 'begin'>;
  readonly options: MakeViewOptions;
  make(options: MakeViewOptions): Promise<MadeView>;
  /** @throws ApiError */
  ask(made: MadeView): Promise<Attempt>;
  readonly thinking: ThinkingDrop;
}

/** The attempt to relay, its answer still unread. @throws ApiError when there is no answer */
export async function askWithin(made: MadeView, asking: Asking, scope: RequestScope): Promise<Attempt> {
  if (passesThrough(made.report)) return asking.ask(made);
  const { attempt: fallback, heard } = await askHeard(made, asking, scope);
  const { refusal } = heard;
  // A token count from the upstream proves that it accepted the key, so nothing else waits for
  // that.
  const judged = { ...asking, options: { ...asking.options, isAnswered: true } };
  const refused = refusal && (await countRefused(fallback, judged));
  if (!refused) return fallback;
  remember(limitTold(refusal, refused), refusal.limit, asking, scope);
  const limit = limitOfRetry(refusal, refused);
  scope.services.log('info', 'the upstream says that the context is too long', { limit: limit.tokens });

  // If the mode refuses, or the upstream is gone, the upstream's first error is more helpful.
  const smaller = await unlessRefused(smallerView(refused, limit, judged));
  const again = smaller && (await unlessRefused(askHeard(smaller.made, asking, scope)));
  if (!smaller || !again) return fallback;
  fallback.answer.abort();
  // Only an accepted retry proves that the length was the fault.
  if (refusal.limit === undefined && again.heard.isAnswer)
    remember(limitBetween(smaller.tokens, refused), undefined, asking, scope);
  return again.attempt;
}

/**
 * An attempt with its answer read so far. If the upstream refuses the thinking of earlier answers,
 * it is asked once more without.
 *
 * @throws ApiError when there is no answer
 */
async function askHeard(
  made: MadeView,
  asking: Asking,
  scope: RequestScope,
): Promise<{ readonly attempt: Attempt; readonly heard: Heard }> {
  const attempt = await asking.ask(made);
  const heard = await hear(attempt.answer, asking, scope);
  const first = { attempt: { ...attempt, answer: heard.answer }, heard };
  if (!heard.isBound || !asking.thinking.begin(attempt.sent)) return first;
  const again = await unlessRefused(asking.ask(made));
  if (!again) return first;
  heard.answer.abort();
  const second = await hear(again.answer, asking, scope);
  if (second.isAnswer) asking.thinking.note();
  return { attempt: { ...again, answer: second.answer }, heard: second };
}

/** An answer, read as far as it takes to classify it. */
interface Heard {
  /** With its body still unread. */
  readonly answer: UpstreamAnswer;
  /** Whether it is not an error. */
  readonly isAnswer: boolean;
  /** The upstream's complaint about the prompt's length. */
  readonly refusal: TooLong | undefined;
  /** Whether it refuses thinking for what stands before it. */
  readonly isBound: boolean;
}

async function hear(
  answer: UpstreamAnswer,
  { request, answers }: Asking,
  { services }: RequestScope,
): Promise<Heard> {
  const { response } = answer;
  const { status, ok: isAnswer } = response;
  // Stored upstream state can't be shortened, so there is nothing to wait for.
  const isRead = isAnswer && isEventStream(response) && isDecoded(response.headers);
  if (isRead && request.upstreamState === undefined) {
    const beginning = answers.begin();
    const limitMs = Math.min(BEGINNING_LIMIT_MS, services.config.idleTimeoutMs);
    const opened = await openStream(answer, beginning, limitMs);
    const { error } = beginning;
    if (error === undefined) return { answer: opened, isAnswer: true, refusal: undefined, isBound: false };
    const refusal = readTooLongEvent(error);
    return { answer: opened, isAnswer: false, refusal, isBound: refusesThinking(error) };
  }
  if (!mayBeTooLong(status)) return { answer, isAnswer, refusal: undefined, isBound: false };
  const opened = await openAnswer(answer, LONGEST_ERROR, ERROR_LIMIT_MS, services.log);
  const error = opened.whole && new TextDecoder().decode(opened.whole);
  if (error === undefined) return { answer: opened.answer, isAnswer, refusal: undefined, isBound: false };
  return {
    answer: opened.answer,
    isAnswer,
    refusal: readTooLong(status, error),
    isBound: refusesThinking(error),
  };
}

/**
 * The size of what was refused; undefined if it can't be counted. If the view was never counted,
 * the array went up unchanged.
 */
async function countRefused(
  { made, beside }: Attempt,
  { request, options, make }: Asking,
): Promise<Refused | undefined> {
  const counted =
    made.report.tokens?.after ?? (await make({ ...options, count: true })).report.tokens?.before;
  if (counted === undefined) return undefined;
  return { tokens: counted, beside: beside.tokens, answerTokens: request.answerTokens };
}

/**
 * A view with fewer tokens than the refused one; undefined if there is none.
 *
 * @throws ApiError
 */
async function smallerView(
  refused: Refused,
  limit: LearnedLimit,
  { options, make }: Asking,
): Promise<{ readonly made: MadeView; readonly tokens: number } | undefined> {
  const made = await make({ ...options, count: true, limit });
  const { report } = made;
  if (!report.tokens || report.tokens.after >= refused.tokens) return undefined;
  // The view that was refused was planned without this limit.
  const frontier = { ...report.frontier, moved: true };
  return {
    made: { ...made, report: { ...report, trigger: 'upstream_limit', frontier } },
    tokens: report.tokens.after,
  };
}

/** @param stated the upstream's own number of tokens, which the limit was made from */
function remember(
  limit: LearnedLimit | undefined,
  stated: number | undefined,
  { request }: Asking,
  { services, caller, waitUntil }: RequestScope,
): void {
  if (!limit || !caller.tenant) return;
  const { id: tenant } = caller.tenant;
  services.limits.learn(tenant, request.model, limit, request.answerTokens);
  const data = { tenant, model: request.model ?? null, tokens: limit.tokens, stated: stated ?? null };
  services.webhooks.notify('limit.learned', data, waitUntil);
}

/** The result, or undefined in place of an `ApiError`. */
async function unlessRefused<Value>(work: Promise<Value>): Promise<Value | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
}
