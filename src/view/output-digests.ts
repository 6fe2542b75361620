/** The digests in a view's placeholders: which of them it shows, and which may be made. */
import { logCaught } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { StoredConversation, SummaryPorts } from '../summary/conversation.ts';
import { digestNeed } from '../summary/digest-need.ts';
import { AwaitedDigests, type DigestNeed } from '../summary/output-digests.ts';
import type { ViewCall } from './made-view.ts';

/** What the digests of a view are made for and with. */
interface DigestWork {
  readonly strategy: SummarizingStrategy;
  readonly plan: Plan;
  readonly call: ViewCall;
  readonly ports: SummaryPorts;
  readonly counter: TokenCounter;
}

/**
 * The digests of a plan. Undefined if it has no place for one, or if the conversation has no name
 * yet, since no verdict could be kept.
 *
 * @param isWritten whether a ref is known to be written; otherwise its output stays in the view
 */
export function outputDigests(
  work: DigestWork,
  isWritten: (ref: string) => boolean,
): ShownDigests | undefined {
  const { plan, ports } = work;
  if (!ports.conversation || !plan.newlyOffloaded) return undefined;
  const places = plan.segments.flat().filter(({ digest, ref = '' }) => digest && isWritten(ref));
  return places.length === 0 ? undefined : new ShownDigests(work, ports.conversation, places);
}

export class ShownDigests {
  /** With their warnings, and the summarizer's usage. */
  readonly awaited: AwaitedDigests;
  private readonly work: DigestWork;
  /** By message. */
  private readonly needs: ReadonlyMap<number, DigestNeed>;
  private readonly served = new Set<number>();

  constructor(work: DigestWork, conversation: StoredConversation, places: readonly Removal[]) {
    const { plan, strategy, ports, counter, call } = work;
    const { scope, options } = call;
    const context = { history: plan.history, strategy, counter, ...ports };
    const isNew = ({ message }: Removal) => plan.newlyOffloaded?.has(message) === true;
    const mayMake = async () => !options.dryRun && (await scope.mayStore(conversation.tenant));
    this.work = work;
    this.needs = new Map(places.map((place) => [place.message, digestNeed(place, isNew(place), context)]));
    this.awaited = new AwaitedDigests(
      { mayMake, waitMs: scope.services.config.digestWaitMs },
      conversation,
      ports,
    );
  }

  /**
   * Gets the digests of the outputs that stay in the view by plan. Of the others, which the
   * summarizer may read, it gets those that the isolate remembers.
   */
  async serve(): Promise<void> {
    const { dropped, trimmed } = this.work.plan;
    for (const need of this.needs.values()) this.awaited.remembers(need);
    await this.serveStaying(new Set((trimmed ?? { dropped }).dropped));
  }

  /** Gets the digests of the outputs that stay although the plan leaves them out. */
  async serveStaying(dropped: ReadonlySet<number>): Promise<void> {
    const missing = [...this.needs].filter(([message]) => !dropped.has(message) && !this.served.has(message));
    if (missing.length === 0) return;
    const needs = missing.map(([, need]) => need);
    await this.work.call.scope.timings.measure('summary', () => this.awaited.serve(needs));
    for (const [message] of missing) this.served.add(message);
  }

  /** The digest that replaces a removed output. */
  readonly textOf = ({ message }: Removal): string | undefined =>
    this.awaited.texts.get(this.needs.get(message)?.key ?? '');

  /** Stores what could not be stored before. Never throws. */
  async keep(): Promise<void> {
    const keys = [...this.served].flatMap((message) => this.needs.get(message)?.key ?? []);
    try {
      await this.awaited.storeShown(keys);
    } catch (error) {
      logCaught(this.work.ports.log, 'warn', 'a digest that was shown could not be stored', error);
    }
  }
}
