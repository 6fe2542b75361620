/** The summaries that a conversation's object writes by itself, while it lives. */
import { type Log, logCaught } from '../../log.ts';
import type { Claimed, ClaimRequest, Failure } from './memories.ts';

/** Of how many strategies orders may wait. Each holds its material in memory. */
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
  /** Resolves when no version is in the making. */
  free(): Promise<void>;
  /** Claims a summary, and starts it or has it wait again. */
  order(request: ClaimRequest, material: Material): Promise<unknown>;
  readonly log: Log;
  waitUntil(work: Promise<void>): void;
}

export class BackgroundWrites<Material> {
  private readonly ports: BackgroundPorts<Material>;
  private readonly taken = new Set<string>();
  /** Until they are published. */
  private readonly running = new Set<Promise<void>>();
  /** The newest order that waits, by strategy. */
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
   * Has an order wait until no version is in the making. A later order of the strategy replaces it,
   * since it covers more.
   */
  defer(material: Material, request: ClaimRequest): void {
    const { strategyHash } = request;
    const waits = this.waiting.has(strategyHash);
    if (!waits && this.waiting.size >= MOST_WAITING) {
      this.ports.log('warn', 'a summary was not ordered: too many wait', { code: 'orders_full' });
      return;
    }
    this.waiting.set(strategyHash, { material, request });
    if (!waits) this.run(this.orderLater(strategyHash));
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

  private async orderLater(strategyHash: string): Promise<void> {
    const { free, order, log } = this.ports;
    try {
      await free();
      const next = this.waiting.get(strategyHash);
      this.waiting.delete(strategyHash);
      if (next) await order(next.request, next.material);
    } catch (error) {
      logCaught(log, 'error', 'a summary that waited could not be ordered', error);
    }
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
