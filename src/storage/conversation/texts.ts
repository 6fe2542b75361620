/**
 * The versions of summaries that a conversation's object makes. The chain decides in one step
 * whether a version is ready, in the making, or to be made; this class makes it, and answers those
 * who wait.
 *
 * What a summary is made of holds the caller's key. It comes with the request that wants the
 * version, and stays in memory.
 */
import { lruOf } from '../../lib/lru.ts';
import { pause, soon } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { MemoryChain } from './chain.ts';
import { type Dropped, heldBytes, type Making } from './making.ts';
import {
  type Chunk,
  type Claim,
  type Claimed,
  DIGEST_MODEL,
  type Memory,
  type TextAnswer,
  type TextRequest,
  type WrittenText,
} from './memories.ts';

/** Costs are asked for within seconds. */
const REMEMBERED_COSTS = { bytes: 32 * 1024, sizeOf: () => 64 };

/** What a writer reports, and asks, while it makes a text. */
export interface TextProgress {
  /** Whether the text is still wanted. */
  goesOn(): boolean;
  /** When it must have ended, in milliseconds since the epoch. */
  readonly late: number;
  /** Called before each further attempt. @param error the code of the one before */
  retrying(error: string): void;
  /** Keeps a part of a long prefix as a version of its own. */
  advance(chunk: Chunk): void;
}

/** The end of a version in the making. */
export interface EndedText extends Pick<WrittenText, 'window'> {
  readonly state: 'ended';
  /** Null if it could not be made. */
  readonly memory: Memory | null;
}

/** What the chain has decided, and the end of the version in the making. */
interface Claiming {
  readonly claim: Claim;
  readonly ended: Promise<EndedText | Dropped> | undefined;
}

interface Order<Material> {
  readonly request: TextRequest;
  readonly material: Material;
  /** Of the material. */
  readonly bytes: number;
}

interface TextPorts<Material> {
  readonly chain: MemoryChain;
  readonly making: Making<number, EndedText>;
  /**
   * Runs work that may write, once the conversation is known to its tenant.
   *
   * @param since when the request came that it is for
   * @param late the result if that was before a deletion
   * @throws StoreError
   */
  writing<Result>(since: number, late: Result, work: () => Result): Promise<Result>;
  write(material: Material, base: Memory | null, progress: TextProgress): Promise<WrittenText>;
  publish(material: Material, text: string): Promise<void>;
  /** Milliseconds since the epoch. */
  now(): number;
  readonly log: Log;
}

export class Texts<Material> {
  private readonly ports: TextPorts<Material>;
  /** The order that waits, by lineage and strategy. */
  private readonly waiting = new Map<string, Order<Material>>();
  /** What versions have cost, by the order that they were made for. */
  private spent = lruOf<TokenUsage>(REMEMBERED_COSTS);

  constructor(ports: TextPorts<Material>) {
    this.ports = ports;
  }

  /** See `ConversationApi.text`. */
  async get(request: TextRequest, material: Material | null, waitMs: number): Promise<TextAnswer> {
    const order = material === null ? undefined : { request, material, bytes: heldBytes(material) };
    const { claim, ended } = await (order ? this.order(order, this.hasRoom(order)) : this.claim(request));
    const usage = () => this.spent.get(request.order) ?? null;
    if (claim.state === 'ready' || claim.state === 'resting') return { ...claim, usage: usage() };
    if (order && claim.state === 'wanted') {
      this.refuse();
      return { state: 'pending', base: claim.base };
    }
    if (claim.state !== 'claimed' && claim.state !== 'busy') return claim;
    if (claim.state === 'busy' && !this.ports.chain.endsAt(claim.memoryId, request.boundary)) {
      if (order) this.defer(order);
      return { state: 'pending', base: claim.base };
    }
    const end = waitMs > 0 && ended ? await soon(waitMs, ended) : undefined;
    if (end?.state === 'dropped') return { state: 'gone' };
    // Parts of a long prefix may have come meanwhile.
    const base = this.ports.chain.baseOf(request);
    if (!end) return { state: 'pending', base };
    const { memory, window } = end;
    if (!memory) return { state: 'resting', base, usage: usage() };
    return { state: 'ready', memory, usage: usage(), window };
  }

