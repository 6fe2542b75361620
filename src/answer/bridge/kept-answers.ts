/**
 * The outputs of earlier answers that came over a bridge, which are sent instead of the messages
 * that the caller was shown (docs/bridges.md#what-is-kept). Their sizes are found before the view
 * is planned, and the outputs that it shows are read when it is sent. What can't be read is sent in
 * the plain form, and the report says so.
 */

import type { Seen } from '../../lib/isolate-memory.ts';
import { within } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { answersIn, type KeyedAnswer } from '../../memory/conversation/answer-keys.ts';
import { firstAnswer } from '../../memory/conversation/first-requests.ts';
import { type History, readHistory } from '../../memory/conversation/history.ts';
import type { KeptReasonings } from '../../memory/conversation/kept-reasoning.ts';
import type { BridgedApi } from '../../protocol/bridges/bridge.ts';
import type { AnswerOutputs } from '../../protocol/bridges/kept-outputs.ts';
import { ANSWER_OUTPUTS_BYTES } from '../../request/beliefs.ts';
import { conversationOfCall, namedByKey } from '../../request/conversation.ts';
import { portions } from '../../storage/archive/packing.ts';
import { KEPT_ROWS, NEVER_KEPT, type StoredAnswer } from '../../storage/conversation/kept-answers.ts';
import type { StoredConversation } from '../../summary/conversation.ts';
import { openBytes } from '../../tenant/envelope.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { ReasoningSource } from '../../view/made-view.ts';
import { type Answered, askedHashes, keepRow, NOT_KEPT, outputsOfText, rowKeyOf } from './keep-row.ts';
import { isRouteRefused, routeOf } from './route.ts';

/** Bytes of the outputs that one call of storage reads. */
const READ_AT_ONCE = 4 * 1024 * 1024;

/** An answer of the array, and what is kept of it. */
interface FoundAnswer extends Pick<AnswerOutputs, 'message' | 'end'> {
  readonly key: string;
  readonly row: StoredAnswer;
}

/** An answer of the array, and its outputs as they are stored (see `textOfOutputs`). */
interface StoredOutputs extends Pick<AnswerOutputs, 'message' | 'end'> {
  readonly text: string;
}

interface Found {
  readonly answers: readonly FoundAnswer[];
  /** Whether it is not known what is kept. */
  readonly isUnknown: boolean;
}

/** What of the answers in a view is sent. */
export interface SentOutputs {
  readonly answers: readonly StoredOutputs[];
  /** Whether some of the view's answers are without. */
  readonly lacks: boolean;
  /** Where reasoning is bound, the messages before this one are without theirs. */
  readonly from: number;
}

const NONE: Found = { answers: [], isUnknown: false };

export class KeptAnswers implements ReasoningSource {
  readonly answered: Answered;
  private api: BridgedApi | undefined;
  private finding: Promise<Found> | undefined;

  constructor(answered: Answered) {
    this.answered = answered;
  }

  /** Undefined before a conversation without a name has its first answer. */
  get conversation(): StoredConversation | undefined {
    return conversationOfCall(this.answered.call);
  }

  async find(history: History | undefined, offersTools: boolean): Promise<KeptReasonings | undefined> {
    const { call } = this.answered;
    const route = routeOf(call, offersTools);
    if (!route || isRouteRefused(route.api, call)) return undefined;
    // Without an account for the API, the request fails when it is sent.
    const found = await this.found(route.api, history).catch(() => NONE);
    const { answers, isUnknown } = found;
    const sizes = answers.map(({ message, row: { tokens, bytes, blocks, goneWith } }) => ({
      ...{ message, tokens, bytes, blocks },
      ...(goneWith === null ? {} : { isLost: true as const }),
    }));
    return { answers: sizes, from: lostBefore(found), isUnknown };
  }

  /**
   * The outputs for a view.
   *
   * @param isShown whether the view has an answer, and its reasoning
   * @param roundsBefore how many rounds the view has before an answer
   * @param isBound whether reasoning is bound to what precedes it
   * @throws ApiError if there is no account for the API
   */
  async outputs(
    api: BridgedApi,
    history: History | undefined,
    isShown: (message: number) => boolean,
    roundsBefore: (message: number) => number,
    isBound: boolean,
  ): Promise<SentOutputs> {
    const found = await this.found(api, history);
    const shown = found.answers.filter(({ message }) => isShown(message));
    const all = this.answered.call.request.messages.length;
    const from = isBound ? (found.isUnknown ? all : lostBefore(found)) : 0;
    const wanted = shown.filter(({ message, row }) => message >= from && row.goneWith === null);
    const texts = await this.texts(wanted);
    const answers = wanted.flatMap(({ key, message, end }) => {
      const text = texts.get(key);
      return text === undefined ? [] : [{ message, end, text }];
    });
    const isUnread = answers.length < wanted.length;
    const lacks = found.isUnknown || answers.length < shown.length;
    if (!isBound) return { answers, lacks, from };
    // What was thought since is bound to what can't be read.
    if (isUnread) return { answers: [], lacks, from: all };
    // Rounds that no view shows led to it.
    const bare = answers.findLast(({ message, text }) => {
      return outputsOfText(text).length - 1 > roundsBefore(message);
    });
    if (!bare) return { answers, lacks, from };
    const rest = answers.filter(({ message }) => message > bare.message);
    return { answers: rest, lacks: true, from: Math.max(from, bare.end) };
  }

