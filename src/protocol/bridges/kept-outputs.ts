/**
 * Outputs of earlier answers, and the messages of a chat body that they were shown as. An output
 * replaces its message only if that says what the caller was shown: clients write arguments anew,
 * and may leave out the text beside calls.
 */
import { wordsOf } from '../../lib/elements.ts';
import { asObject, asObjects, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import { type Said, saidOf } from '../../memory/conversation/answer-keys.ts';
import { jsonBytes, type MessageFacts, type Weight } from '../../memory/conversation/message.ts';
import type { Digest } from '../../memory/conversation/refs.ts';
import { inputText } from '../call-input.ts';
import { isThinking, weightOfThinking } from '../chat/reasoning.ts';
import type { ShownAnswers } from '../chat/shown-answers.ts';
import { textsIn } from '../chat/words.ts';
import { nameOf } from '../tool-choice.ts';
import type { CompleteAnswer, KeptOutput, SentOutput } from './bridge.ts';
import { callsIn } from './chat-fields.ts';

/** The output of an answer, and what its caller was shown; `whole` with the words of its rounds. */
export type ShownOutput = KeptOutput & Said & { readonly whole?: string | undefined };

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

export function shownOutput({ api, json, message }: CompleteAnswer, sha256: Digest): ShownOutput {
  return { api, json, ...saidIn([message], sha256) };
}

const CALLS = wordsOf('function_call custom_tool_call tool_use');

/**
 * An answer without some of its calls. What was thought before one of them leads to what is left
 * after it; what was thought after it may be bound to it, and leaves with it then.
 */
export function withoutCalls(
  answer: CompleteAnswer,
  leaves: (call: JsonObject) => boolean,
  isBound: boolean,
): CompleteAnswer {
  const calls = callsIn(answer.message);
  if (!calls.some(leaves)) return answer;
  const items = parseJson(answer.json) as JsonObject[];
  const isLeft = (item: JsonObject): boolean => CALLS.has(asString(item.type)) && leaves(item);
  const cut = isBound ? items.findIndex(isLeft) : items.length;
  const stay = items.filter((item, at) => !(isThinking(item) ? at > cut : isLeft(item)));
  const json = JSON.stringify(stay.slice(0, stay.findLastIndex((item) => !isThinking(item)) + 1));
  const tool_calls = calls.filter((call) => !leaves(call));
  return { ...answer, json, message: { ...answer.message, tool_calls } };
}

function saidIn(messages: readonly JsonObject[], sha256: Digest): Said {
  const calls = messages.flatMap(callsIn).map((call) => {
    const { arguments: args, input } = asObject(call.function ?? call.custom);
    return { id: asString(call.id), name: nameOf(call), input: inputText(args ?? input) };
  });
  const texts = messages.flatMap(({ content, refusal }) =>
    textsIn([...(Array.isArray(content) ? content : [{ text: content }]), { refusal }]),
  );
  return saidOf(calls, texts.join(''), sha256);
}

/** The output of a message whose answer has begun in the message before it. */
const NOTHING = { json: '[]', calls: [] };

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
  sha256: Digest,
): ReadonlyMap<number, SentOutput> {
  const found = new Map<number, SentOutput>();
  if (answers.length + rounds.length === 0) return found;
  const said = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  const take = (indices: readonly number[], output?: ShownOutput, facts: MessageFacts = {}): void => {
    const whole = indices.map((index) => asObject(messages[index]));
    if (!output || whole.length === 0) return;
    facts.said ??= saidIn(whole, sha256);
    if (!isShownAs(output, facts.said)) return;
    const first = { api: output.api, json: output.json, calls: whole.flatMap(callsIn) };
    for (const [at, index] of indices.entries())
      found.set(index, at === 0 ? first : { ...first, ...NOTHING });
  };
  for (const output of rounds.toReversed()) take(said.splice(-1), output);
  const left = [...answers];
  let latest: AnswerOutputs | undefined;
  let own: number[] = [];
  for (const message of shown.messages.toReversed()) {
    while ((left.at(-1)?.message ?? 0) > message) left.pop();
    const answer = message < (left.at(-1)?.end ?? 0) ? left.at(-1) : undefined;
    if (answer !== latest) own = [];
    latest = answer;
    own.unshift(...said.splice(-1));
    const before = said.splice(said.length - shown.roundsBefore(message));
    if (message !== answer?.message) continue;
    const last = answer.outputs.at(-1);
    const facts = own.length + rounds.length === 1 ? shown.factsOf(message) : undefined;
    take(own, last && { ...last, whole: before.length > 0 ? last.whole : undefined }, facts);
    for (const [place, index] of before.toReversed().entries()) take([index], answer.outputs.at(-2 - place));
  }
  return found;
}

function isShownAs({ calls, text, whole }: ShownOutput, said: Said): boolean {
  return calls === said.calls && [text, whole, calls === '' ? text : ''].includes(said.text);
}
