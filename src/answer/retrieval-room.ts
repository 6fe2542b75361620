/** How much of a model's window is left to what it fetches: a request that fits goes on fitting. */
import type { Report } from '../memory/plan/report.ts';
import { budgetsOf, type EditingStrategy } from '../memory/strategy/strategy.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { type LearnedLimit, roomIn } from '../upstream/learned-limits.ts';

/**
 * What is left to an answer that the caller has not limited, in tokens, and as a share of the
 * window at the most.
 */
const ANSWER_TOKENS = 4_000;
const ANSWER_SHARE = 0.25;
/** What is taken of the rest: the upstream's tokenizer may count more than ours. */
const TAKEN = 0.9;

/** A request that went up. */
export interface SentRequest {
  readonly request: Pick<ModelRequest, 'model' | 'answerTokens'>;
  readonly body: Uint8Array;
  readonly report: Report;
  /** Tokens that went up beside the view. */
  readonly beside: number;
  /** Counts the view where it fitted by its bytes, so that nobody has counted it. */
  count(): Promise<Report>;
}

/**
 * The room in tokens; not above 0 where there is none.
 *
 * @param limit what the upstream is known to take
 */
export async function retrievalRoom(
  sent: SentRequest,
  strategy: EditingStrategy,
  limit: LearnedLimit | undefined,
): Promise<number> {
  const { model, answerTokens } = sent.request;
  const { window } = budgetsOf(strategy, model);
  const answer = answerTokens || Math.min(ANSWER_TOKENS, window * ANSWER_SHARE);
  const most = Math.min(window - answer, limit ? roomIn(limit, answerTokens) : window);
  return Math.floor((most - (await tokensOf(sent, most))) * TAKEN);
}

/** A count is at most the number of bytes: where these are few, it is not needed. */
async function tokensOf({ body, report, beside, count }: SentRequest, most: number): Promise<number> {
  if (!report.tokens && body.length <= most / 2) return body.length;
  const { tokens } = report.tokens ? report : await count();
  return tokens ? tokens.after + beside : body.length;
}
