/**
 * The rounds of one request: answer the model's calls, send the results back, ask again.
 *
 * Rounds append to the bytes that were sent. Results come from `retriever.ts`: only what the view
 * names, in words where there is none.
 */

import { AT_ONCE, fewAtOnce } from '../lib/slots.ts';
import type { WrittenBlock } from '../memory/plan/report.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { ToolCall, ToolTurn } from '../protocol/answers/tool-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';

/** Appended to the results of the last round. */
const LAST =
  '[Nothing more can be fetched in this answer. Go on with what you have; your other tools are there as before.]';

/** Calls answered per turn. */
const MOST_CALLS = 16;
const TOO_MANY = `Not more than ${MOST_CALLS} calls are answered at once. Ask for fewer at once.`;

/** Answers the calls of one request. */
export interface Answerer {
  /** The refs whose content was given. */
  readonly given: readonly string[];
  /** The memory blocks that were written, with their versions. */
  readonly written?: readonly WrittenBlock[];
  /** Announces a turn that is about to be answered. */
  announce(turn: ToolTurn): void;
  /** The result of one call. Never throws. */
  answer(call: ToolCall): Promise<string>;
}

/** The starting point of the rounds. */
export interface RoundsStart {
  /** The body that was sent. */
  readonly body: Uint8Array;
  readonly answerer: Answerer;
}

export class Rounds {
  /** How often the upstream was asked again. */
  count = 0;
  private readonly most: number;
  private readonly goOn: AnswerFormat['goOn'];
  private readonly start: () => Promise<RoundsStart>;
  private readonly ask: (body: Uint8Array, signal: AbortSignal) => Promise<UpstreamAnswer>;
  private readonly left = new AbortController();
  private started: RoundsStart | undefined;

  /**
   * @param most how often to ask again
   * @param goOn from the protocol
   * @param start called for the first round
   * @param ask sends a body upstream
   */
  constructor(
    most: number,
    goOn: AnswerFormat['goOn'],
    start: () => Promise<RoundsStart>,
    ask: (body: Uint8Array, signal: AbortSignal) => Promise<UpstreamAnswer>,
  ) {
    this.most = most;
    this.goOn = goOn;
    this.start = start;
    this.ask = ask;
  }

  /** Whether another round is allowed. */
  get isOpen(): boolean {
    return this.count < this.most;
  }

  /** The refs whose content was given. */
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
    const { body, answerer } = this.started ?? (await this.start());
    answerer.announce(turn);
    const results = await fewAtOnce(AT_ONCE, turn.calls, async (call, index) =>
      index < MOST_CALLS ? answerer.answer(call) : TOO_MANY,
    );
    const noted = this.isOpen ? results : results.map((result) => `${result}\n${LAST}`);
    const longer = this.goOn(body, turn, noted);
    this.started = { body: longer, answerer };
    return this.ask(longer, this.left.signal);
  }

  /** Ends the current round, since the caller has left. */
  abandon(): void {
    this.left.abort();
  }
}
