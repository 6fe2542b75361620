/** The digests in a view's placeholders: which of them it shows, and which may be made. */
import { logCaught } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { sumOf } from '../summary/attempts.ts';
import type { StoredConversation, SummaryPorts } from '../summary/conversation.ts';
import { digestNeed } from '../summary/digest-need.ts';
import { type DigestNeed, rememberedDigests, serveDigests, storeShown } from '../summary/output-digests.ts';
import { NO_USAGE } from '../summary/summarizer.ts';
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
  /** Warnings for the caller. */
  readonly warnings: Warning[] = [];
  /** The summarizer's. Undefined if it was not called. */
  usage: TokenUsage | undefined;
  private readonly work: DigestWork;
  private readonly conversation: StoredConversation;
  /** By message. */
  private readonly needs: ReadonlyMap<number, DigestNeed>;
  private readonly texts = new Map<string, string>();
  private readonly served = new Set<number>();

  constructor(work: DigestWork, conversation: StoredConversation, places: readonly Removal[]) {
    const { plan, strategy, ports, counter } = work;
    const context = { history: plan.history, strategy, counter, ...ports };
    const isNew = ({ message }: Removal) => plan.newlyOffloaded?.has(message) === true;
    this.work = work;
    this.conversation = conversation;
    this.needs = new Map(places.map((place) => [place.message, digestNeed(place, isNew(place), context)]));
  }

  /**
   * Gets the digests of the outputs that stay in the view by plan. Of the others, which the
   * summarizer may read, it gets those that the isolate remembers.
   */
  async serve(): Promise<void> {
    const { dropped, trimmed } = this.work.plan;
    const left = new Set((trimmed ?? { dropped }).dropped);
    const keys = [...this.needs.values()].map(({ key }) => key);
    for (const [key, text] of rememberedDigests(keys, this.conversation)) this.texts.set(key, text);
    await this.get(left);
  }

  /** Gets the digests of the outputs that stay although the plan leaves them out. */
  async serveStaying(dropped: ReadonlySet<number>): Promise<void> {
    await this.get(dropped);
  }

  /** The digest that replaces a removed output. */
  readonly textOf = ({ message }: Removal): string | undefined =>
    this.texts.get(this.needs.get(message)?.key ?? '');

  /** Stores what could not be stored before. Never throws. */
  async keep(): Promise<void> {
    const keys = [...this.served].flatMap((message) => this.needs.get(message)?.key ?? []);
    try {
      await storeShown(keys, this.conversation, this.work.ports);
    } catch (error) {
      logCaught(this.work.ports.log, 'warn', 'a digest that was shown could not be stored', error);
    }
  }

  private async get(dropped: ReadonlySet<number>): Promise<void> {
    const { call, ports } = this.work;
    const { scope, options } = call;
    const missing = [...this.needs].filter(([message]) => !dropped.has(message) && !this.served.has(message));
    if (missing.length === 0) return;
    const mayMake = async () => !options.dryRun && (await scope.mayStore(this.conversation.tenant));
    const order = {
      needs: missing.map(([, need]) => need),
      mayMake,
      waitMs: scope.services.config.digestWaitMs,
    };
    const served = await scope.timings.measure('summary', () =>
      serveDigests(order, this.conversation, ports),
    );
    for (const [message] of missing) this.served.add(message);
    for (const [key, text] of served.texts) this.texts.set(key, text);
    this.warnings.push(...served.warnings);
    if (served.usage) this.usage = sumOf(this.usage ?? NO_USAGE, served.usage);
  }
}
