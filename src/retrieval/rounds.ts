/** The rounds of one request: what the model calls for is fetched, said to it, and it is asked again. */

import { appendMessages } from '../protocol/chat-tools.ts';
import { type Call, resultMessages, type Turn } from '../protocol/chat-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';

/** Stands behind the results of the last round. */
const LAST = '[This was the last retrieval for this answer. Answer now.]';

/** Answers the calls of one request. */
export interface Answerer {
  /** The refs whose content was given out. */
  readonly given: readonly string[];
  /** The result of one call. Never throws. */
  answer(call: Call): Promise<string>;
}

/** What the rounds begin with. */
export interface RoundsStart {
  /** The body that went up. */
  readonly body: Uint8Array;
  readonly answerer: Answerer;
}

export class Rounds {
  /** How often the upstream was asked again. */
  count = 0;
  private readonly most: number;
  private readonly start: () => Promise<RoundsStart>;
  private readonly ask: (body: Uint8Array, signal: AbortSignal) => Promise<UpstreamAnswer>;
  private readonly left = new AbortController();
  private started: RoundsStart | undefined;

  /**
   * @param most how often the upstream is asked again
   * @param start called for the first round
   * @param ask sends a body upstream
   */
  constructor(
    most: number,
    start: () => Promise<RoundsStart>,
    ask: (body: Uint8Array, signal: AbortSignal) => Promise<UpstreamAnswer>,
  ) {
    this.most = most;
    this.start = start;
    this.ask = ask;
  }

  /** Whether calls are answered still. */
  get isOpen(): boolean {
    return this.count < this.most;
  }

  /** The refs whose content was given out. */
  get refs(): readonly string[] {
    return this.started?.answerer.given ?? [];
  }

  /** Answers a turn's calls, all at once, and asks again. @throws what `ask` throws */
  async next(turn: Turn): Promise<UpstreamAnswer> {
    this.count++;
    const { body, answerer } = this.started ?? (await this.start());
    const results = await Promise.all(turn.calls.map((call) => answerer.answer(call)));
    const told = this.isOpen ? results : results.map((result) => `${result}\n${LAST}`);
    const longer = appendMessages(body, [turn.message, ...resultMessages(turn, told)]);
    this.started = { body: longer, answerer };
    return this.ask(longer, this.left.signal);
  }

  /** The caller has left: whatever is under way is ended. */
  abandon(): void {
    this.left.abort();
  }
}
