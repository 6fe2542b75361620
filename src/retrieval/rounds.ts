/**
 * The rounds of one request: answer the model's calls, send the results back, ask again.
 *
 * Rounds append to the bytes that were sent. Results come from `retriever.ts`: only what the view
 * names, in words where there is none.
 */

import { AT_ONCE, fewAtOnce } from '../lib/slots.ts';
import type { WrittenBlock } from '../memory/plan/report.ts';
import type { AnswerFormat, SaidAnswer } from '../protocol/answers/answer-format.ts';
import { type ToolCall, type ToolResult, type ToolTurn, withLine } from '../protocol/answers/tool-turn.ts';
import { leftToCaller } from '../protocol/tool-choice.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { MOST_CALLS, TOO_MANY } from './refusals.ts';

/** Appended to the results of the last round. Later requests may show it with these results. */
const LAST =
  '[Nothing more can be fetched for this answer; for the next one it is possible again. Go on with what you have; your other tools are there as before.]';

/** A result without what is said of the answer that it was given for. */
export function withoutNote(result: string): string {
  return result.endsWith(`\n${LAST}`) ? result.slice(0, -LAST.length - 1) : result;
}

/** Answers the calls of one request. */
export interface Answerer {
  /** The refs whose content was given. */
  readonly given: readonly string[];
  /** The memory blocks that were written, with their versions. */
  readonly written?: readonly WrittenBlock[];
  /**
   * Whether each call so far got content, or a definite word that there is none. Absent: it did.
   */
  readonly isSettled?: boolean;
  /** Announces a turn that is about to be answered. */
  announce(turn: ToolTurn): void;
  /** The result of one call. Never throws. */
  answer(call: ToolCall): Promise<ToolResult>;
}

export interface RoundsStart {
  /** The body that was sent. */
  readonly body: Uint8Array;
  readonly answerer: Answerer;
}

/**
 * Puts the rounds so far after another body of the same request. Later ones go on from there.
 */
type Onto = (body: Uint8Array) => Uint8Array;

/** Sends a body upstream. @param onto for another body, if this one is refused */
export type AskRound = (body: Uint8Array, signal: AbortSignal, onto: Onto) => Promise<UpstreamAnswer>;

interface RoundsTerms {
  /** How often to ask again. */
  readonly most: number;
  readonly goOn: AnswerFormat['goOn'];
  /** Called for the first round. */
  start(): Promise<RoundsStart>;
  readonly ask: AskRound;
  /** Absent: the rounds are not kept. */
  readonly keeper?: RoundsKeeper | undefined;
  /** Names of Precis's tools. */
  readonly names: ReadonlySet<string>;
  /** Whether they stay in `tools` in each round, since the model's reasoning is lost otherwise. */
  readonly areKept: boolean;
}

type Answered = readonly [turn: ToolTurn, results: readonly ToolResult[]];

export class Rounds {
  /** How often the upstream was asked again. */
  count = 0;
  private readonly terms: RoundsTerms;
  private readonly left = new AbortController();
  private started: RoundsStart | undefined;
  private readonly answered: Answered[] = [];
  private isOver = false;

  constructor(terms: RoundsTerms) {
    this.terms = terms;
  }

  /** Whether another round is allowed. */
  get isOpen(): boolean {
    return this.count < this.terms.most;
  }

  get refs(): readonly string[] {
    return this.started?.answerer.given ?? [];
  }

  /** The memory blocks that were written, in their last versions. */
  get written(): readonly WrittenBlock[] {
    return this.started?.answerer.written ?? [];
  }

  /** Answers a turn's calls, a few at a time, and asks again. @throws what `ask` throws */
  async next(turn: ToolTurn): Promise<UpstreamAnswer> {
    this.count++;
    const { goOn, start, ask, keeper } = this.terms;
    const { body, answerer } = this.started ?? (await start());
    answerer.announce(turn);
    const results = await fewAtOnce(
      AT_ONCE,
      turn.calls,
      async (call, index): Promise<ToolResult> => (index < MOST_CALLS ? answerer.answer(call) : TOO_MANY),
    );
    const noted = this.isOpen ? results : results.map((result) => withLine(result, LAST));
    const { body: longer, added } = goOn(body, turn, noted);
    this.started = { body: longer, answerer };
    this.answered.push([turn, noted]);
    const asked = ask(this.offered(longer), this.left.signal, (first) => {
      const again = this.answered.reduce((sofar, [of, given]) => goOn(sofar, of, given).body, first);
      this.started = { body: again, answerer };
      return this.offered(again);
    });
    keeper?.add(added);
    return asked;
  }

  /** A body with the tools of its round: where a call is required, the last one is the caller's. */
  private offered(body: Uint8Array): Uint8Array {
    return this.isOpen ? body : leftToCaller(body, this.terms.names, this.terms.areKept);
  }

  /**
   * The caller's answer has ended. Only the first call counts.
   *
   * @returns what its last event waits for; undefined if that is nothing
   */
  end(answer: Omit<EndedAnswer, 'isSettled'>): Promise<void> | undefined {
    if (this.isOver) return undefined;
    this.isOver = true;
    return this.terms.keeper?.keep({ ...answer, isSettled: this.started?.answerer.isSettled ?? true });
  }

  /** Ends the current round, since the caller has left. */
  abandon(): void {
    this.left.abort();
  }
}

export interface EndedAnswer {
  /** Undefined if it is not complete, or says nothing that a client sends back. */
  readonly said: SaidAnswer | undefined;
  /** Whether each call of Precis's tools has got content, or a definite word that there is none. */
  readonly isSettled: boolean;
}

/** Where the rounds of one answer are kept. */
export interface RoundsKeeper {
  /**
   * Takes the messages that a further request has more than the one before: JSON, separated by
   * commas. Begins to write them, and never throws.
   */
  add(messages: string): void;
  /**
   * Keeps the rounds of the caller's answer, which waits for it before its last event; undefined if
   * there is nothing to wait for. Never rejects.
   */
  keep(answer: EndedAnswer): Promise<void> | undefined;
}
