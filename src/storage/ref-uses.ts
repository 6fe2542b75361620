/** Tells a tenant's object which refs a conversation refers to. */
import { callObject, type TenantMemoryStub, tenantIn } from './conversation-key.ts';
import type { KnownRefs } from './writer.ts';

/** The uses of one conversation. */
export class RefUses {
  private readonly conversation: string;
  private readonly tenant: string;
  private readonly open: () => TenantMemoryStub;
  private readonly told: KnownRefs;

  /**
   * @param conversation see `conversationName`
   * @param told what this isolate has told, by tenant
   */
  constructor(conversation: string, open: () => TenantMemoryStub, told: KnownRefs) {
    this.conversation = conversation;
    this.tenant = tenantIn(conversation);
    this.open = open;
    this.told = told;
  }

  /**
   * @param refs that the conversation refers to
   * @param written those that are being written: they are told in any case
   * @throws when the object fails
   */
  async note(refs: readonly string[], written: ReadonlySet<string>): Promise<void> {
    const { conversation, tenant, told } = this;
    const use = (ref: string): string => `${conversation} ${ref}`;
    const telling = [...new Set(refs)].filter((ref) => written.has(ref) || !told.has(tenant, use(ref)));
    if (telling.length === 0) return;
    await callObject(this.open, (stub) => stub.note(conversation, telling));
    for (const ref of telling) told.add(tenant, use(ref));
  }
}
