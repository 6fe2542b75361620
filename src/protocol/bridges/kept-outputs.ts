/**
 * Outputs of earlier answers, and the messages of a chat body that they were shown as. An output
 * replaces its message only if that says what the caller was shown: clients write arguments anew,
 * and may leave out the text beside calls.
 */
import { asObject, asObjects, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import { type Said, saidOf } from '../../memory/conversation/answer-keys.ts';
import { jsonBytes, type MessageFacts, type Weight } from '../../memory/conversation/message.ts';
import { inputText } from '../call-input.ts';
import { isThinking, weightOfThinking } from '../chat/reasoning.ts';
import type { ShownAnswers } from '../chat/shown-answers.ts';
import { textsIn } from '../chat/words.ts';
import { nameOf } from '../tool-choice.ts';
import type { BridgedApi, CompleteAnswer, KeptOutput, SentOutput } from './bridge.ts';
import { callsIn } from './chat-fields.ts';

/** The output of an answer, and what the caller was shown of it. */
export interface ShownOutput extends KeptOutput, Said {}

type Sha256 = (text: string) => string;

/** What the model reads of the reasoning in outputs, its bytes as JSON, and its items or blocks. */
export function reasoningIn(outputs: readonly KeptOutput[]): {
  readonly weight: Weight;
  readonly bytes: number;
  readonly blocks: number;
} {
  const thoughts = outputs.flatMap(({ json }) => parseJson(json) as JsonObject[]).filter(isThinking);
  const parts = thoughts.flatMap(({ encrypted_content: data, summary, content, ...block }) => [
    { ...block, data: data ?? block.data },
    ...[summary, content].flatMap(asObjects),
  ]);
  const bytes = thoughts.reduce((sum, thought) => sum + jsonBytes(thought), 0);
  return { weight: weightOfThinking(parts), bytes, blocks: thoughts.length };
}

export function shownOutput({ api, json, message }: CompleteAnswer, sha256: Sha256): ShownOutput {
  return { api, json, ...saidIn([message], sha256) };
}

/** Outputs as they are stored: each in two lines, since JSON has none in it. */
export function textOfOutputs(outputs: readonly ShownOutput[]): string {
  return outputs.map(({ api, calls, text, json }) => `${api} ${calls} ${text}\n${json}\n`).join('');
}

/** See `textOfOutputs`. */
export function outputsOfText(stored: string): ShownOutput[] {
  return stored.split('\n').flatMap((head, at, lines) => {
    const json = lines[at + 1];
    if (at % 2 === 1 || json === undefined) return [];
    const [api, calls = '', text = ''] = head.split(' ');
    return { api: api as BridgedApi, calls, text, json };
  });
}

function saidIn(messages: readonly JsonObject[], sha256: Sha256): Said {
  const calls = messages.flatMap(callsIn).map((call) => {
    const { arguments: args, input } = asObject(call.function ?? call.custom);
    return { id: asString(call.id), name: nameOf(call), input: inputText(args ?? input) };
  });
  return saidOf(calls, messages.map(textIn).join(''), sha256);
}

function textIn({ content, refusal }: JsonObject): string {
  return textsIn(Array.isArray(content) ? content : [{ text: content }]).join('') + asString(refusal);
}

/** The output of a message whose answer has begun in the message before it, or that is not kept. */
export const NOTHING = '[]';

/** The outputs that led to an answer of the caller's array: of its rounds, and its own. */
export interface AnswerOutputs {
  /** Its messages: the first one, and the one after the last. */
  readonly message: number;
  readonly end: number;
  readonly outputs: readonly ShownOutput[];
}

/**
 * The outputs that replace messages of a chat body, by their index. The body is read from its end,
 * since what a view puts in place of messages is at its beginning.
 *
 * @param answers of the caller's array, of which the body may lack some
 * @param rounds outputs of this call's rounds, which are after the array
 */
export function outputsIn(
  messages: readonly JsonObject[],
  answers: readonly AnswerOutputs[],
  shown: ShownAnswers,
  rounds: readonly ShownOutput[],
  sha256: Sha256,
): ReadonlyMap<number, SentOutput> {
  const found = new Map<number, SentOutput>();
  if (answers.length + rounds.length === 0) return found;
  const said = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  const take = (indices: readonly number[], output?: ShownOutput, facts: MessageFacts = {}): boolean => {
    const whole = indices.map((index) => asObject(messages[index]));
    if (!output || whole.length === 0) return false;
    facts.said ??= saidIn(whole, sha256);
    if (!isShownAs(output, facts.said)) return false;
    const { api, json } = output;
    for (const index of indices) found.set(index, { api, json: NOTHING, calls: [] });
    found.set(indices[0] ?? -1, { api, json, calls: whole.flatMap(callsIn) });
    return true;
  };
  for (const output of rounds.toReversed()) {
    if (!take(said.slice(-1), output) && output.json !== NOTHING) break;
    said.pop();
  }
  const byMessage = new Map(
    answers.flatMap((answer) => range(answer).map((message) => [message, answer] as const)),
  );
  let latest: AnswerOutputs | undefined;
  let own: number[] = [];
  for (const message of shown.messages.toReversed()) {
    const answer = byMessage.get(message);
    if (answer !== latest) own = [];
    latest = answer;
    own.unshift(...said.splice(-1));
    const before = said.splice(said.length - shown.roundsBefore(message));
    if (message !== answer?.message) continue;
    take(own, answer.outputs.at(-1), own.length + rounds.length === 1 ? shown.factsOf(message) : undefined);
    for (const [place, index] of before.toReversed().entries()) take([index], answer.outputs.at(-2 - place));
  }
  return found;
}

function range({ message, end }: AnswerOutputs): number[] {
  return Array.from({ length: end - message }, (_, at) => message + at);
}

function isShownAs({ calls, text }: ShownOutput, said: Said): boolean {
  return calls === said.calls && (text === said.text || (calls !== '' && said.text === ''));
}
