/** The Worker's entry point: the app, the scheduled handler and the Durable Object classes. */
import { createApp } from './app.ts';
import { type Env, readConfig } from './config.ts';
import { logCaught } from './log.ts';
import { warnOfRetirements } from './request/retiring-models.ts';
import { notifyWeek } from './routes/admin/overview.ts';
import type { Embedder } from './storage/archive/embedder.ts';
import type { Memory, WrittenText } from './storage/conversation/memories.ts';
import { ConversationMemoryObject } from './storage/conversation/object.ts';
import type { TextProgress } from './storage/conversation/texts.ts';
import { tenantMemory, userMemory } from './storage/objects.ts';
import { Budget, type Payer, UnreportedCalls } from './storage/tenant/budget.ts';
import { collectUnused } from './storage/tenant/sweep.ts';
import { backgroundGuard, type KnownWindows, writeText } from './summary/background.ts';
import { publish, type TextMaterial } from './summary/conversation.ts';
import { type CallGuard, NO_LIMITS } from './upstream/call-guard.ts';
import { embeddingsOf } from './upstream/embeddings.ts';

export { MetricsObject as Metrics } from './storage/metrics/object.ts';
export { TenantMemoryObject as TenantMemory } from './storage/tenant/object.ts';
export { UserMemoryObject as UserMemory } from './storage/tenant/user-memory.ts';

export class ConversationMemory extends ConversationMemoryObject<TextMaterial> {
  private readonly windows: KnownWindows = new Map();
  private readonly unreported = new UnreportedCalls();

  protected override write(
    { payer, ...material }: TextMaterial,
    base: Memory | null,
    progress: TextProgress,
  ): Promise<WrittenText> {
    const guard = this.guardOf(payer);
    return writeText(material, base, progress, { guard, windows: this.windows, log: this.log });
  }

  protected override async publish(material: TextMaterial, text: string): Promise<void> {
    const { publishTo } = material.of === 'version' ? material : {};
    if (!publishTo) return;
    const openUser = (name: string) => userMemory(this.env, name, this.log);
    await publish(openUser, publishTo, text).catch((error: unknown) =>
      logCaught(this.log, 'warn', 'a summary could not be published', error),
    );
  }

  /** The limits before each call for a caller. */
  private guardOf(payer: Payer | undefined): CallGuard {
    if (!payer) return NO_LIMITS;
    const { env, log, ctx, unreported } = this;
    const { allowsUnknown } = readConfig(env);
    const waitUntil = (work: Promise<unknown>) => ctx.waitUntil(work);
    const ask = tenantMemory(env, payer.tenant, log);
    return backgroundGuard(new Budget(payer, { ask, allowsUnknown, unreported, waitUntil, log }));
  }

  protected override embedder(): Embedder | undefined {
    return embeddingsOf(this.env);
  }
}

export default {
  fetch: createApp().fetch,
  scheduled: async ({ scheduledTime }, env) => {
    // Each run has 50 calls on the free plan, and the week takes nearly all of one.
    if (await notifyWeek(env, scheduledTime)) return;
    await Promise.all([collectUnused(env, scheduledTime), warnOfRetirements(env, scheduledTime)]);
  },
} satisfies ExportedHandler<Env>;
