/** Tells a tenant's object which refs a conversation refers to. */
import { callObject, type TenantMemoryStub, tenantIn } from './conversation-key.ts';
import type { KnownRefs } from './writer.ts';

/** What is to be told waits so long: the answer goes first, and what one request has to tell is one call. In milliseconds. */
const GATHERING_MS = 25;

/** The uses of one conversation, in one request. */
export class RefUses {
  private readonly conversation: string;
  private readonly tenant: string;
  private readonly open: () => TenantMemoryStub;
  private readonly told: KnownRefs;
  private readonly gathered = new Set<string>();
  private telling: Promise<void> | undefined;

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
   * Resolves when they are told.
   *
   * @param refs that the conversation refers to
   * @param written those that are being written: they are told in any case
   * @throws when the object fails
   */
  async note(refs: readonly string[], written: ReadonlySet<string>): Promise<void> {
    for (const ref of refs)
      if (written.has(ref) || !this.told.has(this.tenant, this.use(ref))) this.gathered.add(ref);
    if (this.gathered.size === 0) return;
    this.telling ??= new Promise((resolve) => setTimeout(resolve, GATHERING_MS)).then(() => this.tell());
    await this.telling;
  }

  private async tell(): Promise<void> {
    const { conversation } = this;
    const refs = [...this.gathered];
    this.gathered.clear();
    this.telling = undefined;
    await callObject(this.open, (stub) => stub.note(conversation, refs));
    for (const ref of refs) this.told.add(this.tenant, this.use(ref));
  }

  private use(ref: string): string {
    return `${this.conversation} ${ref}`;
  }
}
