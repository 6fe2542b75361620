/** What all joined answers share: the names of our tools, and the usage of all answers. */
import type { TokenUsage } from '../../memory/plan/report.ts';
import type { JoinedAnswers, JoinedForm, Joining } from './answer-format.ts';
import { type UsageNames, UsageTally } from './usage.ts';

export abstract class CountedAnswers implements JoinedAnswers {
  /** Names of our tools. */
  protected readonly names: ReadonlySet<string>;
  /** Whether calls of our tools are still answered. */
  protected readonly mayAnswer: () => boolean;
  protected readonly form: JoinedForm;
  protected readonly tally: UsageTally;
  /** Whether this is not the first answer. */
  protected isLater = false;
  /** Whether an answer was too long to be gathered (see `JoinedStreams.forget`). */
  protected isForgotten = false;

  /** @param joining see `Joining` */
  constructor(usage: UsageNames, ...joining: Parameters<Joining<unknown>>) {
    const [names, mayAnswer, form = {}] = joining;
    this.names = names;
    this.mayAnswer = () => !this.isForgotten && mayAnswer();
    this.form = form;
    this.tally = new UsageTally(usage);
  }

  get usage(): TokenUsage | undefined {
    return this.tally.total;
  }

  /**
   * Whether thinking goes to the caller so that it can come back. What is thought after Precis's
   * rounds may be bound to them, and the caller never sends those rounds.
   */
  protected get signs(): boolean {
    return !(this.isLater && this.form.isBound);
  }

  /** Whether the text of this answer is shown only once it is known to be the last one. */
  protected get withholds(): boolean {
    return this.form.isJson === true && this.mayAnswer();
  }

  /** Starts the next answer. */
  protected goOn(): void {
    this.isLater = true;
    this.tally.begin();
  }
}
