/**
 * What both bridges read of a chat body
 * (https://platform.openai.com/docs/api-reference/chat/create). Each has a list of all parameters:
 * none that says something is lost without a word.
 */
import { wordsOf } from '../../lib/elements.ts';
import { asObjects, type JsonObject } from '../../lib/json.ts';
import type { BridgeOptions, BridgeRefusal, ChatBody, KeptOutputs } from './bridge.ts';
import { SentCalls } from './sent-calls.ts';
import { ShortNames } from './short-names.ts';

/** What the writers of one body share. */
export interface Writing {
  readonly options: BridgeOptions;
  readonly names: ShortNames;
  readonly calls: SentCalls;
  /** Gets codes of what is not said. */
  readonly notices: Set<string>;
}

/** @param fits see `ShortNames` */
export function writingOf(options: BridgeOptions, fits?: (name: string) => boolean): Writing {
  const names = new ShortNames(options.sha256, fits);
  return { options, names, calls: new SentCalls(names), notices: new Set() };
}

export function says(value: unknown): boolean {
  return (value ?? null) !== null;
}

export function saying(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => says(value)));
}

/** A member with its value; none if the value is empty. */
export function member(name: string, value: unknown): JsonObject {
  return isEmpty(value) ? {} : { [name]: value };
}

/** Whether a member says nothing: an empty text, list or object. */
export function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

const is =
  (idle: unknown) =>
  (value: unknown): boolean =>
    value === idle;

/** Values of parameters that say nothing, beside `null`. */
const IDLE: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ n: is(1), temperature: is(1), top_p: is(1), frequency_penalty: is(0), presence_penalty: is(0) },
  ...{ stop: isEmpty, logit_bias: isEmpty, logprobs: is(false), top_logprobs: is(0), store: is(false) },
  ...{ verbosity: is('medium'), modalities: (value) => Array.isArray(value) && !value.includes('audio') },
};

/**
 * What becomes of a parameter: it is sent as it is, written in another form or not needed, keeps
 * the request on chat, is dropped with a notice, or refused.
 */
type Fate = 'same' | 'written' | 'chat' | 'dropped' | 'refused';

/** The parameters of each fate, and the fate of those that chat does not have. */
export interface FieldTable {
  readonly fates: ReadonlyMap<string, Fate>;
  readonly others: 'same' | 'refused';
}

/** @param names by fate, with spaces between */
export function fieldTable(names: Readonly<Record<Fate, string>>, others: FieldTable['others']): FieldTable {
  const fates = Object.entries(names).flatMap(([fate, list]) =>
    list.split(' ').map((name) => [name, fate as Fate] as const),
  );
  return { fates: new Map(fates), others };
}

/** The parameters of a fate that say something. */
function saidOf(chat: ChatBody, { fates, others }: FieldTable, fate: Fate): [name: string, value: unknown][] {
  const said = Object.entries(chat).filter(([name]) => (fates.get(name) ?? others) === fate);
  return said.filter(([name, value]) => says(value) && IDLE[name]?.(value) !== true);
}

/** @param notices gets the code of each parameter that is dropped */
export function fieldsIn(
  chat: ChatBody,
  table: FieldTable,
  notices: Set<string>,
): { readonly same: JsonObject; readonly refusal?: BridgeRefusal } {
  for (const [name] of saidOf(chat, table, 'dropped')) notices.add(`${name}_dropped`);
  const same = Object.fromEntries(saidOf(chat, table, 'same'));
  const [refused] = [...saidOf(chat, table, 'refused'), ...saidOf(chat, table, 'chat')];
  if (!refused) return { same };
  const [name] = refused;
  return { same, refusal: table.fates.has(name) ? unsupported(name) : unknown(name) };
}

/** What neither of the other APIs can answer. See `Bridge`. */
export function obstacleIn(chat: ChatBody, table: FieldTable): string | undefined {
  const [obstacle] = saidOf(chat, table, 'chat');
  if (obstacle || chat.messages.some(hasAudio)) return obstacle?.[0] ?? 'audio';
  return chat.messages.some(isLegacy) ? 'functions' : undefined;
}

function hasAudio({ content, audio }: JsonObject): boolean {
  return says(audio) || asObjects(content).some(({ type }) => type === 'input_audio');
}

const isLegacy = ({ role, function_call }: JsonObject): boolean => role === 'function' || says(function_call);

/** The refusal of a parameter that the other API does not have. */
export function unsupported(param: string): BridgeRefusal {
  const message = `Unsupported parameter: '${param}' is not supported with this model.`;
  return { param, message, code: 'unsupported_parameter' };
}

function unknown(param: string): BridgeRefusal {
  return { param, message: `Unknown parameter: '${param}'.`, code: 'unknown_parameter' };
}

/** Members of messages, with the reasoning that clients send back in many forms. */
const OF_MESSAGES = wordsOf(
  'role content name tool_calls tool_call_id refusal audio function_call cache_control',
  'reasoning reasoning_content reasoning_details thinking_blocks provider_specific_fields',
);

/**
 * Notes what no other API has a place for in messages. The name of a result is in its call, and all
 * that an answer says in its output.
 */
export function noteMembers(messages: readonly JsonObject[], kept: KeptOutputs, notices: Set<string>): void {
  for (const [index, message] of messages.entries()) {
    if (kept(index)) continue;
    if (says(message.name) && message.role !== 'tool') notices.add('names_dropped');
    if (hasOthers(message, OF_MESSAGES)) notices.add('message_fields_dropped');
  }
}

/** Whether something is said by a member beside some. */
export function hasOthers(value: JsonObject, known: ReadonlySet<string>): boolean {
  return Object.entries(value).some(([name, said]) => says(said) && !isEmpty(said) && !known.has(name));
}

/** The calls of an assistant message. */
export function callsIn({ tool_calls }: JsonObject): JsonObject[] {
  return asObjects(tool_calls);
}