  /** Forgets the answers of the array, since the upstream refuses them. Never rejects. */
  async forget(): Promise<void> {
    const { conversation } = this;
    const { answers } = (await this.finding) ?? NONE;
    const kept = answers.filter(({ row }) => row.goneWith === null);
    if (!conversation || kept.length === 0) return;
    const keptAnswers = conversation.remembered.of('keptAnswers');
    const keys = kept.map(({ key }) => key);
    const goneWith = kept.reduce((newest, { row }) => Math.max(newest, row.id), 0);
    const gone = new Map<string, StoredAnswer>(kept.map(({ key, row }) => [key, { ...row, goneWith }]));
    const at = Date.now();
    try {
      const forgetting = conversation.memory((stub) => stub.keptAnswers.forget(keys));
      const rows = await within(TIME_LIMITS.keptRoundsMs, forgetting);
      for (const [index, key] of keys.entries()) {
        const row = rows[index] ?? null;
        keptAnswers.keep(key, row, at);
        if (row) gone.set(key, row);
      }
    } catch (error) {
      // The object says to the next request whether it has forgotten them.
      for (const key of keys) keptAnswers.drop(key);
      this.failed('refused answers could not be forgotten', error);
    }
    const left = answers.map((one) => ({ ...one, row: gone.get(one.key) ?? one.row }));
    this.finding = Promise.resolve({ answers: left, isUnknown: false });
  }

  private found(api: BridgedApi, history: History | undefined): Promise<Found> {
    if (!this.finding || this.api !== api) {
      this.api = api;
      this.finding = this.look(api, history);
    }
    return this.finding;
  }

  /** @throws ApiError if there is no account for the API */
  private async look(api: BridgedApi, history: History | undefined): Promise<Found> {
    const { conversation, answered } = this;
    if (!conversation) return NONE;
    const { request, scope } = answered.call;
    const hashesOf = askedHashes(answered.call);
    const answers = answersIn(history ?? readHistory(request.messages), sha256Hex, hashesOf)
      .slice(-KEPT_ROWS)
      .map((answer) => ({ ...answer, key: rowKeyOf(answered, api, answer.key) }));
    const keptAnswers = conversation.remembered.of('keptAnswers');
    const keys = answers.map(({ key }) => key);
    const known = new Map(keys.map((key) => [key, keptAnswers.get(key)]));
    const unknown = keys.filter((key) => !known.get(key));
    let isUnknown = false;
    try {
      const rows = unknown.length > 0 ? await this.rows(unknown, conversation) : [];
      for (const [index, seen] of rows.entries()) known.set(unknown[index] ?? '', seen);
    } catch (error) {
      this.failed('kept answers could not be found', error);
      isUnknown = true;
      for (const key of unknown) known.set(key, keptAnswers.last(key));
    }
    const first = answers.find(({ message }) => message === firstAnswer(request.messages));
    const isUnnamed = answered.call.owner.conversation === undefined;
    if (first && isUnnamed && !isUnknown && !answered.isDry && !known.get(first.key)?.value)
      await this.keepFirst(known, first, conversation);
    const confirmed = keys.filter((key) => !unknown.includes(key));
    if (confirmed.length > 0) {
      const oldest = confirmed.reduce((least, key) => Math.min(least, known.get(key)?.at ?? least), Infinity);
      const confirm = async () => void (await this.rows(keys, conversation));
      scope.upkeep.of(conversation.name).rely('kept answers', oldest, confirm);
    }
    const found = answers.flatMap(({ key, message, end }) => {
      const row = known.get(key)?.value;
      return row ? [{ key, message, end, row }] : [];
    });
    return { answers: found, isUnknown };
  }

  private async rows(
    keys: readonly string[],
    { memory, remembered }: StoredConversation,
  ): Promise<Seen<StoredAnswer | null>[]> {
    const at = Date.now();
    const rows = await this.asked(() => memory((stub) => stub.keptAnswers.find(keys)));
    return keys.map((key, index) => {
      const wasNotKept = remembered.of('keptAnswers').last(key)?.value === NOT_KEPT;
      const value = rows[index] ?? (wasNotKept ? NOT_KEPT : null);
      remembered.of('keptAnswers').keep(key, value, at);
      return { value, at };
    });
  }

