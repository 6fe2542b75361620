/**
 * A summary for a request that waits for it. It is looked up by the hash of exactly the messages
 * that it covers. If there is none, the conversation's object makes it, while all requests that
 * need it wait. If it can't be made, the extractive digest replaces it, and stays in its place
 * until the frontier moves.
 */

import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { DIGEST_MODEL, type Memory } from '../storage/conversation/memories.ts';
import { hashesKey } from '../storage/conversation/remembered.ts';
import { recall, relyOn } from '../storage/recall.ts';
import { NO_LIMITS } from '../upstream/call-guard.ts';
import {
  type ServedSummary,
  type StoredConversation,
  type SummaryPorts,
  servedOf,
  statusOf,
} from './conversation.ts';
import { fetchableRef, isThere, ownRef } from './kept-transcript.ts';
import { Material } from './material.ts';
import { ask, askText, type OrderedText, type TextTerms, textRequest } from './order.ts';
import { compactionFor, shownBlock } from './own-compaction.ts';
import { type PrefixNeed, prefixRange, prefixTerms } from './prefix.ts';
import { NO_USAGE } from './summarizer.ts';
import { writeSummary } from './writer.ts';

/** The same summary is not ordered again for so long, in milliseconds. */
const PREPARED_MS = 60_000;

interface Served {
  /** Undefined if no text would be shorter than the messages. */
  readonly summary: ServedSummary | undefined;
  readonly warnings: readonly Warning[];
}

export async function serveSummary(need: PrefixNeed, ports: SummaryPorts): Promise<Served> {
  const { held, prefix, how, boundaries } = need;
  if (held && boundaries.at(held.end).prefixHash === boundaries.at(prefix.end).prefixHash) {
    const ref = await ownRef(held.ref, ports);
    return shown({ text: held.text, ref, status: 'completed', usage: NO_USAGE });
  }
  const awaited = new AwaitedSummary(need, ports, (await ports.counting()).counter);
  if (how === 'once') return awaited.once();
  const status = how === 'find' ? 'pending' : 'degraded';
  const { conversation } = ports;
  if (!conversation) return awaited.degraded(undefined, status);
  try {
    return await (how === 'find' ? awaited.find(conversation) : awaited.make(conversation));
  } catch (error) {
    logCaught(ports.log, 'warn', 'a summary could not be asked for', error);
    // Without the chain a summary could not be stored, and each request would pay for it again.
    return withWarning(await awaited.degraded(undefined, 'degraded'), 'store_failed');
  }
}

/**
 * Has a summary made in the background for a later request, unless it exists or is being made. The
 * object answers at once.
 *
 * @throws if the object does not answer
 */
export async function prepareSummary(need: PrefixNeed, ports: SummaryPorts): Promise<void> {
  const { conversation, target, upkeep } = ports;
  if (!conversation) return;
  const terms = prefixTerms(need, target.model);
  const version = hashesKey(terms.strategyHash, terms.boundary.prefixHash);
  if (conversation.remembered.of('versions').get(version)) return;
  // Every request until the next move asks for the same.
  const prepared = ports.prepared(conversation.name);
  if (Date.now() - (prepared.get(version) ?? 0) < PREPARED_MS) return;
  prepared.set(version, Date.now());
  upkeep.of(conversation.name).takeTurn();
  const at = Date.now();
  const answer = await askText(terms, conversation, ports, 0, async ({ base, health }) => {
    // A summarizer that has failed recently is left to requests that need it now.
    if (health === 'degraded') return undefined;
    const { counter } = await ports.counting();
    return orderedText(need, new Material(prefixRange(need), ports, counter), base, ports);
  });
  if (answer.state === 'ready') conversation.remembered.of('versions').keep(version, answer.memory, at);
}

/** A caller that holds a summary of its own gets none of the API's. */
function orderedText(
  need: PrefixNeed,
  material: Material,
  base: Memory | null,
  { own }: SummaryPorts,
): OrderedText {
  return { material, compaction: own && !need.held ? compactionFor(own, need, base) : undefined };
}

function shown(summary: ServedSummary | undefined, ...warnings: Warning[]): Served {
  return { summary, warnings };
}

function withWarning({ summary, warnings }: Served, warning: Warning): Served {
  return { summary, warnings: [...warnings, warning] };
}

/** A summary that a request waits for. */
class AwaitedSummary {
  private readonly need: PrefixNeed;
  private readonly ports: SummaryPorts;
  private readonly counter: TokenCounter;
  private readonly terms: TextTerms;
  private readonly material: Material;
  /** When it began, in milliseconds since the epoch. */
  private readonly start = Date.now();

  constructor(need: PrefixNeed, ports: SummaryPorts, counter: TokenCounter) {
    this.need = need;
    this.ports = ports;
    this.counter = counter;
    this.terms = prefixTerms(need, ports.target.model);
    this.material = new Material(prefixRange(need), ports, counter, need.how === 'make');
  }

  /** Looks the summary up, and makes nothing. */
  async find(conversation: StoredConversation): Promise<Served> {
    const [memory] = await recall(this.question(conversation));
    return memory ? this.ready(memory) : this.degraded(undefined, 'pending');
  }

