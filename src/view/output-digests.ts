/**
 * The digests in a view's placeholders: which of them it shows, and which of those this request may
 * make, which are only digests of outputs that no earlier request can have offloaded. The
 * conversation's object makes a digest once, and its first verdict stays: the text, or that the
 * preview is kept.
 *
 * A removal has a place for a digest (`memory/edits/output-digest.ts`). `summary/digest-need.ts`
 * names each by output, task and settings. `render` puts the texts into their places.
 */
import { plus } from '../lib/sums.ts';
import { logCaught } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { portions } from '../storage/archive/packing.ts';
import type { DigestAnswer, DigestOrder } from '../storage/conversation/output-digests.ts';
import { relyOn } from '../storage/recall.ts';
import type { DigestMaterial, StoredConversation, SummaryPorts } from '../summary/conversation.ts';
import { type DigestNeed, digestNeed } from '../summary/digest-need.ts';
import { ask } from '../summary/order.ts';
import { NO_USAGE } from '../summary/summarizer.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { ViewCall } from './made-view.ts';

/** In characters of prompts. A call to an object takes at most 32 MiB. */
const LARGEST_CALL = 4_000_000;

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

/** Equal outputs of the same task share a digest, which is new only if all of them are. */
function withoutRepeats(needs: readonly DigestNeed[]): DigestNeed[] {
  const byKey = new Map<string, DigestNeed>();
  for (const need of needs) {
    const same = byKey.get(need.key);
    byKey.set(need.key, { ...need, isNew: need.isNew && (same?.isNew ?? true) });
  }
  return [...byKey.values()];
}

export class ShownDigests {
  readonly warnings: Warning[] = [];
  /** The summarizer's. Undefined if it was not called. */
  usage: TokenUsage | undefined;
  private readonly work: DigestWork;
  private readonly conversation: StoredConversation;
  /** By message. */
  private readonly needs: ReadonlyMap<number, DigestNeed>;
  private readonly served = new Set<number>();
  /** By key. Without a text the preview is kept. */
  private readonly texts = new Map<string, string>();
  /** When it was asked for digests, in milliseconds since the epoch. */
  private start = Date.now();

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
   * summarizer may read, it gets those that the isolate remembers. Never throws.
   */
  async serve(): Promise<void> {
    const { dropped, trimmed } = this.work.plan;
    for (const need of this.needs.values()) this.remembers(need);
    await this.serveStaying(new Set((trimmed ?? { dropped }).dropped));
  }

  /** Gets the digests of the outputs that stay although the plan leaves them out. Never throws. */
  async serveStaying(dropped: ReadonlySet<number>): Promise<void> {
    const missing = [...this.needs].filter(([message]) => !dropped.has(message) && !this.served.has(message));
    if (missing.length === 0) return;
    const needs = withoutRepeats(missing.map(([, need]) => need));
    await this.work.call.scope.timings.measure('summary', () => this.ask(needs));
    for (const [message] of missing) this.served.add(message);
  }

  /** The digest that replaces a removed output. */
  readonly textOf = ({ message }: Removal): string | undefined =>
    this.texts.get(this.needs.get(message)?.key ?? '');

  /**
   * Stores that previews are kept which were shown when the object could not be asked. Call after
   * the answer. Never throws.
   */
  async keep(): Promise<void> {
    const keys = [...this.served].flatMap((message) => this.needs.get(message)?.key ?? []);
    const unstored = keys.filter((key) => this.known.get(key)?.value.isStored === false);
    if (unstored.length === 0) return;
    this.start = Date.now();
    const orders = unstored.map((key) => ({ key, material: null }));
    const { since, log } = this.work.ports;
    try {
      const answers = await ask(this.conversation, (stub) => stub.outputDigests.make(orders, 0, since));
      for (const { key, text } of answers) this.settle(key, text);
    } catch (error) {
      logCaught(log, 'warn', 'a digest that was shown could not be stored', error);
    }
  }