  /**
   * Keeps the first answer of a conversation that has its name since the caller has sent the answer
   * back. If that fails, this request is without it, and the next one tries again. Never rejects.
   */
  private async keepFirst(
    found: Map<string, Seen<StoredAnswer | null> | undefined>,
    { key }: Pick<KeyedAnswer, 'key'>,
    conversation: StoredConversation,
  ): Promise<void> {
    const { tenant, call } = this.answered;
    const from = namedByKey(call, tenant, key);
    const known = from.remembered.of('keptAnswers').get(key);
    const at = Date.now();
    let seen: Seen<StoredAnswer | null> | undefined = { value: NOT_KEPT, at };
    try {
      const row = (known ?? (await this.rows([key], from))[0])?.value;
      if (!row) return;
      const text = row.goneWith === null ? await this.textOf(key, from) : undefined;
      if (text !== undefined) {
        const until = at + TIME_LIMITS.keepRoundsMs;
        const kept = await keepRow(this.answered, conversation, key, { ...row, text }, until);
        if (kept) seen = { value: kept, at };
        call.scope.waitUntil(this.leave(key, row, from));
        // Deleted with its conversation, or another isolate has kept it since.
      } else if (row.goneWith !== NEVER_KEPT) [seen] = known ? [] : await this.rows([key], conversation);
    } catch (error) {
      this.failed('the first answer could not be kept', error);
    }
    found.set(key, seen);
  }

  private async textOf(key: string, from: StoredConversation): Promise<string | undefined> {
    const found = new Map<string, string>();
    const known = from.remembered.of('answerOutputs').get(key);
    if (!known) await this.read([{ key }], from, found);
    return known?.value ?? found.get(key);
  }

  /** Has a first answer leave the place from which its conversation has it. Never rejects. */
  private async leave(
    key: string,
    row: StoredAnswer,
    { memory, remembered }: StoredConversation,
  ): Promise<void> {
    remembered.of('keptAnswers').keep(key, { ...row, goneWith: row.id }, Date.now());
    remembered.of('answerOutputs').drop(key);
    try {
      await memory((stub) => stub.keptAnswers.forget([key]));
    } catch (error) {
      this.failed('a first answer is still in its first place', error);
    }
  }

  /** The outputs by key, as far as they can be read. Never rejects. */
  private async texts(wanted: readonly FoundAnswer[]): Promise<ReadonlyMap<string, string>> {
    const { conversation } = this;
    const found = new Map<string, string>();
    if (!conversation) return found;
    const answerOutputs = conversation.remembered.of('answerOutputs');
    // The newest ones are used last, so that they stay.
    for (const { key } of wanted) {
      const known = answerOutputs.get(key);
      if (known) found.set(key, known.value);
    }
    const unread = wanted.filter(({ key }) => !found.has(key)).toReversed();
    try {
      for (const some of portions(unread, READ_AT_ONCE, ({ row }) => row.size))
        await this.read(some, conversation, found);
    } catch (error) {
      this.failed('kept answers could not be read', error);
    }
    let room = ANSWER_OUTPUTS_BYTES / 2;
    for (const { key } of wanted.toReversed()) {
      const text = found.get(key) ?? '';
      room -= text.length;
      if (room < 0) break;
      if (unread.some((one) => one.key === key) && text !== '') answerOutputs.keep(key, text, Date.now());
    }
    return found;
  }

  private async read(
    some: readonly Pick<FoundAnswer, 'key'>[],
    { memory, remembered, tenant, name }: StoredConversation,
    found: Map<string, string>,
  ): Promise<void> {
    const keys = some.map(({ key }) => key);
    const outputs = await this.asked(() => memory((stub) => stub.keptAnswers.read(keys)));
    for (const [index, key] of keys.entries()) {
      const sealed = outputs[index];
      const opened = sealed && (await openBytes(tenant, 'answer', `${name} ${key}`, sealed));
      if (opened) found.set(key, new TextDecoder().decode(opened));
      // It has left since its row was read.
      else remembered.of('keptAnswers').drop(key);
    }
  }

  private asked<Value>(ask: () => Promise<Value>): Promise<Value> {
    const { timings } = this.answered.call.scope;
    return timings.measure('store', () => within(TIME_LIMITS.keptRoundsMs, ask()));
  }

  private failed(message: string, error: unknown): void {
    logCaught(this.answered.call.scope.services.log, 'warn', message, error);
  }
}

/**
 * The message before which no answer has its reasoning: it was made with what has left since, or
 * the answers after it without it, as they were kept before it was.
 */
function lostBefore({ answers }: Found): number {
  const newest = answers.reduce((id, { row }) => Math.max(id, row.goneWith ?? 0), 0);
  let next = Infinity;
  for (const { row, message } of answers.toReversed()) {
    if (row.goneWith === NEVER_KEPT) continue;
    if (row.id <= newest || row.id > next) return message + 1;
    next = row.id;
  }
  return 0;
}
