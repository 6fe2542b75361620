/** What one call of the upstream spends, told by its end (docs/operating.md#budgets-and-limits). */
import type { Schedule } from '../memory/models/schedule.ts';
import {
  type EstimatedTokens,
  estimatedSpend,
  NO_SPEND,
  type Spend,
  spendOf,
} from '../memory/money/spending.ts';
import { AnswerSize } from '../protocol/answers/answer-size.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { BilledAnswer } from './billing.ts';

/** A call that is reserved. */
interface ReservedCall {
  /** How it is billed, by what its request says. Null: no price. */
  readonly schedule: Schedule | null;
  /** How it is billed, by what its answer says too. */
  scheduleOf(answer: BilledAnswer): Schedule | null;
  readonly estimated: EstimatedTokens;
  /** Whether its answer has no tokens. */
  readonly isVector: boolean;
  /** Whether it may have had output that its answer does not show. */
  readonly reasons: boolean;
  over(spend: Spend): void;
}

/** One call of the upstream that is reserved. Its first end counts. */
export class SpendingCall {
  private readonly call: ReservedCall;
  private size: AnswerSize | undefined;

  constructor(call: ReservedCall) {
    this.call = call;
  }

  /** Nothing was answered that is billed. */
  refused(): void {
    this.call.over(NO_SPEND);
  }

  /** The upstream has the request, and nobody waits for its answer any more. */
  unanswered(): void {
    const { estimated, schedule } = this.call;
    this.call.over(estimatedSpend({ ...estimated, output: 0 }, schedule));
  }

  /** An answer begins. */
  begins({ headers }: Response): void {
    if (this.call.isVector) return;
    this.size = new AnswerSize(headers.get('content-type')?.includes('text/event-stream') === true);
  }

  push(chunk: Uint8Array): void {
    this.size?.push(chunk);
  }

  /** The answer has ended, or broken off. */
  ended(answer: UsageTail, isWhole: boolean): void {
    const { estimated, reasons } = this.call;
    // Without a stream the model has finished before the first byte.
    const isFinished = isWhole || this.size?.isStream !== true;
    const seen = this.size?.output ?? 0;
    const isHidden = reasons || (isFinished && !isWhole);
    const output = isHidden ? Math.max(seen, estimated.output) : seen;
    const usage = answer.usage();
    const told = usage?.output ?? null;
    // What a stream tells before its end is not all.
    const least = isFinished || told === null ? told : Math.max(told, seen);
    const counted = usage && { ...usage, output: least };
    this.call.over(spendOf(counted, this.call.scheduleOf(answer), { ...estimated, output }));
  }
}
