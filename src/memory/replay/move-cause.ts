/** Which trigger has moved the frontier at one request point, where several may be met. */
import type { Due } from './rule.ts';
import type { Trigger } from './trigger.ts';

export class MoveCause {
  private readonly mover: { readonly position: { readonly freed: number } };
  private readonly made: Due[] = [];
  private freed: number;

  /** @param mover before it moves */
  constructor(mover: MoveCause['mover']) {
    this.mover = mover;
    this.freed = mover.position.freed;
  }

  /** @param due what the mover was moved for since the last call; undefined if for nothing */
  note(due: Due | undefined): void {
    const { freed } = this.mover.position;
    if (due && freed > this.freed) this.made.push(due);
    this.freed = freed;
  }

  /**
   * The first trigger by which messages or reasoning may have left, else the first one that has
   * moved the frontier; undefined if none has.
   */
  get trigger(): Trigger | undefined {
    const { made } = this;
    return (made.find(({ lossyOver }) => Number.isFinite(lossyOver)) ?? made[0])?.trigger;
  }
}
