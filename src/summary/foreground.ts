/**
 * A summary for a request that waits for it. It is looked up by the hash of exactly the messages
 * that it covers. If nobody has made it, one request makes it while the others wait. If it can't be
 * made, the extractive digest replaces it, and stays in its place until the frontier moves.
 */

import { InvariantError } from '../lib/invariant-error.ts';
import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import {
  type Claimed,
  type ClaimRequest,
  DIGEST_MODEL,
  type Memory,
} from '../storage/conversation/memories.ts';
import { hashesKey } from '../storage/conversation/remembered.ts';
import {
  ask,
  claimRequest,
  longestCall,
  roll,
  rollMaterial,
  type SummaryOrder,
  settled,
  writeClaimed,
} from './claim.ts';
import {
  publish,
  type ServedSummary,
  type StoredConversation,
  type SummaryPorts,
  servedOf,
  statusOf,
} from './conversation.ts';
import { fetchableRef, isThere, ownRef } from './kept-transcript.ts';
import { Material } from './material.ts';
import { type CompactionCall, compactionFor, shownBlock } from './own-compaction.ts';
import { type PrefixNeed, prefixOrder } from './prefix.ts';
import { NO_USAGE } from './summarizer.ts';
import type { TranscriptChunk } from './text/transcript.ts';
import { knownOf, type Progress, partsOf, type SummaryTask, writeSummary } from './writer.ts';

/** The same summary is not handed over again for so long, in milliseconds. */
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
  const order = prefixOrder(need, target.model);
  const { strategyHash, bases } = order.terms;
  const { boundary } = order.range;
  const version = hashesKey(strategyHash, boundary.prefixHash);
  if (conversation.remembered.versions.get(version)) return;
  // Every request until the next move asks for the same.
  const prepared = ports.prepared(conversation.name);
  if (Date.now() - (prepared.get(version) ?? 0) < PREPARED_MS) return;
  prepared.set(version, Date.now());
  upkeep.of(conversation.name).takeTurn();
  const boundaries = [...bases, boundary];
  const at = Date.now();
  const { memory, health } = await ask(conversation, (stub) => stub.find({ strategyHash, boundaries }));
  if (memory?.prefix_hash === boundary.prefixHash)
    return conversation.remembered.versions.keep(version, memory, at);
  // A summarizer that has failed recently is left to requests that need it now.
  if (health === 'degraded') return;
  // A digest is never a base.
  const base = memory?.model === DIGEST_MODEL ? null : memory;
  const material = new Material(order.range, ports, (await ports.counting()).counter);
  const transcript = await material.keepTranscript(base);
  await roll(order, material.task(base), transcript, conversation, ports, ownCall(need, base, ports));
}

