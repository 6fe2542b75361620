/**
 * Digests of offloaded outputs, for a request that waits for them. The conversation's object
 * decides who writes a digest, and its first verdict stays: the text, or that the preview stands.
 *
 * A removal has a place for a digest (`memory/edits/output-digest.ts`). `view/output-digests.ts`
 * says which digests a view shows, and which of them this request may make: only those of outputs
 * that no earlier request can have offloaded. `digest-need.ts` names each by output, task and
 * settings. `render` puts the texts into their places.
 */

import type { Result } from '../lib/result.ts';
import { AT_ONCE, fewAtOnce } from '../lib/slots.ts';
import { logCaught } from '../log.ts';
import { DIGEST_TOKENS } from '../memory/edits/output-digest.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { DigestClaim, DigestVerdict } from '../storage/conversation/output-digests.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { ModelFault } from '../upstream/model-client.ts';
import { askUntilValid, sumOf } from './attempts.ts';
import { ask, settled } from './claim.ts';
import type { StoredConversation, SummaryPorts } from './conversation.ts';
import { NO_USAGE } from './summarizer.ts';
import { type DigestFault, validateDigest } from './text/output-digest.ts';
import type { Prompt } from './text/prompt.ts';

const RETRIES = { attempts: 2, backoffMs: 500, longestPauseMs: 2_000 };

/** Faults of the summarizer itself. After one it rests, so that not every output waits for it. */
const OUTAGES: ReadonlySet<string> = new Set<ModelFault['code']>([
  'timeout',
  'unreachable',
  'rate_limited',
  'upstream_error',
  'refused',
]);

interface WritingFault {
  /** A code. */
  readonly error: DigestFault | ModelFault['code'] | 'window_too_small' | 'late';
  /** The name of the caught error, if there was one. */
  readonly cause?: string;
}

/** A digest that a view may show. */
export interface DigestNeed {
  /** Identifies output, task and settings. */
  readonly key: string;
  /** Whether no earlier request can have shown the output's placeholder. */
  readonly isNew: boolean;
  /** Undefined if the summarizer's window is too small. */
  promptOf(): Prompt | undefined;
  /** Whether a text is shorter than the output and fits into its place. */
  fits(text: string): boolean;
}

export interface DigestOrder {
  readonly needs: readonly DigestNeed[];
  /** Whether missing digests may be written. Otherwise nothing is stored. */
  mayMake(): Promise<boolean>;
  /** How long the request waits, in milliseconds. */
  readonly waitMs: number;
}

interface ServedDigests {
  /** By key. Without a text the preview stands. */
  readonly texts: ReadonlyMap<string, string>;
  readonly warnings: readonly Warning[];
  /** Undefined if the summarizer was not called. */
  readonly usage: TokenUsage | undefined;
}

/** The digests that an order needs. Never throws. */
export async function serveDigests(
  order: DigestOrder,
  conversation: StoredConversation,
  ports: SummaryPorts,
  counter: TokenCounter,
): Promise<ServedDigests> {
  const digests = new AwaitedDigests(order, conversation, ports, counter);
  await digests.serve();
  return digests;
}

/** The texts of digests that this isolate remembers, by key. Asks nobody. */
export function rememberedDigests(
  keys: readonly string[],
  { remembered }: StoredConversation,
): ReadonlyMap<string, string> {
  const texts = keys.map((key) => [key, remembered.digests.get(key)?.value.text ?? ''] as const);
  return new Map(texts.filter(([, text]) => text !== ''));
}

/**
 * Stores verdicts that were shown but not stored yet. Call after the answer.
 *
 * @throws if the object does not answer
 */
