/** Stores the contents that a plan removes. */

import { Latest } from '../lib/latest.ts';
import { after } from '../lib/time-limit.ts';
import type { Message } from '../memory/conversation/message.ts';
import type { Removal } from '../memory/edits/removal.ts';
import { contentOf } from '../memory/edits/removed-content.ts';
import type { Plan } from '../memory/plan/plan.ts';
import { isOvertaken } from '../request/conversation.ts';
import { refWriterOf } from '../request/ref-writer.ts';
import type { RequestScope } from '../request/scope.ts';
import type { StoredContent } from '../storage/refs/store.ts';
import type { RefWriter } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { ViewCall } from './made-view.ts';

/** The contents of a plan, by segment. */
const contentsOfPlans = new Latest<Plan, readonly (readonly StoredContent[])[]>();

/**
 * Of the names in metadata, in characters: R2 takes 8 KiB of it. Some gateways put signatures into
 * the ids of calls, which have any length.
 */
const LONGEST_NAME = 256;

export class PlanStorage {
  private readonly plan: Plan;
  private readonly tenant: Tenant;
  private readonly scope: RequestScope;
  private readonly writer: RefWriter;
  private readonly conversation: string | undefined;
  private readonly call: ViewCall;

  constructor(plan: Plan, tenant: Tenant, call: ViewCall) {
    const { scope, owner } = call;
    this.plan = plan;
    this.call = call;
    this.tenant = tenant;
    this.scope = scope;
    this.writer = refWriterOf(tenant, call);
    this.conversation = (owner.conversation ?? scope.session)?.slice(0, LONGEST_NAME);
  }

  isWritten(ref: string): boolean {
    return this.writer.isKnown(ref);
  }

  /** Writes the contents that the view will name, within a time limit. */
  async write(): Promise<void> {
    const { plan } = this;
    const segments = contentsOfPlans.of(plan, [this.conversation], () =>
      plan.segments.map((segment) => this.contentsOf(segment)),
    );
    if (!segments.some((segment) => segment.length > 0) || this.writer.reliesOn(segments)) return;
    await this.scope.timings.measure('store', async () => {
      const limit = after(TIME_LIMITS.refWriteMs);
      const unproven = this.lacksSome(segments);
      const mayStore =
        !unproven || (await Promise.race([this.scope.mayStore(this.tenant), limit.over.then(() => false)]));
      // What was deleted meanwhile stays in the view in full.
      if (mayStore && !isOvertaken(this.call)) await this.writer.ensure(segments, limit.over);
      limit.clear();
    });
    if (this.lacksSome(segments))
      this.scope.services.log('warn', 'some contents are not known to be stored', { code: 'store_failed' });
  }

  async prepareNext(): Promise<void> {
    await this.writer.prepare(this.contentsOf(this.plan.ahead?.().upcoming ?? []));
  }

  private contentsOf(removals: readonly Removal[]): StoredContent[] {
    return contentsOf(removals, this.plan.history.messages, this.conversation);
  }

  private lacksSome(segments: readonly (readonly StoredContent[])[]): boolean {
    return segments.some((segment) => segment.some(({ ref }) => !this.writer.isKnown(ref)));
  }
}

function contentsOf(
  removals: readonly Removal[],
  messages: readonly Message[],
  conversation: string | undefined,
): StoredContent[] {
  return removals.flatMap((removal) => {
    const { ref } = removal;
    if (ref === undefined) return [];
    const content = () => contentOf(removal, messages);
    return [
      {
        ref,
        text: () => content().text,
        metadata: () => ({
          tool_name: removal.tool.slice(0, LONGEST_NAME),
          tool_call_id: removal.callId.slice(0, LONGEST_NAME),
          content_type: content().type,
          tokens: removal.tokens,
          bytes: removal.bytes,
          created: Math.floor(Date.now() / 1000),
          ...(conversation === undefined ? {} : { conversation }),
        }),
      },
    ];
  });
}
