/** The Worker's entry point: the app, the scheduled handler and the Durable Object classes. */
import { createApp } from './app.ts';
import type { Env } from './config.ts';
import { warnOfRetirements } from './request/retiring-models.ts';
import type { Embedder } from './storage/archive/embedder.ts';
import type { Claimed } from './storage/conversation/memories.ts';
import { ConversationMemoryObject } from './storage/conversation/object.ts';
import { userMemory } from './storage/objects.ts';
import { collectUnused } from './storage/tenant/sweep.ts';
import { type KnownWindows, writeInBackground } from './summary/background.ts';
import type { RollMaterial } from './summary/conversation.ts';
import { embeddingsOf } from './upstream/embeddings.ts';

export { MetricsObject as Metrics } from './storage/metrics/object.ts';
export { TenantMemoryObject as TenantMemory } from './storage/tenant/object.ts';
export { UserMemoryObject as UserMemory } from './storage/tenant/user-memory.ts';

export class ConversationMemory extends ConversationMemoryObject<RollMaterial> {
  private readonly windows: KnownWindows = new Map();

  protected override write(material: RollMaterial, claim: Claimed): Promise<void> {
    const openUser = (name: string) => userMemory(this.env, name, this.log);
    return writeInBackground(this, openUser, material, claim, this.log, this.windows);
  }

  protected override embedder(): Embedder | undefined {
    return embeddingsOf(this.env);
  }
}

export default {
  fetch: createApp().fetch,
  scheduled: async ({ scheduledTime }, env) => {
    await Promise.all([collectUnused(env, scheduledTime), warnOfRetirements(env, scheduledTime)]);
  },
} satisfies ExportedHandler<Env>;
