/**
 * Precis's rounds that are kept of the answers in an array (docs/design.md#kept-rounds). What the
 * isolate has seen of them it does not ask for again.
 */
import { elementAt } from '../lib/elements.ts';
import { InvariantError } from '../lib/invariant-error.ts';
import type { Seen } from '../lib/isolate-memory.ts';
import { AT_ONCE, fewAtOnce } from '../lib/slots.ts';
import { StoreError } from '../lib/store-error.ts';
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { answersIn, type KeyedAnswer } from '../memory/conversation/answer-keys.ts';
import type { History } from '../memory/conversation/history.ts';
import { edits } from '../memory/modes/strategy.ts';
import type { ActingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { KeptRounds } from '../memory/replay/kept-rounds.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { RequestScope } from '../request/scope.ts';
import { areGone, type StoredRounds } from '../storage/conversation/kept-rounds.ts';
import type { SeenRounds } from '../storage/conversation/remembered.ts';
import { roundsIn } from '../storage/conversation/sealed-objects.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { ViewCall } from './made-view.ts';
import type { OfferedTools } from './offer-tools.ts';

/** The newest answers of an array that are looked for. */
const MOST_ANSWERS = 4_000;

/** Whether rounds of a request are kept, and shown in later ones. */
export function keepsRounds(
  strategy: ActingStrategy,
  tools: OfferedTools | undefined,
): tools is OfferedTools {
  return edits(strategy) && strategy.keep_rounds && tools !== undefined;
}

/** The key under which an isolate remembers that its answer to messages had no rounds. */
export function askedKey(asked: string): string {
  return `asked ${asked}`;
}

/** The rounds for the view of a request; undefined where none can be kept of it. Never throws. */
export async function findRounds(
  strategy: ActingStrategy,
  tools: OfferedTools | undefined,
  call: ViewCall,
): Promise<FoundRounds | undefined> {
  const { history, options } = call;
  const isShown = keepsRounds(strategy, tools) && options.bare !== true;
  const conversation = isShown ? conversationOfCall(call) : undefined;
  if (!conversation) return undefined;
  const found = new FoundRounds(conversation, call);
  await found.find(history);
  return found;
}

export class FoundRounds {
  /** In the array's order; `absent` if the conversation's object does not answer. */
  kept: readonly KeptRounds[] | 'absent' = [];
  private readonly conversation: StoredConversation;
  private readonly scope: RequestScope;
  /** Whether no view is sent. */
  private readonly isDry: boolean;
  private readonly seen = new Map<string, Seen<SeenRounds>>();

  constructor(conversation: StoredConversation, { scope, options }: ViewCall) {
    this.conversation = conversation;
    this.scope = scope;
    this.isDry = options.dryRun;
  }

  /** Finds the rounds of the answers in an array. */
  async find(history: History): Promise<void> {
    const answers = answersIn(history, sha256Hex).slice(-MOST_ANSWERS);
    const keptRounds = this.conversation.remembered.of('keptRounds');
    const keys = answers.map(({ key }) => key);
    try {
      const isRewritten = this.rewritesAnswers.get('') === true;
      const known = answers.map((answer) => this.knownOf(answer, isRewritten));
      const unknown = keys.filter((_, index) => !known[index]);
      const look = () => this.scope.timings.measure('store', () => this.look(unknown));
      const found = unknown.length > 0 ? await look() : [];
      for (const [index, { key, asked }] of answers.entries()) {
        const seen = known[index] ?? found[unknown.indexOf(key)];
        if (seen?.value) this.seen.set(key, { value: seen.value, at: seen.at });
        else if (!known[index] && keptRounds.get(askedKey(asked))) this.rewritesAnswers.set('', true);
      }
      this.rely(
        keys,
        known.flatMap((seen) => seen?.at ?? []),
      );
    } catch (error) {
      this.failed(error);
      this.kept = 'absent';
      return;
    }
    const now = Date.now();
    this.kept = answers.flatMap(({ message, key }) => {
      const seen = this.seen.get(key)?.value;
      if (!seen) return [];
      const { rounds, tokens, bytes } = seen.stored;
      const lost = areGone(seen.stored, now) ? (seen.isReported ? 'reported' : 'gone') : undefined;
      return [{ key, message, rounds, tokens, bytes, ...(lost ? { lost } : {}) }];
    });
  }

  /**
   * What the isolate remembers of an answer. A client may write its answers anew: cut white space
   * or a tag out, or give calls other ids. Where it is known to, another answer to an array is
   * taken for this isolate's, which had no rounds, until storage is asked after the answer.
   */
  private knownOf({ key, asked }: KeyedAnswer, isRewritten: boolean): Seen<SeenRounds | null> | undefined {
    const keptRounds = this.conversation.remembered.of('keptRounds');
    const seen = keptRounds.get(key);
    return seen ?? (isRewritten ? keptRounds.get(askedKey(asked)) : undefined);
  }

  /**
   * The messages of rounds, by their key. Undefined if some can't be read: `kept` has changed then,
   * and the view has to be planned anew.
   */
  async read(shown: readonly KeptRounds[]): Promise<ReadonlyMap<string, string> | undefined> {
    if (shown.length === 0) return new Map();
    try {
      const reading = fewAtOnce(AT_ONCE, shown, ({ key }) => this.messages(key));
      const texts = await within(TIME_LIMITS.keptRoundsMs, reading);
      return new Map(shown.map(({ key }, index) => [key, elementAt(texts, index)]));
    } catch (error) {
      this.failed(error);
      const { kept } = this;
      if (kept !== 'absent') this.kept = kept.map((rounds) => ({ lost: 'unread', ...rounds }));
      return undefined;
    }
  }

  /** Remembers that a view is reported to be without rounds that are kept no more. */
  noteReported({ lost }: Pick<Plan, 'lost'>): void {
    const keptRounds = this.conversation.remembered.of('keptRounds');
    for (const { key } of this.isDry ? [] : lost) {
      const known = keptRounds.last(key);
      if (known?.value) keptRounds.keep(key, { ...known.value, isReported: true }, known.at);
    }
  }

  /** @throws StoreError if they are not there */
  private async messages(key: string): Promise<string> {
    const { remembered, tenant, name } = this.conversation;
    const seen = this.seen.get(key);
    if (!seen) throw new InvariantError('rounds of a plan were not found');
    // The objects say nothing of the row.
    const { at, value } = seen;
    const { stored, json } = value;
    if (json !== undefined) return json;
    const objects = roundsIn(this.scope.services.bucket, tenant, name);
    const parts = await Promise.all(stored.names.map((part) => objects.get(part)));
    const texts = parts.filter((part) => part instanceof Uint8Array);
    if (texts.length < parts.length) {
      // What is lost never comes back.
      const lost = { stored: { ...stored, names: [] }, json: undefined, isReported: true };
      remembered.of('keptRounds').keep(key, lost, at);
      throw new StoreError(parts.find((part) => part instanceof Error) ?? new Error('kept rounds are lost'));
    }
    const read = texts.map((text) => new TextDecoder().decode(text)).join(',');
    this.seen.set(key, { value: { stored, json: read }, at });
    remembered.of('keptRounds').keep(key, { stored, json: read }, at);
    return read;
  }

  private async look(keys: readonly string[]): Promise<Seen<SeenRounds | null>[]> {
    const { memory, remembered } = this.conversation;
    const at = Date.now();
    const found = await within(
      TIME_LIMITS.keptRoundsMs,
      memory((stub) => stub.keptRounds.find(keys)),
    );
    return keys.map((key, index) => {
      const stored = found[index] ?? null;
      const before = remembered.of('keptRounds').last(key);
      const known = before?.value ?? this.seen.get(key)?.value;
      const value = stored && seenAgain(stored, known);
      remembered.of('keptRounds').keep(key, value, at);
      return { value, at };
    });
  }

  /** Has what the isolate has remembered confirmed after the answer. */
  private rely(keys: readonly string[], times: readonly number[]): void {
    if (times.length === 0) return;
    const oldest = times.reduce((one, other) => Math.min(one, other));
    const confirm = async () => void (await this.look(keys));
    this.scope.upkeep.of(this.conversation.name).rely('kept rounds', oldest, confirm);
  }

  private get rewritesAnswers() {
    return this.scope.services.memory.of('rewritesAnswers').of(this.conversation.name);
  }

  private failed(error: unknown): void {
    logCaught(this.scope.services.log, 'warn', 'kept rounds could not be read', error);
  }
}

/** What storage has, with what is known of it. What is lost or was driven out never comes back. */
function seenAgain(stored: StoredRounds, known: SeenRounds | undefined): SeenRounds {
  const names = known?.stored.names;
  const isGone = names?.length === 0 || stored.names.length === 0;
  if (!known || !(isGone || names?.join() === stored.names.join())) return { stored, json: undefined };
  return isGone ? { ...known, stored: { ...stored, names: [] }, json: undefined } : { ...known, stored };
}
