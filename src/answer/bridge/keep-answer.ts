/**
 * Keeps the output of an answer that came over a bridge, with the outputs of its rounds, before the
 * last event of the answer: by then the caller may send it back.
 */
import { asString, type JsonObject } from '../../lib/json.ts';
import { soon } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { answerKey } from '../../memory/conversation/answer-keys.ts';
import { tokenMeasure } from '../../memory/modes/strategy.ts';
import type { BridgedApi, CompleteAnswer } from '../../protocol/bridges/bridge.ts';
import { callsIn } from '../../protocol/bridges/chat-fields.ts';
import {
  NOTHING,
  reasoningIn,
  type ShownOutput,
  shownOutput,
  textOfOutputs,
} from '../../protocol/bridges/kept-outputs.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import { nameOf } from '../../protocol/tool-choice.ts';
import { namedByAnswer, namedByQuestion } from '../../request/conversation.ts';
import type { AnswerToKeep } from '../../storage/conversation/kept-answers.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { askedHashes, keepRow, NOT_KEPT, rowKeyOf } from './keep-row.ts';
import type { KeptAnswers } from './kept-answers.ts';

export class AnswerKeeper {
  /** The outputs of this call's rounds. */
  readonly rounds: ShownOutput[] = [];
  private readonly kept: KeptAnswers;
  private readonly reader: MessageReader;
  private readonly api: BridgedApi;
  /** What the caller has seen of the rounds. */
  private roundsText = '';

  constructor(kept: KeptAnswers, reader: MessageReader, api: BridgedApi) {
    this.kept = kept;
    this.reader = reader;
    this.api = api;
  }

  /**
   * Keeps the output of an answer. Never rejects.
   *
   * @param ours names of Precis's tools
   * @returns when it is kept, or too late for that
   */
  async keep(answer: CompleteAnswer, ours: ReadonlySet<string>): Promise<void> {
    const { call } = this.kept.answered;
    const { message } = answer;
    const output = shownOutput(answer, sha256Hex);
    const isOurs = callsIn(message).map((one) => ours.has(nameOf(one)));
    const { content } = message;
    const text = typeof content === 'string' ? content : '';
    if (isOurs[0]) {
      // A round is sent back without the caller's calls, so an output with some does not fit it. It
      // keeps the round's place, and no message is shown as it: `-` is no hash.
      const isWhole = isOurs.every(Boolean);
      this.rounds.push(isWhole ? output : { ...output, json: NOTHING, calls: '-', text: '-' });
      if (!call.request.asksForm) this.roundsText += text;
      return;
    }
    // The caller is not shown all calls of such an answer, and can't answer them.
    if (isOurs.some(Boolean)) return;
    const shown = { ...message, content: this.roundsText + text };
    const storing = this.store([...this.rounds, output], shown);
    call.scope.waitUntil(storing);
    await soon(TIME_LIMITS.keepRoundsMs, storing);
  }

  /** Never rejects. */
  private async store(outputs: readonly ShownOutput[], shown: JsonObject): Promise<void> {
    const { answered } = this.kept;
    const { call, tenant } = answered;
    const { request, scope } = call;
    const until = Date.now() + TIME_LIMITS.keepRoundsMs;
    const answer = readMessages(this.reader, JSON.stringify(shown));
    const asked = askedHashes(call)(request.messages, sha256Hex).at(-1) ?? '';
    const named = answerKey(asked, answer, sha256Hex);
    if (named === undefined) return;
    const key = rowKeyOf(answered, this.api, named);
    // Clients write all but words as they like, and some cut white space at the ends of these; an
    // answer's hash is its conversation's name.
    const words = asString(shown.content);
    const isVerbatim = callsIn(shown).length === 0 && words !== '' && words === words.trim();
    const conversation =
      this.kept.conversation ??
      (isVerbatim ? namedByAnswer(call, tenant, answer) : namedByQuestion(call, tenant, asked));
    if (!conversation) return;
    try {
      if (!(await scope.mayStore(tenant))) return;
      await keepRow(answered, conversation, key, await this.weighed(outputs), until);
    } catch (error) {
      logCaught(scope.services.log, 'warn', 'an answer could not be kept', error);
      // The object may have it all the same: then the next request finds it there.
      conversation.remembered.of('keptAnswers').keep(key, NOT_KEPT, 0);
    }
  }

  private async weighed(outputs: readonly ShownOutput[]): Promise<AnswerToKeep> {
    const { request, chosen, scope } = this.kept.answered.call;
    const { weight, ...size } = reasoningIn(outputs);
    const measure = tokenMeasure(chosen.strategy, request.model, scope.services.config.tokenFactors);
    const { counter } = await scope.caches.counting(measure);
    const tokens = weight.flat + weight.texts.reduce((sum, text) => sum + counter.text(text), 0);
    return { text: textOfOutputs(outputs), tokens, ...size };
  }
}
