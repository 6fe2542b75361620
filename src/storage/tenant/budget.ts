/**
 * What a caller with limits spends, as the isolate that makes its calls reports it to the tenant's
 * object (docs/operating.md#budgets-and-limits): a call is reserved before it is sent, and settled
 * when it has ended.
 */
import { pause, within } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import type { CallerLimits } from '../../memory/money/caller-limits.ts';
import { NO_SPEND } from '../../memory/money/spending.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { ObjectCaller, TenantMemoryStub } from '../objects.ts';
import type { WaitUntil } from '../refs/writer.ts';
import type { EndedCall, Refused, Reserved } from './spending.ts';

/** Whose limits a call counts against. Plain data, so that it can cross to other isolates. */
export interface Payer {
  /** The tenant's id. */
  readonly tenant: string;
  readonly limits: CallerLimits;
}

/** In calls, of all tenants. */
const MOST_UNREPORTED = 10_000;

/**
 * Ends of calls that were sent unreserved, since the tenant's object did not answer, and that could
 * still not be reported to it. One per isolate.
 */
export class UnreportedCalls {
  private readonly byTenant = new Map<string, EndedCall[]>();
  private count = 0;

  /** @returns whether there was room for it */
  keep(tenant: string, call: EndedCall): boolean {
    if (this.count >= MOST_UNREPORTED) return false;
    this.count++;
    this.byTenant.set(tenant, [...(this.byTenant.get(tenant) ?? []), call]);
    return true;
  }

  take(tenant: string): readonly EndedCall[] {
    const calls = this.byTenant.get(tenant) ?? [];
    this.byTenant.delete(tenant);
    this.count -= calls.length;
    return calls;
  }
}

interface BudgetPorts {
  /** The tenant's object. */
  readonly ask: ObjectCaller<TenantMemoryStub>;
  /** Whether calls are sent although their limits can't be looked up. */
  readonly allowsUnknown: boolean;
  readonly unreported: UnreportedCalls;
  readonly waitUntil: WaitUntil;
  readonly log: Log;
}

export class Budget {
  private readonly payer: Payer;
  private readonly ports: BudgetPorts;
  /** Calls that were sent without a reservation. */
  private readonly unreserved = new Set<string>();

  constructor(payer: Payer, ports: BudgetPorts) {
    this.payer = payer;
    this.ports = ports;
  }

  get limits(): CallerLimits {
    return this.payer.limits;
  }

  /**
   * @returns `unknown` if the object does not answer and the deployment goes on
   * @throws if it does not answer and the deployment does not go on
   */
  async reserve(call: EndedCall): Promise<Reserved | 'unknown'> {
    const { limits } = this;
    try {
      const reserved = await this.ask((stub) => stub.reserve({ ...call, limits }));
      this.reportPending();
      return reserved;
    } catch (error) {
      if (this.goesOn(error)) {
        this.unreserved.add(call.id);
        return 'unknown';
      }
      // It may have been reserved all the same.
      this.ports.waitUntil(this.settle({ ...call, ...NO_SPEND, isFurther: true }));
      throw error;
    }
  }

  /** Whether a request would be refused. @throws like `reserve` */
  async check(): Promise<Refused | 'unknown' | null> {
    try {
      return await this.ask((stub) => stub.check(this.limits));
    } catch (error) {
      if (this.goesOn(error)) return 'unknown';
      throw error;
    }
  }

  /** Never rejects: what is lost of a reserved call counts as estimated after a while. */
  async settle(call: EndedCall): Promise<void> {
    const wasReserved = !this.unreserved.delete(call.id);
    try {
      await this.report(call);
      this.reportPending();
    } catch (error) {
      const { log } = this.ports;
      const then = wasReserved ? 'it counts as estimated' : 'it is reported again';
      logCaught(log, 'error', `what a call has spent could not be counted: ${then}`, error);
      if (!wasReserved) await this.reportAgain(call);
    }
  }

  private async reportAgain(call: EndedCall): Promise<void> {
    await pause(TIME_LIMITS.reportSpentPauseMs);
    try {
      await this.report(call);
    } catch (error) {
      const { unreported, log } = this.ports;
      const then = unreported.keep(this.payer.tenant, call) ? 'the next call reports it' : 'it is lost';
      logCaught(log, 'error', `what a call has spent could not be counted: ${then}`, error);
    }
  }

  /** Reports what could not be reported before, now that the object answers. */
  private reportPending(): void {
    const { unreported, waitUntil } = this.ports;
    const { tenant } = this.payer;
    const calls = unreported.take(tenant);
    if (calls.length === 0) return;
    const reportAll = async (): Promise<void> => {
      for (const [at, call] of calls.entries())
        try {
          await this.report(call);
        } catch {
          for (const left of calls.slice(at)) unreported.keep(tenant, left);
          return;
        }
    };
    waitUntil(reportAll());
  }

  private report(call: EndedCall): Promise<void> {
    return this.ask((stub) => stub.settle(call));
  }

  private ask<Result>(call: (stub: TenantMemoryStub) => Promise<Result>): Promise<Result> {
    return within(TIME_LIMITS.limitsMs, this.ports.ask(call));
  }

  private goesOn(error: unknown): boolean {
    const { log, allowsUnknown } = this.ports;
    const then = allowsUnknown ? 'the call is sent' : 'the call is refused';
    logCaught(log, 'error', `the limits of a caller could not be looked up: ${then}`, error);
    return allowsUnknown;
  }
}
