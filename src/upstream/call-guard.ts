/**
 * What comes before each call that Precis itself makes to a model: whether it may be sent, and who
 * counts what it has spent (docs/operating.md#budgets-and-limits). Calls for an answer to a caller
 * pass the same limits in `answer/ask-upstream.ts`.
 */
import type { Schedule } from '../memory/models/schedule.ts';
import type { EstimatedTokens } from '../memory/money/spending.ts';
import type { TokenUsage } from '../memory/plan/report.ts';

/** A call that somebody pays for. */
export interface GuardedCall {
  readonly model: string;
  /** How it is billed. Undefined if that is not known. */
  readonly schedule: Schedule | undefined;
  /** Whether the deployer has chosen the model, and no caller could have named another. */
  readonly isDeployers: boolean;
  /** The most tokens that it can be billed for. Only asked where something is counted. */
  most(): EstimatedTokens;
}

/** `unknown`: it counts with the most that it can be billed for. `nothing`: it was refused. */
export type CallEnd = TokenUsage | 'unknown' | 'nothing';

export interface CallGuard {
  /** @returns to be called once, when the call has ended; undefined if it must not be sent */
  admit(call: GuardedCall): Promise<((end: CallEnd) => void | Promise<void>) | undefined>;
}

/** Before calls that count for nobody: calls of callers without limits. */
export const NO_LIMITS: CallGuard = { admit: async () => () => undefined };
