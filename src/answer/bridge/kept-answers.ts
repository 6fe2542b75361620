/**
 * Keeps the outputs of answers that came over a bridge, so that later requests send them instead of
 * the messages that the caller was shown (docs/bridges.md#what-is-kept). A row is written before
 * the last event of its answer: by then the caller may send it back. What can't be kept or read is
 * sent in the plain form.
 */
import type { JsonObject } from '../../lib/json.ts';
import { parseObject } from '../../lib/json.ts';
import { soon, within } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { answerKey, answersIn } from '../../memory/conversation/answer-keys.ts';
import { type History, readHistory } from '../../memory/conversation/history.ts';
import { prefixHashes } from '../../memory/conversation/prefix-hash.ts';
import { baseName } from '../../memory/models/families.ts';
import type { AnswerReader, KeptOutput } from '../../protocol/bridges/bridge.ts';
import { callsIn } from '../../protocol/bridges/chat-fields.ts';
import {
  type AnswerOutputs,
  calledName,
  messageOf,
  type ShownOutput,
  shownOutput,
} from '../../protocol/bridges/kept-outputs.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall, hashSession, storedConversation } from '../../request/conversation.ts';
import { LONGEST_KEPT } from '../../storage/conversation/kept-answers.ts';
import type { StoredConversation } from '../../summary/conversation.ts';
import { openBytes, sealBytes } from '../../tenant/envelope.ts';
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';

/** The newest answers of an array that are looked for: as many as are kept. */
const MOST_ANSWERS = 512;

/** Whose answers they are. */
interface Answered {
  readonly call: Call;
  readonly tenant: Tenant;
  readonly reader: MessageReader;
  /** What their encrypted reasoning is bound to: the upstream and its account. */
  readonly account: string;
}

interface FoundAnswer extends AnswerOutputs {
  readonly key: string;
}

export class KeptAnswers {
  private readonly answered: Answered;
  /** Undefined before a conversation without a name has its first answer. */
  private conversation: StoredConversation | undefined;
  private finding: Promise<readonly FoundAnswer[]> | undefined;
  /** Of the rounds of this call, with the texts that the caller has seen of them. */
  readonly rounds: ShownOutput[] = [];
  private roundsText = '';

  constructor(answered: Answered) {
    this.answered = answered;
    this.conversation = conversationOfCall(answered.call);
  }

  /**
   * The outputs of earlier answers. Never rejects.
   *
   * @param from the answers before this message are bound to what has changed since
   */
  async outputs(history: History | undefined, from: number): Promise<readonly AnswerOutputs[]> {
    this.finding ??= this.find(history).catch((error: unknown) => {
      this.failed('kept answers could not be read', error);
      return [];
    });
    return (await this.finding).filter(({ message }) => message >= from);
  }

  /**
   * Keeps the output of an answer. Never rejects.
   *
   * @param ours names of Precis's tools
   * @returns when it is kept, or too late for that
   */
  async keep(kept: KeptOutput, reader: AnswerReader, ours: ReadonlySet<string>): Promise<void> {
    const message = messageOf(kept, reader);
    const output = shownOutput(kept, message, sha256Hex);
    const isOurs = callsIn(message).map((call) => ours.has(calledName(call)));
    const { content } = message;
    const text = typeof content === 'string' ? content : '';
    if (isOurs.length > 0 && isOurs.every(Boolean)) {
      this.rounds.push(output);
      if (!this.answered.call.request.asksForm) this.roundsText += text;
      return;
    }
    // The caller is not shown all calls of such an answer, and can't answer them.
    if (isOurs.some(Boolean)) return;
    const shown = { ...message, content: this.roundsText + text };
    const storing = this.store([...this.rounds, output], shown).catch((error: unknown) =>
      this.failed('an answer could not be kept', error),
    );
    this.answered.call.scope.waitUntil(storing);
    await soon(TIME_LIMITS.keepRoundsMs, storing);
  }

