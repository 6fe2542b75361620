/**
 * Asking an upstream within what it takes (docs/design.md#10-upstream-and-access): one that says
 * the context is too long gets one smaller view, by the same phases, once. It may say so with a
 * status, or as the first thing in a stream. Whatever it says then is its answer; where no view is
 * smaller, or the smaller one gets no answer at all, its error goes back as it came.
 */
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { AnswerFormat } from '../protocol/answer-format.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
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
import { isEventStream } from './unread-body.ts';

/** How long an error's body may take until it is passed on unread, in milliseconds. */
const ERROR_LIMIT_MS = 5_000;

/**
 * How long a stream is waited for that has begun and said nothing, in milliseconds. An answer's
 * first event ends it, so no text is later for it; a caller whose model thinks for longer has its
 * headers by then.
 */
const BEGINNING_LIMIT_MS = 15_000;

/** One request, and how it is asked. */
export interface Asking {
  readonly request: ModelRequest;
  readonly answers: Pick<AnswerFormat, 'begin'>;
  readonly options: MakeViewOptions;
  /** Tokens that go up beside the view. */
  readonly beside: number;
  make(options: MakeViewOptions): Promise<MadeView>;
  /** @throws ApiError */
  ask(made: MadeView): Promise<UpstreamAnswer>;
}

/** An answer, and the view that it is the answer to. */
export interface Asked {
  readonly made: MadeView;
  readonly answer: UpstreamAnswer;
}

/** @throws ApiError when there is no answer */
export async function askWithin(made: MadeView, asking: Asking, scope: RequestScope): Promise<Asked> {
  const first = await asking.ask(made);
  if (passesThrough(made.report)) return { made, answer: first };

  const heard = await hear(first, asking, scope);
  const { refusal } = heard;
  const said = { made, answer: heard.answer };
  // Who counts tokens has accepted the key: whatever was not planned for its sake is planned now.
  const judged = { ...asking, options: { ...asking.options, isAnswered: true } };
  const refused = refusal && (await countRefused(made, judged));
  if (!refused) return said;
  remember(limitTold(refusal, refused), asking, scope);
  const limit = limitOfRetry(refusal, refused);
  scope.services.log('info', 'the upstream says that the context is too long', { limit: limit.tokens });

  // What the mode itself refuses, or an upstream that is gone: then its own error says it better.
  const smaller = await unlessRefused(smallerView(refused, limit, judged));
  const answer = smaller && (await unlessRefused(asking.ask(smaller.made)));
  if (!smaller || !answer) return said;
  said.answer.abort();
  if (refusal.limit !== undefined) return { made: smaller.made, answer };
  const second = await hear(answer, asking, scope);
  // Only now is it known that the length was what it minded.
  if (second.isAnswer) remember(limitBetween(smaller.tokens, refused), asking, scope);
  return { made: smaller.made, answer: second.answer };
}

/** An answer of which enough was read to know what it is. */
interface Heard {
  /** Its body unread. */
  readonly answer: UpstreamAnswer;
  /** Whether it is no error. */
  readonly isAnswer: boolean;
  /** What it says of a prompt that is too long. */
  readonly refusal: TooLong | undefined;
}

async function hear(
  answer: UpstreamAnswer,
  { request, answers }: Asking,
  { services }: RequestScope,
): Promise<Heard> {
  const { response } = answer;
  const { status, ok: isAnswer } = response;
  // Of what the upstream has stored no view can be made, so nothing is waited for.
  const isRead = isAnswer && isEventStream(response) && isDecoded(response.headers);
  if (isRead && request.upstreamState === undefined) {
    const beginning = answers.begin();
    const limitMs = Math.min(BEGINNING_LIMIT_MS, services.config.idleTimeoutMs);
    const opened = await openStream(answer, beginning, limitMs);
    const { error } = beginning;
    const isError = error !== undefined;
    return { answer: opened, isAnswer: !isError, refusal: isError ? readTooLongEvent(error) : undefined };
  }
  if (!mayBeTooLong(status)) return { answer, isAnswer, refusal: undefined };
  const opened = await openAnswer(answer, LONGEST_ERROR, ERROR_LIMIT_MS);
  const refusal = opened.whole && readTooLong(status, new TextDecoder().decode(opened.whole));
  return { answer: opened.answer, isAnswer, refusal };
}

/**
 * What was refused; undefined when it can't be counted. Where nobody has counted yet, the array
 * went up as it came.
 */
async function countRefused(
  made: MadeView,
  { request, options, beside, make }: Asking,
): Promise<Refused | undefined> {
  const counted =
    made.report.tokens?.after ?? (await make({ ...options, count: true })).report.tokens?.before;
  return counted === undefined ? undefined : { tokens: counted, beside, answerTokens: request.answerTokens };
}

/**
 * A view with fewer tokens than the one that was refused, and how many; undefined when there is
 * none.
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
  // What was sent before was planned without this limit.
  const frontier = { ...report.frontier, moved: true };
  return {
    made: { ...made, report: { ...report, trigger: 'upstream_limit', frontier } },
    tokens: report.tokens.after,
  };
}

function remember(
  limit: LearnedLimit | undefined,
  { request }: Asking,
  { services, caller }: RequestScope,
): void {
  if (limit && caller.tenant)
    services.limits.learn(caller.tenant.id, request.model, limit, request.answerTokens);
}

/** What is promised; undefined instead of an error of ours. */
async function unlessRefused<Value>(work: Promise<Value>): Promise<Value | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof ApiError) return undefined;
    throw error;
  });
}
