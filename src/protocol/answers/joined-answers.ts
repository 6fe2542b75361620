/** What all joined answers share: who answers the calls, and the usage of all answers. */
import type { TokenUsage } from '../../memory/plan/report.ts';
import type { JoinedAnswers, JoinedForm, Joining } from './answer-format.ts';
import type { Frame } from './sse.ts';
import type { UsageTally } from './usage.ts';

/**
 * Decides who answers the calls of one answer: its first call does. A call of the caller's can't be
 * taken back once it is streamed, so Precis's calls after it are dropped. If Precis's comes first,
 * and rounds are left, all calls of Precis's tools are answered here, and the model plans again.
 */
export abstract class CallSorter {
  protected readonly names: ReadonlySet<string>;
  private readonly mayAnswer: () => boolean;
  private decided: 'ours' | 'callers' | undefined;
  /** Whether the caller sees no texts of this answer. */
  hidesTexts = false;

  /** See `Joining`. */
  constructor(names: ReadonlySet<string>, mayAnswer: () => boolean) {
    this.names = names;
    this.mayAnswer = mayAnswer;
  }

  /** Whether our calls in this answer are to be answered. */
  get isOurs(): boolean {
    return this.decided === 'ours';
  }

  /** Whether the caller's calls in this answer are the caller's to answer. */
  get isCallers(): boolean {
    return this.decided === 'callers';
  }

  /** No call so far is to be answered by anybody. */
  protected startOver(): void {
    this.decided = undefined;
  }

  /** Takes a call. Returns whether the caller sees it. */
  protected showsCall(isOurs: boolean): boolean {
    if (!isOurs || this.mayAnswer()) this.decided ??= isOurs ? 'ours' : 'callers';
    return !isOurs && this.isCallers;
  }
}

export abstract class CountedAnswers implements JoinedAnswers {
  /** Names of our tools. */
  protected readonly names: ReadonlySet<string>;
  /** Whether calls of our tools are still answered. */
  protected readonly mayAnswer: () => boolean;
  protected readonly form: JoinedForm;
  protected abstract readonly tally: UsageTally;
  /** Whether this is not the first answer. */
  protected isLater = false;
  /** Whether an answer was too long to be gathered (see `JoinedStreams.forget`). */
  protected isForgotten = false;

  /** See `Joining`. */
  constructor(...[names, mayAnswer, form = {}]: Parameters<Joining<unknown>>) {
    this.names = names;
    this.mayAnswer = () => !this.isForgotten && mayAnswer();
    this.form = form;
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

  protected goOn(): void {
    this.isLater = true;
    this.tally.begin();
  }
}

/** Streams of which texts may wait until it is known who answers the calls after them. */
export abstract class WaitingStreams<Event, Sorter extends CallSorter> extends CountedAnswers {
  isThrough = false;
  protected sorter: Sorter = this.newSorter();
  /** Sorts what waits. */
  protected scout: Sorter = this.newSorter();
  /** From the first text on. */
  protected readonly waiting: Event[] = [];

  protected abstract newSorter(): Sorter;
  /** The frames that replace an event that need not wait. */
  protected abstract taken(event: Event): Frame[];

  /** Only an event ends an answer; how the connection ends decides nothing. */
  end(): void {}

  protected override goOn(): void {
    super.goOn();
    this.isThrough = false;
    this.sorter = this.newSorter();
    this.scout = this.newSorter();
  }

  /** The frames of all that waits. @param hides whether texts of this answer are not shown */
  protected settled(hides: boolean): Frame[] {
    this.sorter.hidesTexts = hides;
    return this.waiting.splice(0).flatMap((event) => this.taken(event));
  }
}
