/**
 * A summary for a request that waits for it. Looked up by the hash of exactly the messages that it
 * covers; made when nobody has made it, by one request while the others wait; and when it can't be
 * made, replaced by the extractive digest, which then stays in its place until the frontier moves.
 */

import { soon, within } from '../lib/time-limit.ts';
import type { Warning } from '../memory/plan/report.ts';
import { callObject } from '../storage/conversation/key.ts';
import {
  type Claimed,
  type ClaimRequest,
  DIGEST_MODEL,
  type Memory,
} from '../storage/conversation/memories.ts';
import { publish, type RollMaterial, type ServedSummary, type StoredConversation } from './conversation.ts';
import { fetchableRef, isThere, NO_TRANSCRIPT } from './kept-transcript.ts';
import { Material } from './material.ts';
import { heldBase, prefixRange, RETRIES, type SummaryNeed, type SummaryPorts } from './prefix.ts';
import { strategyHash } from './strategy-hash.ts';
import { NO_USAGE } from './summarizer.ts';
import type { TranscriptChunk } from './text/transcript.ts';
import { knownOf, LEASE_MARGIN_MS, partsOf, type SummaryTask, writeSummary } from './writer.ts';

/** An object decides in microseconds; one that takes longer is in trouble. In milliseconds. */
const CALL_MS = 5_000;

/** How long a conversation whose summarizer has failed rests at first, in milliseconds. */
const REST_MS = 30_000;

/** How long what was handed over once is not handed over again, in milliseconds. */
const PREPARED_MS = 60_000;

interface Served {
  /** Undefined when nothing would be shorter than the messages themselves. */
  readonly summary: ServedSummary | undefined;
  readonly warnings: readonly Warning[];
}

export async function serveSummary(need: SummaryNeed, ports: SummaryPorts): Promise<Served> {
  const { held, prefix, how, boundaries } = need;
  if (held && boundaries.at(held.end).prefixHash === boundaries.at(prefix.end).prefixHash)
    return shown({ text: held.text, ref: held.ref, status: 'completed', usage: NO_USAGE });
  const making = new Making(need, ports);
  if (how === 'once') return making.once();
  const status = how === 'find' ? 'pending' : 'degraded';
  if (!ports.conversation) return making.degraded(undefined, status);
  try {
    return await (how === 'find' ? making.find(ports.conversation) : making.make(ports.conversation));
  } catch (error) {
    ports.failed('a summary could not be asked for', error);
    // Without the chain nobody would know of a summary that is made now, and each request would pay
    // for it again.
    return withWarning(await making.degraded(undefined, 'degraded'), 'store_failed');
  }
}

/**
 * Has a summary made in the background that a later request will need, unless it is there or being
 * made. The object answers at once.
 *
 * @throws when it does not
 */
export async function prepareSummary(need: SummaryNeed, ports: SummaryPorts): Promise<void> {
  if (ports.conversation) await new Making(need, ports).prepare(ports.conversation);
}

function shown(summary: ServedSummary | undefined, ...warnings: Warning[]): Served {
  return { summary, warnings };
}

function withWarning({ summary, warnings }: Served, warning: Warning): Served {
  return { summary, warnings: [...warnings, warning] };
}

/** The making of one summary. */
class Making {
  private readonly need: SummaryNeed;
  private readonly ports: SummaryPorts;
  private readonly material: Material;

  constructor(need: SummaryNeed, ports: SummaryPorts) {
    this.need = need;
    this.ports = ports;
    this.material = new Material(prefixRange(need), ports);
  }

  /** Only looks. */
  async find(conversation: StoredConversation): Promise<Served> {
    const request = { strategyHash: this.strategyHash, boundaries: [this.boundary] };
    const { memory } = await ask(conversation, (stub) => stub.find(request));
    return memory ? this.ready(memory) : this.degraded(undefined, 'pending');
  }

  /** Made for nobody else, and stored nowhere. */
  async once(): Promise<Served> {
    const { target, counter } = this.ports;
    const goesOn = async () => Date.now() < this.need.late;
    const progress = { retrying: goesOn, renew: goesOn, advance: goesOn };
    const work = writeSummary(this.material.task(), undefined, target, counter, progress);
    const written = await soon(this.need.late - Date.now(), work);
    if (!written) return this.degraded(undefined, 'pending');
    if (!written.ok) return this.degraded(undefined, 'degraded', written.reason.usage);
    const { text, usage } = written.value;
    return shown({ text, ref: undefined, status: 'completed', usage });
  }

