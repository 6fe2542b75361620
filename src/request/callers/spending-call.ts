/**
 * What one call of the upstream spends, known from its end (docs/operating.md#budgets-and-limits).
 */
import type { Schedule } from '../../memory/models/schedule.ts';
import { NO_SPEND, type Spend, spendOf } from '../../memory/money/spending.ts';
import { AnswerSize } from '../../protocol/answers/answer-size.ts';
import { ModelHead } from '../../protocol/answers/model-head.ts';
import type { UsageTail } from '../../protocol/answers/usage-tail.ts';
import { isEventStream } from '../../upstream/request.ts';
import type { BilledAnswer } from './billing.ts';
import type { MostOutput } from './most-output.ts';

/** A call of the upstream with a body. */
export interface SentCall {
  /** Below the upstream's base URL. */
  readonly path: string;
  readonly body: Uint8Array;
  /** The tokens of its body, if they were counted. */
  readonly tokens?: number | undefined;
  /** See `BilledRequest`. Absent if that is not known. */
  readonly writes?: ((schedule: Schedule | null) => number | undefined) | undefined;
}

interface ReservedCall {
  /**
   * How it is billed; null: no price.
   *
   * @param answer absent: by what its request says
   * @param model that has answered, if that is read
   */
  scheduleOf(answer?: BilledAnswer, model?: string): Schedule | null;
  readonly estimated: MostOutput & { readonly input: number };
  /** See `BilledRequest`. */
  readonly writes: SentCall['writes'];
  /** Whether its answer has no tokens. */
  readonly isVector: boolean;
  /** Whether a gateway may have asked another model. */
  readonly isOneOfMany: boolean;
  over(spend: Spend): void;
}

/** Faster than any model that is billed by what it does not show. In tokens per millisecond. */
const FASTEST = 1;

/** One call of the upstream that is reserved. Its first end counts. */
export class SpendingCall {
  private readonly call: ReservedCall;
  private readonly began = Date.now();
  private readonly model: ModelHead | undefined;
  private size: AnswerSize | undefined;

  constructor(call: ReservedCall) {
    this.call = call;
    this.model = call.isOneOfMany ? new ModelHead() : undefined;
  }

  /** Nothing was answered that is billed. */
  refused(): void {
    this.call.over(NO_SPEND);
  }

  /** The upstream has the request, and nobody waits for its answer now. */
  unanswered(): void {
    const { estimated, scheduleOf, over } = this.call;
    over(spendOf(undefined, scheduleOf(), { input: estimated.input, output: this.unseen() }));
  }

  begins(answer: Response): void {
    if (this.call.isVector) return;
    this.size = new AnswerSize(isEventStream(answer));
  }

  push(chunk: Uint8Array): void {
    this.size?.push(chunk);
    this.model?.push(chunk);
  }

  /** The answer has ended, or broken off. */
  ended(answer: UsageTail, isWhole: boolean): void {
    const { call } = this;
    const { estimated } = call;
    // Without a stream the model has finished before the first byte.
    const isFinished = isWhole || this.size?.isStream !== true;
    const seen = this.size?.output ?? 0;
    const hidden = isFinished && !isWhole ? Number.POSITIVE_INFINITY : estimated.hidden;
    const output = Math.max(seen, Math.min(this.unseen(), seen + hidden));
    // A part of a body may say of its request what it seems to say of itself.
    const usage = isWhole || this.size?.isStream ? answer.usage() : undefined;
    const reported = usage?.output ?? null;
    // What a stream reports before its end is not all.
    const least = isFinished || reported === null ? reported : Math.max(reported, output);
    const counted = usage && { ...usage, output: least };
    const schedule = call.scheduleOf(answer, this.model?.read());
    call.over(spendOf(counted, schedule, { input: estimated.input, output }, call.writes?.(schedule)));
  }

  /**
   * The tokens that the model may have written without showing them: those that its request asks
   * for at most. Without such a limit, as many as can be written in the time that has passed.
   */
  private unseen(): number {
    const { usual, most, isAsked } = this.call.estimated;
    return isAsked ? usual : Math.min(most, Math.max(usual, (Date.now() - this.began) * FASTEST));
  }
}
