/** The summaries that a conversation's object writes by itself, while it lives. */
import { pause } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Claim, Claimed, ClaimRequest, Failure } from './memories.ts';

/** How many orders may wait. Each holds its material in memory. */
const MOST_WAITING = 8;

/** A summary to be made. */
interface Order<Material> {
  readonly request: ClaimRequest;
  readonly material: Material;
}

interface BackgroundPorts<Material> {
  /** Makes a claimed summary, and ends its claim. */
  write(material: Material, claim: Claimed, request: ClaimRequest): Promise<void>;
  fail(memoryId: number, lease: string, failure: Failure): void;
  /** Resolves when no version is in the making that an order must wait for. */
  free(request: ClaimRequest): Promise<void>;
  /** Claims a summary, and on success starts it. */
  order(request: ClaimRequest, material: Material): Promise<Claim>;
  /** Milliseconds since the epoch. */
  now(): number;
  readonly log: Log;
  waitUntil(work: Promise<void>): void;
}

export class BackgroundWrites<Material> {
  private readonly ports: BackgroundPorts<Material>;
  private readonly taken = new Set<string>();
  /** Until they are published. */
  private readonly running = new Set<Promise<void>>();
  /** The order that waits, by lineage and strategy. */
  private readonly waiting = new Map<string, Order<Material>>();

  constructor(ports: BackgroundPorts<Material>) {
    this.ports = ports;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  /** Starts a summary. */
  start(material: Material, claim: Claimed, request: ClaimRequest): void {
    this.run(this.writeOrFail(material, claim, request));
  }

  /**
   * Has an order wait until it is free to be made. Of those of one lineage and strategy, the one
   * that covers most is made, since it covers what the others do.
   */
  defer(material: Material, request: ClaimRequest, lineage: string): void {
    const key = `${request.strategyHash} ${lineage}`;
    const waiting = this.waiting.get(key);
    if (waiting && waiting.request.boundary.end >= request.boundary.end) return;
    if (!waiting && this.waiting.size >= MOST_WAITING) {
      this.ports.log('warn', 'a summary was not ordered: too many wait', { code: 'orders_full' });
      return;
    }
    this.waiting.set(key, { material, request });
    if (!waiting) this.run(this.orderLater(key));
  }

  /** Drops the orders that wait. */
  forget(): void {
    this.waiting.clear();
  }

  /** Starts a summary, once for each lease: a call is repeated if its answer was lost. */
  takeOver(material: Material, claim: Claimed, request: ClaimRequest): void {
    if (this.taken.has(claim.lease)) return;
    this.taken.add(claim.lease);
    this.start(material, claim, request);
  }

  /** Resolves when one of them has ended. */
  next(): Promise<void> {
    return Promise.race(this.running);
  }

  private run(work: Promise<void>): void {
    const ended = work.finally(() => this.running.delete(ended));
    this.running.add(ended);
    this.ports.waitUntil(ended);
  }

  private async orderLater(key: string): Promise<void> {
    try {
      for (let order = this.waiting.get(key); order; order = this.waiting.get(key)) {
        await this.ports.free(order.request);
        // A later one may have come meanwhile.
        const next = this.waiting.get(key);
        if (!next) return;
        const claim = await this.ports.order(next.request, next.material);
        if (claim.state === 'busy') continue;
        if (claim.state === 'resting' && (await this.rested(claim.retryAt))) continue;
        if (this.waiting.get(key) === next) this.waiting.delete(key);
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

  /** A claim that is never ended would block others until its lease expires. */
  private async writeOrFail(material: Material, claim: Claimed, request: ClaimRequest): Promise<void> {
    const { write, fail, log } = this.ports;
    try {
      await write(material, claim, request);
      this.taken.delete(claim.lease);
    } catch (error) {
      logCaught(log, 'error', `Writing memory ${claim.memoryId} failed`, error);
      fail(claim.memoryId, claim.lease, { error: 'write_failed' });
    }
  }
}