  private async ask(needs: readonly DigestNeed[]): Promise<void> {
    this.start = Date.now();
    const unknown = needs.filter((need) => !this.remembers(need));
    this.rely(needs);
    if (unknown.length === 0) return;
    const { scope, options } = this.work.call;
    // Otherwise nothing is stored.
    const mayMake = !options.dryRun && (await scope.mayStore(this.conversation.tenant));
    try {
      const missing = await this.find(unknown);
      if (mayMake && missing.length > 0) await this.make(missing);
    } catch (error) {
      this.warnings.push('store_failed');
      logCaught(this.work.ports.log, 'warn', 'a digest of an output could not be asked for', error);
      // The preview is shown, and so it stays.
      if (mayMake) for (const need of unknown) if (!this.remembers(need)) this.settle(need.key, null, false);
    }
  }

  /** Whether this isolate remembers the verdict. Then its text is there, and nobody is asked. */
  private remembers({ key }: Pick<DigestNeed, 'key'>): boolean {
    const seen = this.known.get(key);
    if (seen?.value.text) this.texts.set(key, seen.value.text);
    return seen !== undefined;
  }

  private get known() {
    return this.conversation.remembered.of('outputDigests');
  }

  /** Has the verdicts confirmed after the answer. Only a deletion takes them away. */
  private rely(needs: readonly DigestNeed[]): void {
    const { known } = this;
    const keys = needs.map(({ key }) => key).filter((key) => known.get(key)?.value.isStored);
    const upkeep = this.work.ports.upkeep.of(this.conversation.name);
    const askAgain = async () => {
      const found = await ask(this.conversation, (stub) => stub.outputDigests.find(keys));
      return found.map((verdict) => (verdict ? { text: verdict.text, isStored: true } : undefined));
    };
    relyOn({ known, keys, upkeep, ask: askAgain });
  }

  /** Looks the digests up. @returns those without a verdict */
  private async find(needs: readonly DigestNeed[]): Promise<DigestNeed[]> {
    const keys = needs.map(({ key }) => key);
    const found = await ask(this.conversation, (stub) => stub.outputDigests.find(keys));
    for (const verdict of found) if (verdict) this.settle(verdict.key, verdict.text);
    return needs.filter((_, index) => !found[index]);
  }

  private async make(needs: readonly DigestNeed[]): Promise<void> {
    const { target, encoding, since, payer: payerOf } = this.work.ports;
    const payer = needs.some(({ isNew }) => isNew) ? await payerOf() : undefined;
    const orders = needs.map(({ key, isNew, promptOf, removal }): DigestOrder<DigestMaterial> => {
      const own = { target, payer, encoding, removal };
      return { key, material: isNew ? { of: 'digest', ...own, prompt: promptOf() } : null };
    });
    const { digestWaitMs: waitMs } = this.work.call.scope.services.config;
    const left = Math.max(0, this.start + waitMs - Date.now());
    const limitMs = left + TIME_LIMITS.objectCallMs;
    const lengthOf = ({ material }: (typeof orders)[number]) => material?.prompt?.user.length ?? 0;
    const calls = portions(orders, LARGEST_CALL, lengthOf).map((some) =>
      ask(this.conversation, (stub) => stub.outputDigests.make(some, left, since), limitMs),
    );
    for (const answer of (await Promise.all(calls)).flat()) this.take(answer);
  }

  private take({ key, text, isDegraded, usage }: DigestAnswer): void {
    this.settle(key, text);
    if (isDegraded) this.warnings.push('summary_degraded');
    if (usage) this.usage = plus(this.usage ?? NO_USAGE, usage);
  }

  /** Takes a verdict over. @param isStored whether the object has it */
  private settle(key: string, text: string | null, isStored = true): void {
    this.known.keep(key, { text, isStored }, this.start);
    if (text !== null) this.texts.set(key, text);
  }
}
