/**
 * Keeps the output of an answer that came over a bridge, with the outputs of its rounds, before the
 * last event of the answer: by then the caller may send it back.
 */
import { asString, type JsonObject } from '../../lib/json.ts';
import { soon } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { saidKey } from '../../memory/conversation/answer-keys.ts';
import { bindsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import { tokenMeasure } from '../../memory/modes/strategy.ts';
import type { BridgedApi, CompleteAnswer } from '../../protocol/bridges/bridge.ts';
import { callsIn } from '../../protocol/bridges/chat-fields.ts';
import {
  reasoningIn,
  type ShownOutput,
  shownOutput,
  withoutCalls,
} from '../../protocol/bridges/kept-outputs.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import { nameOf } from '../../protocol/tool-choice.ts';
import { calledName } from '../../protocol/tools.ts';
import { namedByAnswer, namedByKey } from '../../request/conversation.ts';
import type { AnswerToKeep } from '../../storage/conversation/kept-answers.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { MadeView } from '../../view/made-view.ts';
import { askedHashes, keepRow, NOT_KEPT, rowKeyOf, textOfOutputs } from './keep-row.ts';
import type { KeptAnswers } from './kept-answers.ts';

const NO_TOOLS = { names: new Set<string>(), rounds: 0 };

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
   * Keeps the output of an answer. Never rejects. Of calls of Precis's and of the caller's, the one
   * or the other are left out of an answer (see `CallSorter`), and it is sent back without them.
   *
   * @param made the view that it answers
   * @returns when it is kept, or too late for that
   */
  async keep(answer: CompleteAnswer, made: Pick<MadeView, 'tools'>): Promise<void> {
    const { request, scope } = this.kept.answered.call;
    const { names, rounds: most } = made.tools ?? NO_TOOLS;
    const isOurs = (call: JsonObject): boolean => names.has(calledName(nameOf(call)));
    const isRound = callsIn(answer.message).slice(0, 1).some(isOurs) && this.rounds.length < most;
    const isBound = bindsThinking(reasoningTermsOf(request.model));
    const said = withoutCalls(answer, (call) => isOurs(call) !== isRound, isBound);
    const own = shownOutput(said, sha256Hex);
    const text = this.roundsText + asString(said.message.content);
    if (isRound) {
      this.rounds.push(own);
      if (!request.asksForm) this.roundsText = text;
      return;
    }
    const message = { ...said.message, content: text };
    const whole = this.rounds.length > 0 ? shownOutput({ ...said, message }, sha256Hex).text : undefined;
    const storing = this.store([...this.rounds, { ...own, whole }], message);
    scope.waitUntil(storing);
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
    const named = saidKey(asked, answer, sha256Hex);
    if (named === undefined) return;
    const key = rowKeyOf(answered, this.api, named);
    // Clients write all but words as they like, and some cut white space at the ends of these; an
    // answer's hash is its conversation's name.
    const words = asString(shown.content);
    const isVerbatim = callsIn(shown).length === 0 && words !== '' && words === words.trim();
    const conversation =
      this.kept.conversation ??
      (isVerbatim ? namedByAnswer(call, tenant, answer) : namedByKey(call, tenant, key));
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