  /** Makes the summary for this request alone, and stores nothing. */
  async once(): Promise<Served> {
    const { ports, counter } = this;
    const nothing = () => undefined;
    const goesOn = () => Date.now() < this.need.late;
    const progress = { goesOn, retrying: nothing, advance: nothing, narrowed: nothing };
    // Without a tenant there are no limits of a caller.
    const target = { ...ports.target, guard: NO_LIMITS };
    const work = writeSummary(this.material.task(), undefined, target, counter, progress);
    const written = await soon(this.need.late - Date.now(), work);
    if (!written) return this.degraded(undefined, 'pending');
    if (!written.ok) {
      const { error: code, cause, usage } = written.reason;
      const fields = { code, ...(cause === undefined ? {} : { error: cause }) };
      ports.log('warn', 'a summary could not be made', fields);
      return this.degraded(undefined, 'degraded', usage);
    }
    const { text, usage } = written.value;
    return shown({ text, ref: undefined, status: 'completed', usage });
  }

  async make(conversation: StoredConversation): Promise<Served> {
    const [known] = relyOn(this.question(conversation)) ?? [];
    if (known) return this.ready(known);
    const { need, ports, material } = this;
    const answer = await askText(this.terms, conversation, ports, need.late, async ({ base }) =>
      orderedText(need, material, base, ports),
    );
    // It was deleted and must not come back, or lost: the next request has it made.
    if (answer.state === 'gone' || answer.state === 'wanted') return this.degraded(undefined, 'pending');
    if (answer.state === 'ready') {
      if (answer.window !== undefined) ports.learnWindow(answer.window);
      return withUsage(await this.ready(this.remember(answer.memory, conversation)), answer.usage);
    }
    if (answer.state !== 'resting') return this.digestInstead(conversation, answer.base, 'pending');
    const served = await this.digestInstead(conversation, answer.base, 'degraded');
    return withUsage(answer.unlinked ? withWarning(served, 'history_cut') : served, answer.usage);
  }

  /** The digest in place of a missing summary, for this request alone. */
  async degraded(
    base: Memory | null | undefined,
    status: 'degraded' | 'pending',
    usage = NO_USAGE,
  ): Promise<Served> {
    const digest = await this.material.keepDigest(base);
    if (!digest) return shown(undefined, WARNING_OF[status]);
    const { text, ref } = digest;
    return this.withRef({ text, ref: ref ?? undefined, status, usage }, WARNING_OF[status]);
  }

  /** Asks for the version. One that this isolate remembers can't change. */
  private question(conversation: StoredConversation) {
    const { boundary, strategyHash } = this.terms;
    const request = { strategyHash, boundaries: [boundary] };
    return {
      known: conversation.remembered.of('versions'),
      keys: [hashesKey(strategyHash, boundary.prefixHash)],
      upkeep: this.ports.upkeep.of(conversation.name),
      ask: async () => {
        const { memory } = await ask(conversation, (stub) => stub.versions.find(request));
        return [memory ?? undefined];
      },
    };
  }

  private remember(version: Memory, { remembered }: StoredConversation): Memory {
    const { strategy_hash, prefix_hash } = version;
    remembered.of('versions').keep(hashesKey(strategy_hash, prefix_hash), version, this.start);
    return version;
  }

  private async ready(version: Memory, status = statusOf(version)): Promise<Served> {
    const { own } = this.ports;
    // It may have been made for an array with another preamble.
    const memory = { ...version, covers_end: this.terms.boundary.end };
    const signed = own && shownBlock(own, memory, this.need);
    const served = servedOf(memory, await this.refOf(memory), status);
    const summary = signed === undefined ? served : { ...served, signed };
    return status === 'completed' ? this.withRef(summary) : this.withRef(summary, WARNING_OF[status]);
  }

  /** The ref of a version's transcript. Undefined if it can't be fetched. */
  private async refOf(memory: Memory): Promise<string | undefined> {
    const { place } = this.material;
    if (place) return fetchableRef(memory, place);
    const { refs } = this.ports;
    return refs && memory.ref !== null && (await isThere(memory.ref, refs)) ? memory.ref : undefined;
  }

  /**
   * The digest while the summarizer rests or is late. It is stored, since a text that was used once
   * stays until the frontier moves.
   */
  private async digestInstead(
    conversation: StoredConversation,
    base: Memory | null,
    status: 'degraded' | 'pending',
  ): Promise<Served> {
    const digest = await this.material.keepDigest(base);
    if (!digest) return shown(undefined, WARNING_OF[status]);
    const written = { ...digest, tokens: this.counter.text(digest.text), ms: 0 };
    const request = textRequest(this.terms, conversation, this.ports);
    const memory = await ask(conversation, (stub) =>
      stub.versions.keepDigest(request, base?.memory_id ?? null, written),
    );
    if (!memory) return this.degraded(base, status);
    this.remember(memory, conversation);
    return this.ready(memory, memory.model === DIGEST_MODEL ? status : 'completed');
  }

  private withRef(summary: ServedSummary, ...warnings: Warning[]): Served {
    const keeps = this.need.how === 'make' && this.ports.refs !== undefined;
    return shown(
      summary,
      ...warnings,
      ...(keeps && summary.ref === undefined ? ['store_failed' as const] : []),
    );
  }
}

const WARNING_OF = { degraded: 'summary_degraded', pending: 'summary_pending' } as const;

/** @param usage null: another request reports it */
function withUsage({ summary, warnings }: Served, usage: TokenUsage | null): Served {
  return { summary: summary && { ...summary, usage: usage ?? NO_USAGE }, warnings };
}