export async function storeShown(keys: readonly string[], conversation: StoredConversation): Promise<void> {
  const { digests } = conversation.remembered;
  const unstored = keys.flatMap((key): DigestVerdict[] => {
    const { value } = digests.get(key) ?? {};
    return value && !value.isStored ? [{ key, text: value.text }] : [];
  });
  if (unstored.length === 0) return;
  const at = Date.now();
  // A text was claimed before; for a preview there may be no row yet.
  const previews = unstored.filter(({ text }) => text === null).map(({ key }) => ({ key, isNew: false }));
  if (previews.length > 0) {
    const request = { digests: previews, lease: crypto.randomUUID(), leaseMs: 0 };
    await ask(conversation, (stub) => stub.claimDigests(request));
  }
  for (const { key, text } of await ask(conversation, (stub) => stub.settleDigests(unstored, 0)))
    digests.keep(key, { text, isStored: true }, at);
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
class AwaitedDigests implements ServedDigests {
  readonly texts = new Map<string, string>();
  readonly warnings: Warning[] = [];
  usage: TokenUsage | undefined;
  private readonly order: DigestOrder;
  private readonly conversation: StoredConversation;
  private readonly ports: SummaryPorts;
  private readonly counter: TokenCounter;
  /** When it began, in milliseconds since the epoch. */
  private readonly start = Date.now();

  constructor(
    order: DigestOrder,
    conversation: StoredConversation,
    ports: SummaryPorts,
    counter: TokenCounter,
  ) {
    this.order = order;
    this.conversation = conversation;
    this.ports = ports;
    this.counter = counter;
  }

  async serve(): Promise<void> {
    const needs = withoutRepeats(this.order.needs);
    const unknown = needs.filter((need) => !this.remembers(need));
    this.rely(needs);
    if (unknown.length === 0) return;
    const mayMake = await this.order.mayMake();
    try {
      await (mayMake ? this.make(unknown) : this.find(unknown));
    } catch (error) {
      this.storeFailed(error);
      // The preview is shown, and so it stays.
      if (mayMake) for (const { key } of unknown) this.settle(key, null, false);
    }
  }

  /** Whether this isolate remembers the verdict. */
  private remembers({ key }: DigestNeed): boolean {
    const seen = this.conversation.remembered.digests.get(key);
    if (seen?.value.text) this.texts.set(key, seen.value.text);
    return seen !== undefined;
  }

  /** Has the verdicts confirmed after the answer. Only a deletion takes them away. */
  private rely(needs: readonly DigestNeed[]): void {
    const { digests } = this.conversation.remembered;
    const seen = needs.flatMap(({ key }) => {
      const one = digests.get(key);
      return one?.value.isStored ? [{ key, at: one.at }] : [];
    });
    if (seen.length === 0) return;
    const oldest = seen.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
    this.ports.upkeep.of(this.conversation.name).rely('digests', oldest, async () => {
      const at = Date.now();
      const keys = seen.map(({ key }) => key);
      const found = await ask(this.conversation, (stub) => stub.findDigests(keys));
      for (const [index, key] of keys.entries()) {
        const verdict = found[index];
        if (verdict) digests.keep(key, { text: verdict.text, isStored: true }, at);
        else digests.drop(key);
      }
    });
  }

  /** Looks the digests up, and makes nothing. */
  private async find(needs: readonly DigestNeed[]): Promise<void> {
    const keys = needs.map(({ key }) => key);
    const found = await ask(this.conversation, (stub) => stub.findDigests(keys));
    for (const verdict of found) if (verdict) this.settle(verdict.key, verdict.text);
  }

  private async make(needs: readonly DigestNeed[]): Promise<void> {
    const request = {
      digests: needs.map(({ key, isNew }) => ({ key, isNew })),
      lease: crypto.randomUUID(),
      leaseMs: this.order.waitMs + TIME_LIMITS.leaseMarginMs,
    };
    const claims = await ask(this.conversation, (stub) => stub.claimDigests(request));
    const open: [DigestNeed, DigestClaim['state']][] = [];
    for (const [index, need] of needs.entries()) {
      const claim = claims[index];
      if (claim?.state === 'ready') this.settle(need.key, claim.text);
      else if (claim?.state === 'resting') this.rest(need);
      else if (claim) open.push([need, claim.state]);
    }
    await fewAtOnce(AT_ONCE, open, ([need, state]) =>
      state === 'claimed' ? this.write(need) : this.waitFor(need),
    );
  }

  /** Writes a claimed digest, and settles it with its text or with the preview. */
  private async write(need: DigestNeed): Promise<void> {
    const { key } = need;
    let usage = NO_USAGE;
    const written = await this.written(need, (more) => {
      usage = sumOf(usage, more);
      this.usage = sumOf(this.usage ?? NO_USAGE, more);
    });
    const spent = usage.cost === undefined ? {} : { cost: usage.cost };
    const text = written.ok ? written.value : null;
    if (!written.ok) this.fail(written.reason);
    const restMs = !written.ok && OUTAGES.has(written.reason.error) ? TIME_LIMITS.summaryRestMs : 0;
    await this.decide({ key, text, ...spent }, restMs);
  }

  private async written(
    { promptOf, fits }: DigestNeed,
    spent: (usage: TokenUsage) => void,
  ): Promise<Result<string, WritingFault>> {
    const { start, counter, ports, order } = this;
    const late = start + order.waitMs;
    // The outputs before it have taken all of the time.
    if (Date.now() >= late) return { ok: false, reason: { error: 'late' } };
    const prompt = promptOf();
    if (!prompt) return { ok: false, reason: { error: 'window_too_small' } };
    return askUntilValid<DigestFault>(ports.target, {
      prompt,
      maxTokens: DIGEST_TOKENS,
      retries: RETRIES,
      start,
      late,
      check: (answer) => validateDigest(answer, counter, fits),
      spent,
    });
  }

  /** Waits for a digest that another request writes. Late, its preview stands for both. */
  private async waitFor({ key }: DigestNeed): Promise<void> {
    try {
      await settled(this.conversation, key, this.start + this.order.waitMs);
    } catch (error) {
      this.storeFailed(error);
      return this.settle(key, null, false);
    }
    if ((await this.decide({ key, text: null }, 0)) === null) this.warnings.push('summary_degraded');
  }

  /**
   * Stores a verdict, unless there is one.
   *
   * @returns the text that stands; undefined if the object does not answer
   */
  private async decide(verdict: DigestVerdict, restMs: number): Promise<string | null | undefined> {
    const { key } = verdict;
    try {
      const [first] = await ask(this.conversation, (stub) => stub.settleDigests([verdict], restMs));
      const text = first?.text ?? null;
      this.settle(key, text);
      return text;
    } catch (error) {
      this.storeFailed(error);
      // If only the answer was lost, the object has this one.
      this.settle(key, verdict.text, false);
      return undefined;
    }
  }

  /** The summarizer has failed recently, and is not asked. */
  private rest({ key }: DigestNeed): void {
    this.warnings.push('summary_degraded');
    this.settle(key, null);
  }

  /** Takes a verdict over. @param isStored whether the object has it */
  private settle(key: string, text: string | null, isStored = true): void {
    this.conversation.remembered.digests.keep(key, { text, isStored }, this.start);
    if (text !== null) this.texts.set(key, text);
  }

  private fail({ error: code, cause }: WritingFault): void {
    this.warnings.push('summary_degraded');
    const fields = { code, ...(cause === undefined ? {} : { error: cause }) };
    this.ports.log('warn', 'the digest of an output could not be made', fields);
  }

  private storeFailed(error: unknown): void {
    this.warnings.push('store_failed');
    logCaught(this.ports.log, 'warn', 'a digest of an output could not be asked for or kept', error);
  }
}