  async prepare(conversation: StoredConversation): Promise<void> {
    const request = this.claimRequest(conversation.label);
    const { strategyHash, bases, boundary } = request;
    const { prepared } = this.ports;
    const key = [conversation.name, strategyHash, boundary.prefixHash].join(' ');
    // Every request until the next move asks for the same.
    if (Date.now() - (prepared.get(key) ?? 0) < PREPARED_MS) return;
    prepared.set(key, Date.now());
    const boundaries = [...bases, boundary];
    const { memory, health } = await ask(conversation, (stub) => stub.find({ strategyHash, boundaries }));
    // A summarizer that has failed lately is left to requests that need it now.
    if (memory?.prefix_hash === boundary.prefixHash || health === 'degraded') return;
    // A digest is never built upon.
    const base = memory?.model === DIGEST_MODEL ? null : memory;
    const task = this.material.task(base);
    const material = await this.materialFor(conversation, task, base);
    await ask(conversation, (stub) => stub.roll({ ...request, from: task.from }, material));
  }

  async make(conversation: StoredConversation): Promise<Served> {
    const { late } = this.need;
    const request = this.claimRequest(conversation.label);
    let mine: number | undefined;
    let usage = NO_USAGE;
    for (;;) {
      const claim = await ask(conversation, (stub) => stub.claim(request));
      if (claim.state === 'ready') return withUsage(await this.ready(claim.memory), usage);
      if (claim.state === 'resting')
        return withUsage(await this.digestInstead(conversation, request, claim.base, 'degraded'), usage);
      if (claim.state === 'claimed' && mine !== undefined) {
        // What was handed over is gone: the conversation was deleted, and is not to be made anew by
        // this request.
        await ask(conversation, (stub) => stub.abandon(claim.memoryId, claim.lease));
        return withUsage(await this.degraded(undefined, 'pending'), usage);
      }
      if (claim.state === 'claimed') {
        const served = await this.write(conversation, request, claim, late);
        if (served) return served;
        mine = claim.memoryId;
      }
      // Only material that begins behind a base can lose it, and this begins at the beginning.
      if (claim.state === 'gone') throw new Error('a base was asked for that is not needed');
      // Another writes, or the object does.
      const left = late - Date.now();
      if (left <= 0) return this.digestInstead(conversation, request, claim.base, 'pending');
      const settled = callObject(conversation.memory, (stub) => stub.settled(claim.memoryId, left));
      const spent = await within(left + CALL_MS, settled);
      // What another request has had made is on its account.
      if (spent && claim.memoryId === mine) usage = spent;
    }
  }

  /** The digest in the place of a summary that there is not, for this request alone. */
  async degraded(
    base: Memory | null | undefined,
    status: 'degraded' | 'pending',
    usage = NO_USAGE,
  ): Promise<Served> {
    const text = this.material.digest(base);
    if (text === '') return shown(undefined, WARNING_OF[status]);
    const transcript = this.need.how === 'make' ? await this.material.keepTranscript(base) : NO_TRANSCRIPT;
    return this.withRef({ text, ref: transcript.ref ?? undefined, status, usage }, WARNING_OF[status]);
  }

  private async ready(memory: Memory, status: ServedSummary['status'] = statusOf(memory)): Promise<Served> {
    const summary: ServedSummary = {
      text: memory.memory_text ?? '',
      ref: await this.refOf(memory),
      status,
      memoryId: memory.memory_id,
      baseMemoryId: memory.base_memory_id,
      usage: NO_USAGE,
    };
    return status === 'completed' ? this.withRef(summary) : this.withRef(summary, WARNING_OF[status]);
  }

  /** The ref of a version's transcript; undefined when it can't be fetched. */
  private async refOf(memory: Memory): Promise<string | undefined> {
    const { place } = this.material;
    if (!place) return undefined;
    if (this.need.how === 'make') return fetchableRef(memory, place);
    return memory.ref !== null && (await isThere(memory.ref, place.refs)) ? memory.ref : undefined;
  }

  /**
   * The digest where the summarizer rests or is late. It is kept: a text that was used is used
   * until the frontier moves.
   */
  private async digestInstead(
    conversation: StoredConversation,
    request: ClaimRequest,
    base: Memory | null,
    status: 'degraded' | 'pending',
  ): Promise<Served> {
    const text = this.material.digest(base);
    if (text === '') return shown(undefined, WARNING_OF[status]);
    const transcript = await this.material.keepTranscript(base);
    const written = { text, tokens: this.ports.counter.text(text), ms: 0, ...transcript };
    const memory = await ask(conversation, (stub) =>
      stub.keepDigest(request, base?.memory_id ?? null, written),
    );
    return this.ready(memory, memory.model === DIGEST_MODEL ? status : 'completed');
  }

  /** Undefined when it is not for this request to write, or not in time. */
  private async write(
    conversation: StoredConversation,
    request: ClaimRequest,
    claim: Claimed,
    late: number,
  ): Promise<Served | undefined> {
    const { target, counter, waitUntil } = this.ports;
    const task = this.material.task(claim.base);
    const chunks = partsOf(task, knownOf(claim.base), target, counter);
    if (chunks && chunks.length > 1) {
      // It may take longer than a Worker lives behind its answer.
      await this.handOver(conversation, request, claim, task);
      return undefined;
    }
    const work = this.finish(conversation, claim, task, chunks);
    waitUntil(work.catch((error: unknown) => this.ports.failed('a summary could not be finished', error)));
    return soon(late - Date.now(), work);
  }