/** The call for the API's own summary. A caller that holds one of its own gets none. */
function ownCall(need: PrefixNeed, base: Memory | null, { own }: SummaryPorts): CompactionCall | undefined {
  return own && !need.held ? compactionFor(own, need, base) : undefined;
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
  private readonly order: SummaryOrder;
  private readonly material: Material;
  /** When it began, in milliseconds since the epoch. */
  private readonly start = Date.now();

  constructor(need: PrefixNeed, ports: SummaryPorts, counter: TokenCounter) {
    this.need = need;
    this.ports = ports;
    this.counter = counter;
    this.order = prefixOrder(need, ports.target.model);
    this.material = new Material(this.order.range, ports, counter, need.how === 'make');
  }

  /** Looks the summary up, and makes nothing. */
  async find(conversation: StoredConversation): Promise<Served> {
    const remembered = this.remembered(conversation);
    if (remembered) return this.ready(remembered);
    const { terms, range } = this.order;
    const request = { strategyHash: terms.strategyHash, boundaries: [range.boundary] };
    const { memory } = await ask(conversation, (stub) => stub.find(request));
    return memory ? this.ready(this.remember(memory, conversation)) : this.degraded(undefined, 'pending');
  }

  /** Makes the summary for this request alone, and stores nothing. */
  async once(): Promise<Served> {
    const goesOn = async () => Date.now() < this.need.late;
    const progress = { retrying: goesOn, renew: goesOn, advance: goesOn, narrowed: goesOn };
    const work = writeSummary(this.material.task(), undefined, this.ports.target, this.counter, progress);
    const written = await soon(this.need.late - Date.now(), work);
    if (!written) return this.degraded(undefined, 'pending');
    if (!written.ok) {
      const { error: code, cause, usage } = written.reason;
      const fields = { code, ...(cause === undefined ? {} : { error: cause }) };
      this.ports.log('warn', 'a summary could not be made', fields);
      return this.degraded(undefined, 'degraded', usage);
    }
    const { text, usage } = written.value;
    return shown({ text, ref: undefined, status: 'completed', usage });
  }

  async make(conversation: StoredConversation): Promise<Served> {
    const remembered = this.remembered(conversation);
    if (remembered) return this.ready(remembered);
    const { late } = this.need;
    const request = claimRequest(this.order, conversation, longestCall(this.ports));
    let mine: number | undefined;
    let usage = NO_USAGE;
    for (;;) {
      const claim = await ask(conversation, (stub) => stub.claim(request));
      if (claim.state === 'ready')
        return withUsage(await this.ready(this.remember(claim.memory, conversation)), usage);
      if (claim.state === 'resting') {
        const served = await this.digestInstead(conversation, request, claim.base, 'degraded');
        return withUsage(claim.unlinked ? withWarning(served, 'history_cut') : served, usage);
      }
      if (claim.state === 'claimed' && mine !== undefined) {
        // The row that was handed over is gone: the conversation was deleted, and this request must
        // not make it anew.
        await ask(conversation, (stub) => stub.abandon(claim.memoryId, claim.lease));
        return withUsage(await this.degraded(undefined, 'pending'), usage);
      }
      if (claim.state === 'claimed') {
        const served = await this.write(conversation, request, claim, late);
        if (served) return served;
        mine = claim.memoryId;
      }
      // Only material that begins after a base can lose it, and this begins with the first message.
      if (claim.state === 'gone') throw new InvariantError('a base was asked for that is not needed');
      // Another request writes, or the object does.
      if (Date.now() >= late) return this.digestInstead(conversation, request, claim.base, 'pending');
      const spent = await settled(conversation, claim.memoryId, late);
      // Another request reports the cost of its own summary.
      if (spent && claim.memoryId === mine) usage = spent;
    }
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

  /** The version that this isolate remembers. Nobody has to be asked: it can't change. */
  private remembered(conversation: StoredConversation): Memory | undefined {
    const { versions } = conversation.remembered;
    const { boundary } = this.order.range;
    const { strategyHash } = this.order.terms;
    const key = hashesKey(strategyHash, boundary.prefixHash);
    const seen = versions.get(key);
    if (!seen) return undefined;
    this.ports.upkeep.of(conversation.name).rely('version', seen.at, async () => {
      const at = Date.now();
      const request = { strategyHash, boundaries: [boundary] };
      const { memory } = await ask(conversation, (stub) => stub.find(request));
      if (memory) versions.keep(key, memory, at);
      else versions.drop(key);
    });
    return { ...seen.value, covers_end: boundary.end };
  }

  private remember(version: Memory, { remembered }: StoredConversation): Memory {
    const { strategy_hash, prefix_hash } = version;
    remembered.versions.keep(hashesKey(strategy_hash, prefix_hash), version, this.start);
    return version;
  }

  private async ready(memory: Memory, status = statusOf(memory)): Promise<Served> {
    const { own } = this.ports;
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
    request: ClaimRequest,
    base: Memory | null,
    status: 'degraded' | 'pending',
  ): Promise<Served> {
    const digest = await this.material.keepDigest(base);
    if (!digest) return shown(undefined, WARNING_OF[status]);
    const written = { ...digest, tokens: this.counter.text(digest.text), ms: 0 };
    const memory = await ask(conversation, (stub) =>
      stub.keepDigest(request, base?.memory_id ?? null, written),
    );
    this.remember(memory, conversation);
    return this.ready(memory, memory.model === DIGEST_MODEL ? status : 'completed');
  }

  /** Undefined if the object writes the summary, or if it is not ready in time. */
  private async write(
    conversation: StoredConversation,
    request: ClaimRequest,
    claim: Claimed,
    late: number,
  ): Promise<Served | undefined> {
    const { ports, material } = this;
    const task = material.task(claim.base);
    const compaction = ownCall(this.need, claim.base, ports);
    const chunks = compaction ? undefined : partsOf(task, knownOf(claim.base), ports.target, this.counter);
    const handOver = async (target = ports.target) => {
      const transcript = await material.keepTranscript(claim.base);
      const handedOver = await rollMaterial(task, transcript, { ...ports, target }, compaction);
      await ask(conversation, (stub) => stub.takeOver(claim, request, handedOver));
    };
    if (compaction || (chunks && chunks.length > 1)) {
      // This may take longer than a Worker lives after its answer.
      await handOver();
      return undefined;
    }
    const narrowed = async (window: number, isKnown: boolean) => {
      if (isKnown) ports.learnWindow(window);
      await handOver({ ...ports.target, window });
      return false;
    };
    const work = this.finish(conversation, claim, task, chunks, narrowed);
    ports.waitUntil(this.logged('a summary could not be finished', work));
    return soon(late - Date.now(), work);
  }

  private async finish(
    conversation: StoredConversation,
    claim: Claimed,
    task: SummaryTask,
    chunks: TranscriptChunk[] | undefined,
    narrowed: Progress['narrowed'],
  ): Promise<Served | undefined> {
    const { base } = claim;
    const { target, waitUntil, openUser, publication } = this.ports;
    const { memory, state, usage } = await writeClaimed(
      (call) => ask(conversation, async (stub) => call(stub)),
      claim,
      {
        task,
        target,
        counter: this.counter,
        chunks,
        narrowed,
        transcript: this.material.keepTranscript(base),
        digest: () => this.material.digest(base),
        publish: async (text) => {
          const publishTo = await publication();
          if (!publishTo) return;
          waitUntil(this.logged('a summary could not be published', publish(openUser, publishTo, text)));
        },
      },
    );
    if (memory) return withUsage(await this.ready(this.remember(memory, conversation)), usage);
    if (state === 'handed_over') return undefined;
    // Without a version the lease is lost: another writer has taken over, or the conversation was
    // deleted, and this request must not make it anew.
    const served = state === 'written' ? this.find(conversation) : this.degraded(base, 'degraded');
    return withUsage(await served, usage);
  }

  private async logged(message: string, work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => logCaught(this.ports.log, 'warn', message, error));
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

function withUsage({ summary, warnings }: Served, usage: TokenUsage): Served {
  return { summary: summary && { ...summary, usage }, warnings };
}
