/**
 * Digests of offloaded outputs, for a request that waits for them. The conversation's object makes
 * a digest once, and its first verdict stays: the text, or that the preview is kept.
 *
 * A removal has a place for a digest (`memory/edits/output-digest.ts`). `view/output-digests.ts`
 * says which digests a view shows, and which of them this request may make: only digests of outputs
 * that no earlier request can have offloaded. `digest-need.ts` names each by output, task and
 * settings. `render` puts the texts into their places.
 */

import { plus } from '../lib/sums.ts';
import { logCaught } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import { portions } from '../storage/archive/packing.ts';
import type { DigestAnswer, DigestOrder } from '../storage/conversation/output-digests.ts';
import { relyOn } from '../storage/recall.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { DigestMaterial, StoredConversation, SummaryPorts } from './conversation.ts';
import { ask } from './order.ts';
import { NO_USAGE } from './summarizer.ts';
import type { Prompt } from './text/prompt.ts';

/** In characters of prompts. A call to an object takes at most 32 MiB. */
const LARGEST_CALL = 4_000_000;

/** A digest that a view may show. */
export interface DigestNeed {
  /** Identifies output, task and settings. */
  readonly key: string;
  /** Whether no earlier request can have shown the output's placeholder. */
  readonly isNew: boolean;
  /** Undefined if the summarizer's window is too small. */
  promptOf(): Prompt | undefined;
  /** The place of the digest. */
  readonly removal: Removal;
}

/** How the missing digests of a view are made. */
interface DigestTerms {
  /** Whether they may be written. Otherwise nothing is stored. */
  mayMake(): Promise<boolean>;
  /** How long the request waits each time, in milliseconds. */
  readonly waitMs: number;
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

/** The digests of outputs that a request waits for. */
export class AwaitedDigests {
  /** By key. Without a text the preview is kept. */
  readonly texts = new Map<string, string>();
  readonly warnings: Warning[] = [];
  /** Undefined if the summarizer was not called. */
  usage: TokenUsage | undefined;
  private readonly terms: DigestTerms;
  private readonly conversation: StoredConversation;
  private readonly ports: SummaryPorts;
  /** When it was asked for digests, in milliseconds since the epoch. */
  private start = Date.now();

  constructor(terms: DigestTerms, conversation: StoredConversation, ports: SummaryPorts) {
    this.terms = terms;
    this.conversation = conversation;
    this.ports = ports;
  }

  /** Gets the digests that it needs. Never throws. */
  async serve(wanted: readonly DigestNeed[]): Promise<void> {
    this.start = Date.now();
    const needs = withoutRepeats(wanted);
    const unknown = needs.filter((need) => !this.remembers(need));
    this.rely(needs);
    if (unknown.length === 0) return;
    const mayMake = await this.terms.mayMake();
    try {
      const missing = await this.find(unknown);
      if (mayMake && missing.length > 0) await this.make(missing);
    } catch (error) {
      this.warnings.push('store_failed');
      logCaught(this.ports.log, 'warn', 'a digest of an output could not be asked for', error);
      // The preview is shown, and so it stays.
      if (mayMake) for (const need of unknown) if (!this.remembers(need)) this.settle(need.key, null, false);
    }
  }

  /** Whether this isolate remembers the verdict. Then its text is there, and nobody is asked. */
  remembers({ key }: Pick<DigestNeed, 'key'>): boolean {
    const seen = this.known.get(key);
    if (seen?.value.text) this.texts.set(key, seen.value.text);
    return seen !== undefined;
  }

  /**
   * Stores that previews are kept which were shown when the object could not be asked. Call after
   * the answer.
   *
   * @throws if the object does not answer
   */
  async storeShown(keys: readonly string[]): Promise<void> {
    const unstored = keys.filter((key) => this.known.get(key)?.value.isStored === false);
    if (unstored.length === 0) return;
    this.start = Date.now();
    const orders = unstored.map((key) => ({ key, material: null }));
    const { since } = this.ports;
    const answers = await ask(this.conversation, (stub) => stub.outputDigests.make(orders, 0, since));
    for (const { key, text } of answers) this.settle(key, text);
  }

  private get known() {
    return this.conversation.remembered.of('outputDigests');
  }

  /** Has the verdicts confirmed after the answer. Only a deletion takes them away. */
  private rely(needs: readonly DigestNeed[]): void {
    const { known } = this;
    const keys = needs.map(({ key }) => key).filter((key) => known.get(key)?.value.isStored);
    const upkeep = this.ports.upkeep.of(this.conversation.name);
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
    const { target, encoding, since, payer: payerOf } = this.ports;
    const payer = needs.some(({ isNew }) => isNew) ? await payerOf() : undefined;
    const orders = needs.map(({ key, isNew, promptOf, removal }): DigestOrder<DigestMaterial> => {
      const own = { target, payer, encoding, removal };
      return { key, material: isNew ? { of: 'digest', ...own, prompt: promptOf() } : null };
    });
    const left = Math.max(0, this.start + this.terms.waitMs - Date.now());
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
