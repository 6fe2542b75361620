/** Tells a tenant's object which refs a conversation refers to. */
import { callObject, type TenantMemoryStub, tenantIn } from '../conversation/key.ts';
import type { KnownRefs } from './known.ts';

/** The uses of one conversation, in one request. */
export class RefUses {
  private readonly conversation: string;
  private readonly tenant: string;
  private readonly open: () => TenantMemoryStub;
  private readonly told: KnownRefs;
  /** Reports under way, by ref. */
  private readonly telling = new Map<string, Promise<void>>();

  /**
   * @param conversation see `conversationName`
   * @param told the uses that this isolate has reported, by tenant
   */
  constructor(conversation: string, open: () => TenantMemoryStub, told: KnownRefs) {
    this.conversation = conversation;
    this.tenant = tenantIn(conversation);
    this.open = open;
    this.told = told;
  }

  /**
   * Resolves when the tenant's object has noted the refs.
   *
   * @param refs that the conversation refers to
   * @param written refs that are being written: they are always reported
   * @throws when the object fails
   */
  async note(refs: readonly string[], written: ReadonlySet<string>): Promise<void> {
    const untold = [...new Set(refs)].filter(
      (ref) => written.has(ref) || !this.told.has(this.tenant, this.use(ref)),
    );
    const telling = this.tell(untold.filter((ref) => !this.telling.has(ref)));
    await Promise.all([telling, ...untold.map((ref) => this.telling.get(ref))]);
  }

  private async tell(refs: readonly string[]): Promise<void> {
    if (refs.length === 0) return;
    const telling = callObject(this.open, (stub) => stub.note(this.conversation, refs));
    for (const ref of refs) this.telling.set(ref, telling);
    try {
      await telling;
      for (const ref of refs) this.told.add(this.tenant, this.use(ref));
    } finally {
      for (const ref of refs) this.telling.delete(ref);
    }
  }

  private use(ref: string): string {
    return `${this.conversation} ${ref}`;
  }
}
