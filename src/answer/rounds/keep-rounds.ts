/**
 * Keeps the rounds of an answer, so that later views show them (docs/design.md#kept-rounds). Their
 * messages are written while the upstream works on the next call. Their row follows when the answer
 * is complete, before its last event. A row that is late is given up for good: a view then never
 * has these rounds.
 */
import { pause, soon, within } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { answerKey } from '../../memory/conversation/answer-keys.ts';
import { prefixHashes } from '../../memory/conversation/prefix-hash.ts';
import { tokenMeasure } from '../../memory/modes/strategy.ts';
import { MOST_BYTES, MOST_ROUNDS } from '../../memory/replay/kept-rounds.ts';
import type { SaidAnswer } from '../../protocol/answers/answer-format.ts';
import type { WireMessage } from '../../protocol/model-request.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall, namedByAnswer } from '../../request/conversation.ts';
import { actingOn } from '../../request/native-compaction.ts';
import type { EndedAnswer, RoundsKeeper } from '../../retrieval/rounds.ts';
import type { NewRounds } from '../../storage/conversation/kept-rounds.ts';
import { roundsIn } from '../../storage/conversation/sealed-objects.ts';
import type { SealedBucket } from '../../storage/sealed-bucket.ts';
import type { StoredConversation } from '../../summary/conversation.ts';
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { askedKey, keepsRounds } from '../../view/kept-rounds.ts';
import type { OfferedTools } from '../../view/offer-tools.ts';

/** What keeps the rounds of a request; undefined where none are kept. */
export function keeperOf(call: Call, tools: OfferedTools, api: MessageReader): KeptAnswer | undefined {
  const { tenant } = call.scope.caller;
  return tenant && keepsRoundsOf(call, tools) ? new KeptAnswer(call, tenant, api) : undefined;
}

/** Whether the rounds of a request are kept for a caller with a tenant. */
export function keepsRoundsOf(call: Call, tools: OfferedTools | undefined): boolean {
  return keepsRounds(actingOn(call), tools);
}

interface WrittenRound {
  readonly json: string;
  /** Undefined before the conversation has a name. */
  readonly name: string | undefined;
  readonly writing: Promise<void>;
}

class KeptAnswer implements RoundsKeeper {
  private readonly call: Call;
  private readonly tenant: Tenant;
  private readonly api: MessageReader;
  private readonly rounds: WrittenRound[] = [];
  /** Undefined before a conversation without a name has its first answer. */
  private conversation: StoredConversation | undefined;
  private isTooLarge = false;

  constructor(call: Call, tenant: Tenant, api: MessageReader) {
    this.call = call;
    this.tenant = tenant;
    this.api = api;
    this.conversation = conversationOfCall(call);
  }

  add(json: string): void {
    if (this.isTooLarge) return;
    const bytes = this.rounds.reduce((sum, one) => sum + one.json.length, json.length);
    this.isTooLarge = bytes > MOST_BYTES || this.rounds.length >= MOST_ROUNDS;
    if (!this.isTooLarge) this.rounds.push(this.written(json));
  }

  keep({ said, isSettled }: EndedAnswer): Promise<void> | undefined {
    const { rounds, isTooLarge } = this;
    if (rounds.length === 0 && !isTooLarge) {
      // The answer goes first.
      if (said) this.call.scope.waitUntil(pause(0).then(() => this.noteNone(said)));
      return undefined;
    }
    const keeping = said && isSettled && !isTooLarge ? this.store(said) : this.drop();
    this.call.scope.waitUntil(keeping);
    return soon(TIME_LIMITS.keepRoundsMs, keeping).then(() => undefined);
  }

  /** Begins to write a round, if it is known where. */
  private written(json: string): WrittenRound {
    const { conversation } = this;
    if (!conversation) return { json, name: undefined, writing: Promise.resolve() };
    const name = crypto.randomUUID();
    const writing = this.write(this.objectsOf(conversation), name, json);
    // It is awaited later, and may fail before.
    writing.catch(() => undefined);
    return { json, name, writing };
  }

  private async write(objects: SealedBucket, name: string, json: string): Promise<void> {
    const { scope } = this.call;
    if (!(await scope.mayStore(this.tenant))) throw new Error('the key is not known to be accepted');
    await objects.put(name, new Uint8Array(new TextEncoder().encode(json)), scope.services.log);
  }

