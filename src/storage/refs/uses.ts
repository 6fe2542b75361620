/** Reports to a tenant's object which refs a conversation refers to. */
import type { Beliefs } from '../../lib/isolate-memory.ts';
import type { ObjectCaller, TenantMemoryStub } from '../objects.ts';

/** The uses of one conversation in one request. */
export class RefUses {
  private readonly conversation: string;
  private readonly call: ObjectCaller<TenantMemoryStub>;
  private readonly reported: Beliefs<true>;
  /** Pending reports, by ref. */
  private readonly reporting = new Map<string, Promise<unknown>>();

  /**
   * @param conversation see `conversationName`
   * @param reported the uses that this isolate has reported, by conversation
   */
  constructor(conversation: string, call: ObjectCaller<TenantMemoryStub>, reported: Beliefs<true>) {
    this.conversation = conversation;
    this.call = call;
    this.reported = reported;
  }

  /**
   * Resolves when the tenant's object has noted the refs.
   *
   * @param refs that the conversation refers to
   * @param written refs that are being written; these are always reported
   * @returns see `TenantRows.note`
   * @throws if the object fails
   */
  async note(refs: readonly string[], written: ReadonlySet<string>): Promise<readonly string[]> {
    const unreported = [...new Set(refs)].filter(
      (ref) => written.has(ref) || !this.reported.get(this.conversation, ref),
    );
    const reporting = this.report(unreported.filter((ref) => !this.reporting.has(ref)));
    const [shared] = await Promise.all([reporting, ...unreported.map((ref) => this.reporting.get(ref))]);
    return shared;
  }

  /** When the use reported first was reported, in milliseconds; undefined if one is not known. */
  reportedAt(refs: readonly string[]): number | undefined {
    let first: number | undefined;
    for (const ref of refs) {
      const at = this.reported.get(this.conversation, ref)?.at;
      if (at === undefined) return undefined;
      first = Math.min(at, first ?? at);
    }
    return first;
  }

  /** Reports refs, even if they have been reported. @throws if the object fails */
  async report(refs: readonly string[]): Promise<readonly string[]> {
    if (refs.length === 0) return [];
    const reporting = this.call((stub) => stub.note(this.conversation, refs));
    for (const ref of refs) this.reporting.set(ref, reporting);
    try {
      const shared = await reporting;
      for (const ref of refs) this.reported.set(this.conversation, ref, true);
      return shared;
    } finally {
      for (const ref of refs) this.reporting.delete(ref);
    }
  }
}