  private async handOver(
    conversation: StoredConversation,
    request: ClaimRequest,
    claim: Claimed,
    task: SummaryTask,
  ): Promise<void> {
    const material = await this.materialFor(conversation, task, claim.base);
    await ask(conversation, (stub) => stub.takeOver(claim, request, material));
  }

  /** What the object needs to write by itself. */
  private async materialFor(
    { publishTo }: StoredConversation,
    task: SummaryTask,
    base: Memory | null,
  ): Promise<RollMaterial> {
    const { target, encoding } = this.ports;
    const transcript = await this.material.keepTranscript(base);
    // Nobody waits for what is written there, so it may be tried again for longer.
    const { withinMs: _, ...retries } = task.retries;
    return { task: { ...task, retries }, target, encoding, transcript, ...(publishTo ? { publishTo } : {}) };
  }

  private async finish(
    conversation: StoredConversation,
    claim: Claimed,
    task: SummaryTask,
    chunks: TranscriptChunk[] | undefined,
  ): Promise<Served> {
    const { target, counter, waitUntil, openUser } = this.ports;
    const { memoryId, lease, base } = claim;
    const start = Date.now();
    const progress = {
      retrying: (error: string) => ask(conversation, (stub) => stub.retrying(memoryId, lease, error)),
      renew: () => ask(conversation, (stub) => stub.renew(memoryId, lease)),
      advance: async () => false,
    };
    const [written, transcript] = await Promise.all([
      writeSummary(task, knownOf(base), target, counter, progress, chunks),
      this.material.keepTranscript(base),
    ]);
    const ms = Date.now() - start;
    if (!written.ok) {
      const text = this.material.digest(base);
      const digest = text === '' ? {} : { digest: { text, tokens: counter.text(text), ms, ...transcript } };
      const failure = { error: written.reason.error, ...digest };
      const memory = await ask(conversation, (stub) => stub.fail(memoryId, lease, failure));
      const served = memory ? await this.ready(memory) : await this.degraded(base, 'degraded');
      return withUsage(served, written.reason.usage);
    }
    const { text, tokens, usage } = written.value;
    const made = { text, tokens, model: target.model, ms, ...transcript };
    const memory = await ask(conversation, (stub) => stub.complete(memoryId, lease, made));
    // Another's text is another's to publish, and a conversation that was deleted meanwhile has
    // none.
    if (memory && (memory.memory_id === memoryId || memory.model === DIGEST_MODEL) && conversation.publishTo)
      waitUntil(
        publish(openUser, conversation.publishTo, text).catch((error: unknown) =>
          this.ports.failed('a summary could not be published', error),
        ),
      );
    // The lease is lost: another has taken over, or the conversation was deleted, and is not to be
    // made anew by this request.
    return withUsage(memory ? await this.ready(memory) : await this.find(conversation), usage);
  }

  private withRef(summary: ServedSummary, ...warnings: Warning[]): Served {
    const keeps = this.need.how === 'make' && this.ports.refs !== undefined;
    return shown(
      summary,
      ...warnings,
      ...(keeps && summary.ref === undefined ? ['store_failed' as const] : []),
    );
  }

  private claimRequest(label: string): ClaimRequest {
    const { boundaries, moves, prefix, strategy } = this.need;
    return {
      conversation: label,
      strategyHash: this.strategyHash,
      boundary: this.boundary,
      bases: strategy.incremental ? boundaries.basesBefore(prefix.end, moves) : [],
      startSequence: 0,
      windowSize: null,
      leaseMs: this.ports.target.timeoutMs + RETRIES.longestPauseMs + LEASE_MARGIN_MS,
      retryIntervalMs: REST_MS,
      exclusive: 'boundary',
      from: 0,
    };
  }

  private get boundary(): ClaimRequest['boundary'] {
    return this.need.boundaries.at(this.need.prefix.end);
  }

  private get strategyHash(): string {
    return strategyHash(this.need.strategy, this.ports.target.model, heldBase(this.need)?.text);
  }
}

const WARNING_OF = { degraded: 'summary_degraded', pending: 'summary_pending' } as const;

function statusOf({ model }: Memory): 'completed' | 'degraded' {
  return model === DIGEST_MODEL ? 'degraded' : 'completed';
}

/** Asks the object, which answers at once or not at all. @throws when it does not */
function ask<Result>(
  { memory }: StoredConversation,
  call: (stub: ReturnType<StoredConversation['memory']>) => Promise<Result>,
): Promise<Result> {
  return within(CALL_MS, callObject(memory, call));
}

function withUsage({ summary, warnings }: Served, usage: ServedSummary['usage']): Served {
  return { summary: summary && { ...summary, usage }, warnings };
}
