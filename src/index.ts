/** The Worker's entry: the app, the scheduled handler, and the classes of its Durable Objects. */
import { createApp } from './app.ts';
import type { Env } from './config.ts';
import { userMemory } from './storage/conversation-key.ts';
import { ConversationMemoryObject } from './storage/conversation-memory.ts';
import type { Claimed } from './storage/memories.ts';
import { collectUnused } from './storage/sweep.ts';
import { writeInBackground } from './summary/background.ts';
import type { RollMaterial } from './summary/conversation.ts';

export { TenantMemoryObject as TenantMemory } from './storage/tenant-memory.ts';
export { UserMemoryObject as UserMemory } from './storage/user-memory.ts';

export class ConversationMemory extends ConversationMemoryObject<RollMaterial> {
  protected override write(material: RollMaterial, claim: Claimed): Promise<void> {
    return writeInBackground(this, (name) => userMemory(this.env, name), material, claim);
  }
}

export default {
  fetch: createApp().fetch,
  scheduled: ({ scheduledTime }, env) => collectUnused(env, scheduledTime),
} satisfies ExportedHandler<Env>;
