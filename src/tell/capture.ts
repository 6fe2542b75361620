/**
 * Keeps the view of a request whose caller and deployer both ask for it
 * (docs/inspector.md#capture). Nothing waits for it.
 */
import { pause, within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Warning } from '../memory/plan/report.ts';
import { capturedView } from '../protocol/captured-view.ts';
import type { Call } from '../request/call.ts';
import type { RequestScope } from '../request/scope.ts';
import { SealedObjects } from '../storage/conversation/sealed-objects.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { TIME_LIMITS } from '../time-limits.ts';

const OFF: Warning = 'capture_off';

/** Adds a warning to a call whose caller asks for a capture that is not made. */
export function withCaptureWarning<Asked extends Call>(call: Asked, hasEvent: boolean): Asked {
  const { chosen, scope } = call;
  if (!chosen.capture || (scope.services.config.captures && hasEvent)) return call;
  return { ...call, chosen: { ...chosen, warnings: [...chosen.warnings, OFF] } };
}

/** The capture of one request. */
export class Capture {
  private readonly key = crypto.randomUUID();
  private readonly captures: SealedObjects;
  private readonly scope: RequestScope;
  private body: Uint8Array | undefined;
  private writing: Promise<boolean> | undefined;

  constructor({ tenant, name }: StoredConversation, scope: RequestScope) {
    this.captures = new SealedObjects('capture', scope.services.bucket, tenant, name);
    this.scope = scope;
  }

  /** A body goes up. The last one before `start` is kept. */
  sends(body: Uint8Array): void {
    if (!this.writing) this.body = body;
  }

  /** Begins to write, since a stream can last for minutes, and the body need not live that long. */
  start(): void {
    const { body } = this;
    this.body = undefined;
    if (body) this.writing ??= this.write(body);
  }

  /** The name of the view, for its event; null if it could not be kept. Never throws. */
  async kept(): Promise<string | null> {
    return (await this.writing) ? this.key : null;
  }

  private async write(body: Uint8Array): Promise<boolean> {
    const { log } = this.scope.services;
    try {
      // The answer goes first.
      await pause(0);
      const view = capturedView(body);
      if (!view) return false;
      await within(TIME_LIMITS.captureMs, this.captures.put(this.key, view, log));
      return true;
    } catch (error) {
      this.lost(error);
      return false;
    }
  }

  private lost(error: unknown): void {
    const { services, waitUntil } = this.scope;
    logCaught(services.log, 'warn', 'a view could not be captured', error);
    services.metrics.count('precis_captures_lost_total', {});
    services.metrics.sendLater(waitUntil);
  }
}
