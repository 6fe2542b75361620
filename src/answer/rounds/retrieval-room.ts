/**
 * How many tokens retrieval may add, so that the request still fits the model's window.
 *
 * All rounds share one room: nine tenths of the tokens that view and answer leave in the window, or
 * in a learned limit.
 */
import type { Report } from '../../memory/plan/report.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { type LearnedLimit, roomIn } from '../../upstream/learned-limits.ts';

/**
 * Tokens reserved for an answer that the caller has not limited, and their largest share of the
 * window.
 */
const ANSWER_TOKENS = 4_000;
const ANSWER_SHARE = 0.25;
/** Share of the rest that is used, since the upstream's tokenizer may count more than Precis's. */
const TAKEN = 0.9;

/** A request as it was sent. */
export interface SentRequest {
  readonly request: Pick<ModelRequest, 'answerTokens'>;
  readonly body: Uint8Array;
  readonly report: Report;
  /** Tokens sent outside of the view. */
  readonly addedTokens: number;
  /** Counts the view, if its byte count was small enough not to need it before. */
  count(): Promise<Report>;
}

/** What a model accepts, in tokens. */
export interface ModelRoom {
  readonly window: number;
  /** The most input, where that is less than the window. */
  readonly input?: number | undefined;
}

/**
 * The room in tokens; 0 or less if there is none.
 *
 * @param limit what the upstream is known to accept
 */
export async function retrievalRoom(
  sent: SentRequest,
  { window, input = window }: ModelRoom,
  limit: LearnedLimit | undefined,
): Promise<number> {
  const { answerTokens } = sent.request;
  const answer = answerTokens || Math.min(ANSWER_TOKENS, window * ANSWER_SHARE);
  const most = Math.min(window - answer, input, limit ? roomIn(limit, answerTokens) : window);
  return Math.floor((most - (await tokensOf(sent, most))) * TAKEN);
}

/** A token count is at most the number of bytes, so a short body is not counted. */
async function tokensOf({ body, report, addedTokens, count }: SentRequest, most: number): Promise<number> {
  if (!report.tokens && body.length <= most / 2) return body.length;
  const { tokens } = report.tokens ? report : await count();
  return tokens ? tokens.after + addedTokens : body.length;
}