  /** Never rejects. */
  private async store(said: SaidAnswer): Promise<void> {
    const { log } = this.call.scope.services;
    const until = Date.now() + TIME_LIMITS.keepRoundsMs;
    const answer = readMessages(this.api, said.json);
    this.conversation ??= this.named(said, answer);
    const { conversation } = this;
    const key = answerKey(this.asked, answer, sha256Hex);
    if (!conversation || key === undefined) return this.drop();
    const rounds = this.rounds.map((round) => (round.name === undefined ? this.written(round.json) : round));
    this.rounds.splice(0, Number.POSITIVE_INFINITY, ...rounds);
    const json = rounds.map((round) => round.json).join(',');
    try {
      const [tokens] = await within(
        TIME_LIMITS.keepRoundsMs,
        Promise.all([this.tokensOf(json), ...rounds.map(({ writing }) => writing)]),
      );
      const bytes = Buffer.byteLength(json);
      const names = rounds.flatMap(({ name }) => name ?? []);
      const since = this.call.scope.timings.startedAt;
      await this.keepRow(
        { key, names, rounds: rounds.length, tokens, bytes, since, until },
        json,
        conversation,
      );
    } catch (error) {
      logCaught(log, 'warn', 'rounds could not be kept', error);
      // No row names them yet.
      conversation.remembered.of('keptRounds').keep(key, null, Date.now());
      await this.drop();
    }
  }

  /** The object may have kept a row whose answer is lost: then the next request asks for it. */
  private async keepRow(row: NewRounds, json: string, conversation: StoredConversation): Promise<void> {
    const { scope } = this.call;
    const at = Date.now();
    try {
      const { kept, gone } = await within(
        Math.max(0, row.until - at),
        conversation.memory((stub) => stub.keptRounds.add(row)),
      );
      const isOurs = kept?.names.join() === row.names.join();
      const seen = kept && { stored: kept, json: isOurs ? json : undefined };
      conversation.remembered.of('keptRounds').keep(row.key, seen, at);
      if (gone.length > 0) scope.waitUntil(this.delete(gone, conversation));
    } catch (error) {
      logCaught(scope.services.log, 'warn', 'rounds could not be kept', error);
    }
  }

  /**
   * Remembers that an answer had no rounds, so that the next request need not ask. It says nothing
   * of other answers to the same array, since another isolate may have kept rounds of a retry,
   * unless the client is known to rewrite answers (`FoundRounds`).
   */
  private noteNone(said: SaidAnswer): void {
    const answer = readMessages(this.api, said.json);
    const conversation = this.conversation ?? this.named(said, answer);
    if (!conversation) return;
    const { asked } = this;
    const key = answerKey(asked, answer, sha256Hex);
    const names = [askedKey(asked), ...(key === undefined ? [] : [key])];
    for (const name of names) conversation.remembered.of('keptRounds').keep(name, null, Date.now());
  }

  /** The hash of the messages that are asked. */
  private get asked(): string {
    return prefixHashes(this.call.request.messages, sha256Hex).at(-1) ?? '';
  }

  /** The conversation that gets its name with this answer. */
  private named(said: SaidAnswer, answer: readonly WireMessage[]): StoredConversation | undefined {
    return said.isVerbatim ? namedByAnswer(this.call, this.tenant, answer) : undefined;
  }

  private async tokensOf(json: string): Promise<number> {
    const { request, chosen, scope } = this.call;
    const measure = tokenMeasure(chosen.strategy, request.model, scope.services.config.tokenFactors);
    const { counter } = await scope.caches.counting(measure);
    return readMessages(this.api, json).reduce((sum, message) => sum + counter.message(message), 0);
  }

  /** Deletes what was written. Never rejects. */
  private async drop(): Promise<void> {
    const { conversation, rounds, call } = this;
    const names = rounds.flatMap(({ name }) => name ?? []);
    if (!conversation || names.length === 0) return;
    const written = Promise.allSettled(rounds.map(({ writing }) => writing));
    const settled = soon(TIME_LIMITS.dropRoundsMs, written);
    call.scope.waitUntil(settled.then(() => this.delete(names, conversation)));
  }

  private async delete(names: readonly string[], conversation: StoredConversation): Promise<void> {
    try {
      await within(TIME_LIMITS.dropRoundsMs, this.objectsOf(conversation).delete(names));
    } catch (error) {
      logCaught(this.call.scope.services.log, 'warn', 'rounds could not be deleted', error);
    }
  }

  private objectsOf({ tenant, name }: StoredConversation): SealedBucket {
    return roundsIn(this.call.scope.services.bucket, tenant, name);
  }
}