  /** Drops all that is in the making, and the orders that wait. */
  drop(): void {
    this.spent = lruOf(REMEMBERED_COSTS);
    this.waiting.clear();
    this.ports.making.drop();
  }

  /** Whether the material of an order may be held. */
  private hasRoom({ bytes }: Order<Material>): boolean {
    const waiting = [...this.waiting.values()].reduce((sum, order) => sum + order.bytes, 0);
    return this.ports.making.hasRoom(bytes + waiting);
  }

  /** A later request may order it again. */
  private refuse(): void {
    const { log } = this.ports;
    log('warn', 'a summary was not ordered: too much is in the making', { code: 'orders_full' });
  }

  /** @param hasRoom whether its material may be held, unless it is already */
  private order(order: Order<Material>, hasRoom = true): Promise<Claiming> {
    const { request } = order;
    const late: Claiming = { claim: { state: 'gone' }, ended: undefined };
    return this.ports.writing(request.since, late, () => this.claim(request, order, hasRoom));
  }

  /** Claims a version for an order, and on success begins it in the same step. */
  private claim(request: TextRequest, order?: Order<Material>, hasRoom?: boolean): Claiming {
    const { chain, making } = this.ports;
    const claim = chain.claim(request, order !== undefined, hasRoom);
    if (order && claim.state === 'claimed') return { claim, ended: this.begin(claim, order) };
    return { claim, ended: claim.state === 'busy' ? making.get(claim.memoryId) : undefined };
  }

  private begin(claim: Claimed, { material, bytes }: Order<Material>): Promise<EndedText | Dropped> {
    const { chain, making, write, publish, log } = this.ports;
    return making.begin(claim.memoryId, bytes, async ({ isWanted, end }) => {
      const progress = {
        goesOn: isWanted,
        late: Number.POSITIVE_INFINITY,
        retrying: (error: string) => void (isWanted() && chain.retrying(claim, error)),
        advance: (chunk: Chunk) => void (isWanted() && chain.advance(claim, chunk)),
      };
      try {
        const { made, usage, window } = await write(material, claim.base, progress);
        chain.spend(usage.cost);
        this.spent.set(claim.request.order, usage);
        if (!isWanted()) return;
        const memory = made.ok ? chain.complete(claim, made.value) : chain.fail(claim, made.reason);
        end({ state: 'ended', memory, window });
        // What has come before it has its own writer, who publishes it.
        const isFirst = memory?.memory_id === claim.memoryId || memory?.model === DIGEST_MODEL;
        if (made.ok && isFirst) await publish(material, made.value.text);
      } catch (error) {
        logCaught(log, 'error', `Writing memory ${claim.memoryId} failed`, error);
        if (isWanted()) chain.fail(claim, { error: 'write_failed' });
      } finally {
        // Whoever waits for a version that was not made shows the digest.
        end({ state: 'ended', memory: null });
      }
    });
  }

  /**
   * Has an order wait until it is free to be made. Of the orders of one lineage and strategy, the
   * one that covers most is made, since it covers what the others do.
   */
  private defer(order: Order<Material>): void {
    const { request } = order;
    const key = `${request.strategyHash} ${this.ports.chain.lineageOf(request)}`;
    const waiting = this.waiting.get(key);
    if (waiting && waiting.request.boundary.end >= request.boundary.end) return;
    if (!this.hasRoom(order)) {
      this.refuse();
      return;
    }
    this.waiting.set(key, order);
    if (!waiting) this.ports.making.run(this.orderLater(key));
  }

  private async orderLater(key: string): Promise<void> {
    try {
      // A later order may replace it at any time.
      for (let next = this.waiting.get(key); next; next = this.waiting.get(key)) {
        const { claim, ended } = await this.order(next);
        if (claim.state === 'busy') await ended;
        else if (claim.state === 'resting' && (await this.rested(claim.retryAt))) continue;
        else if (this.waiting.get(key) === next) this.waiting.delete(key);
      }
    } catch (error) {
      this.waiting.delete(key);
      logCaught(this.ports.log, 'error', 'a summary that waited could not be ordered', error);
    }
  }

  /** Waits for the end of a rest. @returns false if that is too far away */
  private async rested(retryAt: number): Promise<boolean> {
    const restMs = retryAt - this.ports.now();
    if (restMs > TIME_LIMITS.longestAwaitedRestMs) return false;
    await pause(Math.max(0, restMs));
    return true;
  }
}
