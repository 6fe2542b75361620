/** The summaries that a conversation's object writes by itself, while it lives. */
import { type Log, logCaught } from '../../log.ts';
import type { Claimed, ClaimRequest, Failure } from './memories.ts';

interface BackgroundPorts<Material> {
  /** Makes a claimed summary, and ends its claim. */
  write(material: Material, claim: Claimed, request: ClaimRequest): Promise<void>;
  fail(memoryId: number, lease: string, failure: Failure): void;
  readonly log: Log;
  waitUntil(work: Promise<void>): void;
}

export class BackgroundWrites<Material> {
  private readonly ports: BackgroundPorts<Material>;
  private readonly taken = new Set<string>();
  /** Until they are published. */
  private readonly running = new Set<Promise<void>>();

  constructor(ports: BackgroundPorts<Material>) {
    this.ports = ports;
  }

  get isIdle(): boolean {
    return this.running.size === 0;
  }

  /** Starts a summary. */
  start(material: Material, claim: Claimed, request: ClaimRequest): void {
    const work = this.writeOrFail(material, claim, request).finally(() => this.running.delete(work));
    this.running.add(work);
    this.ports.waitUntil(work);
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
