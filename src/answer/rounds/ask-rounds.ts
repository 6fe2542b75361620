/**
 * Asks the upstream again in the rounds of an answer. An upstream that refuses an item of a hosted
 * tool with a placeholder in it does so in any round, since each may have another server. The
 * answer goes on from the view with that item whole, in the rounds that follow too. Its report has
 * gone out by then; the one of the next request says `outputs_whole`, and `moved`.
 */
import type { AnswerFormat } from '../../protocol/answers/answer-format.ts';
import type { Call } from '../../request/call.ts';
import type { AskRound } from '../../retrieval/rounds.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { askAgain } from '../ask-again.ts';
import type { Attempts } from '../attempt.ts';
import type { Attempt, NextAttempt } from '../retries/retry.ts';
import { withWholeOutputs } from '../retries/whole-outputs.ts';

/** What the rounds are asked with. */
interface Asked {
  readonly call: Call;
  readonly answers: AnswerFormat;
  /** Of the request's views. */
  readonly options: MakeViewOptions;
}

/** @param first the attempt that was answered */
export function askRounds(first: Attempt, attempts: Attempts, { call, answers, options }: Asked): AskRound {
  const { request, scope } = call;
  const { made, without, added, usages, report } = first;
  // Its body is not kept while the model answers.
  let current: Omit<Attempt, 'sent' | 'answer'> = { made, without, added, usages, report };
  return async (body, left, onto) => {
    const send = (next: NextAttempt): Promise<Attempt> =>
      attempts.send(next, {
        left,
        usages,
        bodyOf: (write) => (next === current ? body : onto(write())),
      });
    const asking = { request, answers, services: scope.services, send };
    const { sent: _, answer, ...asked } = await askAgain(current, [withWholeOutputs(call, options)], asking);
    current = asked;
    return answer;
  };
}
