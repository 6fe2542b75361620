/**
 * Outputs of earlier answers, and the messages of a chat body that they were shown as. An output
 * replaces its message only if that says what the caller was shown: clients write arguments anew,
 * and may leave out the text beside calls.
 */
import { asObject, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import type { AnswerReader, KeptOutput } from './bridge.ts';
import { callsIn } from './chat-fields.ts';

/** What an answer says: digests of its calls and of its text; empty if it has none. */
interface Said {
  readonly calls: string;
  readonly text: string;
}

/** The output of an answer, and what the caller was shown of it. */
export interface ShownOutput extends KeptOutput, Said {}

/** Hashes a text. */
type Sha256 = (text: string) => string;

/** A whole answer of an API, around its output. */
const WHOLE = {
  responses: (json: string) => `{"object":"response","status":"completed","output":${json}}`,
  messages: (json: string) =>
    `{"type":"message","role":"assistant","stop_reason":"end_turn","content":${json}}`,
} as const satisfies Record<KeptOutput['api'], (json: string) => string>;

/** The chat message that an output is shown as. */
export function messageOf({ api, json }: KeptOutput, reader: AnswerReader): JsonObject {
  const { body } = reader.answer(new TextEncoder().encode(WHOLE[api](json)));
  const { choices } = asObject(parseJson(new TextDecoder().decode(body)));
  return asObject(asObject(Array.isArray(choices) ? choices[0] : undefined).message);
}

/** @param message see `messageOf` */
export function shownOutput({ api, json }: KeptOutput, message: JsonObject, sha256: Sha256): ShownOutput {
  return { api, json, ...saidIn([message], sha256) };
}

/** The name of a function or of a custom tool that is called. */
export function calledName({ function: called, custom }: JsonObject): string {
  return asString(asObject(called ?? custom).name);
}

function saidIn(messages: readonly JsonObject[], sha256: Sha256): Said {
  const calls = messages.flatMap(callsIn).map((call) => {
    const { arguments: args, input } = asObject(call.function ?? call.custom);
    return [
      call.id,
      calledName(call),
      typeof args === 'string' ? (parseJson(args) ?? args) : (args ?? input),
    ];
  });
  const text = messages.map(textIn).join('').trim();
  return {
    calls: calls.length === 0 ? '' : sha256(JSON.stringify(calls)),
    text: text === '' ? '' : sha256(text),
  };
}

function textIn({ content }: JsonObject): string {
  if (!Array.isArray(content)) return asString(content);
  return content.map((part) => asString(asObject(part).text)).join('');
}

/** Neighboring messages of the model are one answer, which some clients send in pieces. */
function answersIn(messages: readonly JsonObject[]): number[][] {
  const answers: number[][] = [];
  for (const [index, { role }] of messages.entries()) {
    if (role !== 'assistant') continue;
    if (messages[index - 1]?.role === 'assistant') answers.at(-1)?.push(index);
    else answers.push([index]);
  }
  return answers;
}

/**
 * The outputs that replace messages of a chat body, by their index. It is read from its end, since
 * what a view leaves out is mostly at its beginning.
 *
 * @param outputs in the order of their messages, of which the body may lack some
 */
export function outputsIn(
  messages: readonly JsonObject[],
  outputs: readonly ShownOutput[],
  sha256: Sha256,
): ReadonlyMap<number, KeptOutput> {
  const found = new Map<number, KeptOutput>();
  let left = outputs;
  for (const indices of left.length > 0 ? answersIn(messages).reverse() : []) {
    const said = saidIn(
      indices.map((index) => asObject(messages[index])),
      sha256,
    );
    const at = left.findLastIndex((output) => isShownAs(output, said));
    const output = left[at];
    if (!output) continue;
    left = left.slice(0, at);
    for (const [place, index] of indices.entries())
      found.set(index, place === 0 ? output : { api: output.api, json: '[]' });
  }
  return found;
}

function isShownAs({ calls, text }: ShownOutput, said: Said): boolean {
  return calls === said.calls && (text === said.text || (calls !== '' && said.text === ''));
}
