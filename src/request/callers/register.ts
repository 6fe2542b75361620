/**
 * What an isolate knows of the register of callers: who is disabled or deleted, and the keys and
 * limits that the operator has set (docs/operating.md#callers). Only read where there is an
 * operator, with `ADMIN_TOKEN`.
 *
 * A busy isolate reads it while no request waits. A request that comes when nothing was read for
 * longer than that waits for it, so what an operator changes holds everywhere after `TRUSTED_MS`.
 */
import { type ConfiguredLimits, configuredLimits } from '../../caller-limits.ts';
import { StoreError } from '../../lib/store-error.ts';
import { within } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import type { CallerLimits, CallerState } from '../../memory/money/caller-limits.ts';
import type { WaitUntil } from '../../storage/refs/writer.ts';
import type { RegisteredCaller, RegisteredCallers } from '../../storage/tenant/callers.ts';
import { TIME_LIMITS } from '../../time-limits.ts';

/** From then on it is read again while nobody waits. In milliseconds. */
const FRESH_MS = 5_000;

/** So long it is relied on. In milliseconds. */
export const TRUSTED_MS = 20_000;

/** So long after a failure nobody waits for another one. In milliseconds. */
const REST_MS = 2_000;

interface CallersPorts {
  /** Whether there is an operator. */
  readonly isOn: boolean;
  readonly configured: ConfiguredLimits;
  /** See `CallerRows`. @throws StoreError */
  read(known: number | null): Promise<RegisteredCallers | null>;
  readonly log: Log;
  readonly now?: () => number;
}

/** The register as it was read. */
function knownOf({ version, callers }: RegisteredCallers) {
  return {
    version,
    byName: new Map(callers.map((caller) => [caller.name, caller])),
    byHash: new Map(callers.flatMap((one) => (one.keyHash === null ? [] : [[one.keyHash, one]]))),
    closed: new Map(
      callers.flatMap(({ tenant, state }) =>
        tenant === null || state === 'active' ? [] : [[tenant, state]],
      ),
    ),
  };
}

export class Callers {
  private readonly ports: CallersPorts;
  private readonly now: () => number;
  private known = knownOf({ version: 0, callers: [] });
  private readAt = Number.NEGATIVE_INFINITY;
  private begunAt = Number.NEGATIVE_INFINITY;
  private failure: { readonly at: number; readonly error: StoreError } | undefined;

  constructor(ports: CallersPorts) {
    this.ports = ports;
    this.now = ports.now ?? Date.now;
  }

  /**
   * Reads the register if that is due.
   *
   * @returns undefined if a request need not wait. What it waits for rejects with a StoreError
   */
  refresh(waitUntil: WaitUntil): Promise<void> | undefined {
    const age = this.now() - this.readAt;
    if (!this.ports.isOn || age < FRESH_MS) return undefined;
    if (age >= TRUSTED_MS) return this.read();
    // One at a time; what another request has begun may have been cut off with it.
    if (this.now() - this.begunAt >= TIME_LIMITS.registerMs) waitUntil(this.read().catch(() => undefined));
    return undefined;
  }

  /** This isolate has changed a caller. */
  changed(): void {
    this.readAt = Number.NEGATIVE_INFINITY;
  }

  named(name: string): RegisteredCaller | undefined {
    return this.known.byName.get(name);
  }

  /** The caller with an access key that was made here. @param hashes see `Tenants` */
  withKey(hashes: () => readonly string[]): RegisteredCaller | undefined {
    const { byHash } = this.known;
    if (byHash.size === 0) return undefined;
    return hashes()
      .map((hash) => byHash.get(hash))
      .find((caller) => caller !== undefined);
  }

  /**
   * As what a tenant without an access key is closed.
   *
   * @param ids under the secret and the one before it, only asked for if any tenant is closed
   */
  closedTenant(ids: () => readonly string[]): CallerState | undefined {
    const { closed } = this.known;
    if (closed.size === 0) return undefined;
    const states = ids().map((id) => closed.get(id));
    return states.includes('deleted') ? 'deleted' : states.find((state) => state !== undefined);
  }

  /** Those that the operator has set take precedence over the configuration's. */
  limitsOf(name: string): CallerLimits | undefined {
    return this.named(name)?.limits ?? this.configuredLimits(name);
  }

  configuredLimits(name: string): CallerLimits | undefined {
    return configuredLimits(this.ports.configured, name);
  }

  private async read(): Promise<void> {
    const begun = this.now();
    if (this.failure && begun - this.failure.at < REST_MS) throw this.failure.error;
    this.begunAt = begun;
    const { version } = this.known;
    const known = this.readAt === Number.NEGATIVE_INFINITY ? null : version;
    try {
      const read = await within(TIME_LIMITS.registerMs, this.ports.read(known));
      if (read) this.known = knownOf(read);
      this.readAt = begun;
      this.failure = undefined;
    } catch (error) {
      logCaught(this.ports.log, 'error', 'the register of callers could not be read', error);
      this.failure = { at: this.now(), error: error instanceof StoreError ? error : new StoreError(error) };
      throw error;
    }
  }
}
