/** Tells a tenant's object which refs a conversation refers to. */
import { callObject, type TenantMemoryStub } from './conversation-key.ts';
import type { KnownRefs } from './writer.ts';

/** How long an isolate trusts that what it has told is known: within that time a use is told again. In milliseconds. */
export const TELLING_MS = 60 * 60_000;

/** The uses of one conversation. */
export class RefUses {
  private readonly conversation: string;
  private readonly open: () => TenantMemoryStub;
  private readonly told: KnownRefs;

  /**
   * @param conversation see `conversationName`
   * @param told what this isolate has told, by conversation
   */
  constructor(conversation: string, open: () => TenantMemoryStub, told: KnownRefs) {
    this.conversation = conversation;
    this.open = open;
    this.told = told;
  }

  /**
   * @param refs that the conversation refers to
   * @param written those that are being written: they are told in any case
   * @throws when the object fails
   */
  async note(refs: readonly string[], written: ReadonlySet<string>): Promise<void> {
    const { conversation, told } = this;
    const telling = [...new Set(refs)].filter((ref) => written.has(ref) || !told.has(conversation, ref));
    if (telling.length === 0) return;
    await callObject(this.open, (stub) => stub.note(conversation, telling));
    for (const ref of telling) told.add(conversation, ref);
  }
}