  /** Forgets the answers of the array, since the upstream refuses them. Never rejects. */
  async forget(): Promise<void> {
    const { conversation } = this;
    const found = (await this.finding) ?? [];
    const keys = found.map(({ key }) => key);
    this.finding = Promise.resolve([]);
    if (!conversation || keys.length === 0) return;
    const { keptAnswers } = conversation.remembered;
    for (const key of keys) keptAnswers.keep(key, null, Date.now());
    const forgetting = conversation.memory((stub) => stub.keptAnswers.forget(keys));
    await within(TIME_LIMITS.keptRoundsMs, forgetting).catch((error: unknown) =>
      this.failed('refused answers could not be forgotten', error),
    );
  }

  private async find(history: History | undefined): Promise<readonly FoundAnswer[]> {
    const { conversation } = this;
    if (!conversation) return [];
    const { scope, request } = this.answered.call;
    const answers = answersIn(history ?? readHistory(request.messages), sha256Hex).slice(-MOST_ANSWERS);
    const keyed = answers.map(({ key, ...answer }) => ({ ...answer, key: this.rowKey(key) }));
    const { keptAnswers } = conversation.remembered;
    const known = new Map(keyed.map(({ key }) => [key, keptAnswers.get(key)]));
    const unknown = [...known].filter(([, seen]) => !seen).map(([key]) => key);
    const read = unknown.length > 0 ? await this.read(unknown, conversation) : new Map<string, string>();
    const oldest = [...known.values()].reduce((least, seen) => Math.min(least, seen?.at ?? least), Infinity);
    if (oldest < Infinity)
      scope.upkeep.of(conversation.name).rely('kept answers', oldest, async () => {
        await this.read(
          keyed.map(({ key }) => key),
          conversation,
        );
      });
    return keyed.flatMap((answer) => {
      const json = known.get(answer.key)?.value ?? read.get(answer.key);
      const outputs = json === undefined ? undefined : parseObject(json)?.outputs;
      return outputs ? [{ ...answer, outputs: outputs as ShownOutput[] }] : [];
    });
  }

  /** What the conversation's object has, opened. */
  private async read(
    keys: readonly string[],
    { memory, remembered, tenant, name }: StoredConversation,
  ): Promise<ReadonlyMap<string, string>> {
    const at = Date.now();
    const asked = memory((stub) => stub.keptAnswers.find(keys));
    const find = () => within(TIME_LIMITS.keptRoundsMs, asked);
    const rows = await this.answered.call.scope.timings.measure('store', find);
    const found = new Map<string, string>();
    for (const [index, key] of keys.entries()) {
      const sealed = rows[index];
      const opened = sealed && (await openBytes(tenant, 'answer', `${name} ${key}`, sealed));
      const json = opened ? new TextDecoder().decode(opened) : null;
      if (json !== null) found.set(key, json);
      remembered.keptAnswers.keep(key, json, at);
    }
    return found;
  }

  private async store(outputs: readonly ShownOutput[], shown: JsonObject): Promise<void> {
    const { call, tenant, reader } = this.answered;
    const { request, owner, scope } = call;
    const answer = readMessages(reader, JSON.stringify(shown));
    const asked = prefixHashes(request.messages, sha256Hex).at(-1) ?? '';
    const named = answerKey(asked, answer, sha256Hex);
    const session = this.conversation ? undefined : hashSession([...request.messages, ...answer]);
    this.conversation ??= session && storedConversation(owner.user, session, tenant, scope.services);
    const { conversation } = this;
    if (!conversation || named === undefined) return;
    const json = JSON.stringify({ outputs });
    const plain = new Uint8Array(new TextEncoder().encode(json));
    if (plain.length > LONGEST_KEPT || !(await scope.mayStore(tenant))) return;
    const key = this.rowKey(named);
    const envelope = await sealBytes(tenant, 'answer', `${conversation.name} ${key}`, plain);
    const at = Date.now();
    const row = { key, sealed: envelope.buffer, since: scope.timings.startedAt };
    await within(
      TIME_LIMITS.keepRoundsMs,
      conversation.memory((stub) => stub.keptAnswers.add(row)),
    );
    conversation.remembered.keptAnswers.keep(key, json, at);
  }

  /** Encrypted reasoning belongs to one account and one family of models. */
  private rowKey(key: string): string {
    const { call, account } = this.answered;
    return sha256Hex(`${key} ${account} ${baseName(call.request.model ?? '')}`);
  }

  private failed(message: string, error: unknown): void {
    logCaught(this.answered.call.scope.services.log, 'warn', message, error);
  }
}
