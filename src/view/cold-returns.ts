/**
 * Which requests of an array came when the upstream's cache was cold (docs/design.md#cold-returns).
 *
 * They matter only where a move waits for its costs. There the isolate asks the conversation's
 * object, unless it has sent the request before within the cache's lifetime: then nothing can have
 * been noted since.
 */
import { elementAt } from '../lib/elements.ts';
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { History } from '../memory/conversation/history.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { SHORTEST_LIFETIME_MS, statedLifetimeOf } from '../memory/models/prompt-caches.ts';
import type { EditingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { Warning } from '../memory/plan/report.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { isAccepted } from '../request/known-key.ts';
import { cacheLifetimeOf } from '../request/prompt-cache.ts';
import type { WaitingRequest } from '../storage/conversation/cold-returns.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { SentBefore } from '../upstream/sent-requests.ts';
import type { ViewCall } from './made-view.ts';
import { coldBefore, sentOnSameTerms } from './sent-before.ts';

/** Undefined where no move is made for a cold return. */
export function coldReturns(strategy: EditingStrategy, call: ViewCall): ColdReturns | undefined {
  if (strategy.mode !== 'auto' || !strategy.cold_moves) return undefined;
  if (statedLifetimeOf(call.request.model) === undefined || call.owner.off.length > 0) return undefined;
  const conversation = conversationOfCall(call);
  return conversation && new ColdReturns(conversation, call);
}

export class ColdReturns {
  /** See `PlanRequest`. */
  lengths: readonly number[];
  readonly warnings: Warning[] = [];
  private readonly conversation: StoredConversation;
  private readonly call: ViewCall;
  /** The request before, if nothing can have been noted since. */
  private readonly before: SentBefore | undefined;
  private isAsked = false;
  /** Of requests up to this one, what was known once holds where nothing can be read. */
  private believed: SentBefore | undefined;

  constructor(conversation: StoredConversation, call: ViewCall) {
    this.conversation = conversation;
    this.call = call;
    const before = sentOnSameTerms(call);
    const isRecent = before?.sent.cold !== undefined && this.isWithinLifetime(Date.now() - before.at);
    this.before = isRecent ? before : undefined;
    this.lengths = this.before?.sent.cold ?? [];
  }

  /** What is known for later requests. Undefined if it could not be read. */
  get known(): readonly number[] | undefined {
    return this.warnings.length > 0 ? undefined : this.lengths;
  }

  /** Finds those that a plan depends on. Returns whether it has to be made anew. Never throws. */
  async find({ history, replay: { waited } }: Plan): Promise<boolean> {
    if (this.isAsked || waited.every((length) => this.isKnown(length, history))) return false;
    this.isAsked = true;
    try {
      const found = await this.call.scope.timings.measure('store', () => this.ask(history, waited));
      const isSame = found.join() === this.lengths.join();
      this.lengths = found;
      return !isSame;
    } catch (error) {
      logCaught(this.call.scope.services.log, 'warn', 'cold returns could not be read', error);
      this.warnings.push('store_failed');
      this.believed = coldBefore(this.call);
      this.lengths = this.believed?.sent.cold ?? [];
      return this.lengths.length > 0;
    }
  }

  /** Whether a view before this one may have had a move that could not be read. */
  isUnread({ history, replay: { waited } }: Plan): boolean {
    if (this.warnings.length === 0) return false;
    const { messages: known = 0 } = this.believed ?? {};
    return waited.some((length) => length > known && length < history.messages.length);
  }

  /** Whether the isolate knows of a request whether it is a cold return. */
  private isKnown(length: number, { messages }: History): boolean {
    const { before } = this;
    if (!before) return false;
    return length <= before.messages || (before.isNext && length === messages.length);
  }

  /** @throws StoreError */
  private async ask(history: History, waited: readonly number[]): Promise<readonly number[]> {
    const { messages, requestPoints } = history;
    const hashes = prefixHashes(messages, sha256Hex);
    const end = messages.length;
    const point = waited.includes(end) ? elementAt(hashes, end) : undefined;
    const points = new Set(await this.pointsWith(point));
    const lengths = requestPoints.map((one) => one.messages);
    return lengths.filter((length) => points.has(elementAt(hashes, length)));
  }

  /**
   * The points of cold returns. A request that is one is noted if it is sent, under a key that the
   * upstream accepts.
   *
   * @param point of this request, if its move waits
   */
  private async pointsWith(point: string | undefined): Promise<readonly string[]> {
    const { request, options, scope } = this.call;
    const { tenant } = this.conversation;
    const lifetimeMs = point === undefined ? undefined : cacheLifetimeOf(request);
    if (point === undefined || lifetimeMs === undefined) return this.look(null);
    const since = scope.timings.startedAt;
    const look = (isSent: boolean) => this.look({ point, lifetimeMs, since, isSent });
    if (options.dryRun || options.viewOnly || options.bare) return look(false);
    if (isAccepted(tenant, scope.services)) return look(true);
    // The upstream is asked about the key only if there is something to note.
    const points = await look(false);
    if (!points.includes(point)) return points;
    return (await scope.mayStore(tenant)) ? look(true) : points.filter((one) => one !== point);
  }

  private look(waiting: WaitingRequest | null): Promise<readonly string[]> {
    const looking = this.conversation.memory((stub) => stub.coldReturns.find(waiting));
    return within(TIME_LIMITS.coldReturnsMs, looking);
  }

  private isWithinLifetime(ms: number): boolean {
    return ms <= SHORTEST_LIFETIME_MS || ms <= (cacheLifetimeOf(this.call.request) ?? 0);
  }
}
