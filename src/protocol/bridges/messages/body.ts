/**
 * A chat body as a body of Messages (https://platform.claude.com/docs/en/api/messages/create).
 *
 * The marks of the prompt cache that the view has are kept: for Claude's models chat has the same
 * ones. Only a body without any gets Precis's here, if it may.
 */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { claudeTermsOf } from '../../../memory/models/claude-terms.ts';
import { longestAnswerOf } from '../../../memory/models/facts.ts';
import { MARK_FIELD, MESSAGES_MARKS } from '../../messages/block.ts';
import { readMessagesRequest } from '../../messages/request.ts';
import type { Bridge, BridgeOptions, BridgeRefusal, ChatBody } from '../bridge.ts';
import { isEmpty, type Missing, missingIn, obstacleIn, says, unsupported } from '../chat-fields.ts';
import { ShortNames } from '../short-names.ts';
import { MessagesReader } from './answer.ts';
import { samplingFrom, thinkingFrom } from './thinking.ts';
import { toolsFrom } from './tools.ts';
import { turnsOf } from './turns.ts';

const VERSION: readonly [string, string] = ['anthropic-version', '2023-06-01'];
/** For files that the API has stored. */
const FILES: readonly [string, string] = ['anthropic-beta', 'files-api-2025-04-14'];

/** The most tokens of an answer by a model that nobody knows. */
const USUAL_ANSWER = 32_000;

/** Of names of tools and ids of calls. */
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const encoder = new TextEncoder();

/** Chat in, Messages out. */
export const messagesBridge: Bridge = {
  api: 'messages',
  obstacle,
  body(chat, kept, options) {
    const refusal = refusalOf(chat);
    if (refusal) return refusal;
    const names = new ShortNames(options.sha256, (name) => NAME.test(name));
    const notices = new Set<string>();
    const terms = claudeTermsOf(asString(chat.model));
    const { takesSystem } = terms;
    const { system, messages, isUnthought } = turnsOf(chat, kept, { names, notices, options, takesSystem });
    const tools = toolsFrom(chat, terms, names, notices);
    const maxTokens = longestOf(chat, options);
    const { isForced } = tools;
    const { showsReasoning } = options;
    const asked = { terms, maxTokens, isForced, showsReasoning, isUnthought, notices };
    const { thinking, effort } = thinkingFrom(chat, asked);
    const fields = {
      model: chat.model,
      max_tokens: maxTokens,
      ...(system.length > 0 ? { system } : {}),
      ...tools.fields,
      ...(thinking ? { thinking } : {}),
      ...outputFrom(chat, effort, notices),
      ...samplingFrom(chat, terms, thinking, notices),
      ...otherFields(chat, notices),
    };
    const json = `${JSON.stringify(fields).slice(0, -1)},"messages":${messages}}`;
    return {
      path: 'messages',
      headers: [VERSION],
      listed: /"source":\{"type":"file"/.test(json) ? FILES : undefined,
      body: marked(encoder.encode(json), json, options),
      reader: new MessagesReader({ names, asksUsage: asksUsage(chat), options }),
      notices: [...notices],
    };
  },
};

/** Beside what neither API can answer: what the API would do in a way that chat can't show. */
function obstacle(chat: ChatBody): string | undefined {
  const tools = Array.isArray(chat.tools) ? chat.tools : [];
  const isOther = tools.some((tool) => (asObject(tool).type ?? 'function') !== 'function');
  return (
    obstacleIn(chat) ?? (says(chat.web_search_options) ? 'web_search_options' : isOther ? 'tools' : undefined)
  );
}

/** Parameters that mean something in the answer, and the values that say nothing. */
const MISSING: Missing = new Map<string, (value: unknown) => boolean>([
  ['logprobs', (value) => value === false],
  ['top_logprobs', (value) => value === 0],
  ['logit_bias', isEmpty],
]);

function refusalOf(chat: ChatBody): BridgeRefusal | undefined {
  const param = missingIn(chat, MISSING) ?? obstacleIn(chat);
  return param === undefined ? undefined : unsupported(param);
}

function longestOf(
  { model, max_completion_tokens, max_tokens }: ChatBody,
  { longestAnswer }: BridgeOptions,
): number {
  const said = max_completion_tokens ?? max_tokens;
  return typeof said === 'number'
    ? said
    : (longestAnswer ?? longestAnswerOf(asString(model)) ?? USUAL_ANSWER);
}

function outputFrom(
  { response_format }: ChatBody,
  effort: string | undefined,
  notices: Set<string>,
): JsonObject {
  const { type, json_schema } = asObject(response_format);
  if (type === 'json_object') notices.add('response_format_dropped');
  const isSchema = type === 'json_schema';
  const format = isSchema ? { format: { type, schema: asObject(json_schema).schema } } : {};
  const config = { ...(effort === undefined ? {} : { effort }), ...format };
  return isEmpty(config) ? {} : { output_config: config };
}

/** What the API has not, and does without; and the values that say nothing. */
const DROPPED: Missing = new Map<string, (value: unknown) => boolean>([
  ['seed', () => false],
  ['frequency_penalty', (value) => value === 0],
  ['presence_penalty', (value) => value === 0],
  ['verbosity', (value) => value === 'medium'],
  ['store', (value) => value === false],
]);

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);

function otherFields(chat: ChatBody, notices: Set<string>): JsonObject {
  for (const [name, saysNothing] of DROPPED)
    if (says(chat[name]) && !saysNothing(chat[name])) notices.add(`${name}_dropped`);
  const { stop, user, safety_identifier, service_tier, stream, top_k, [MARK_FIELD]: mark } = chat;
  const stops = (Array.isArray(stop) ? stop : [stop]).filter((text) => says(text) && text !== '');
  const tier = TIERS.get(service_tier);
  if (says(service_tier) && tier === undefined) notices.add('service_tier_dropped');
  const user_id = user ?? safety_identifier;
  return {
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...(says(user_id) ? { metadata: { user_id } } : {}),
    ...(tier === undefined ? {} : { service_tier: tier }),
    ...(says(top_k) ? { top_k } : {}),
    ...(isObject(mark) ? { [MARK_FIELD]: mark } : {}),
    ...(typeof stream === 'boolean' ? { stream } : {}),
  };
}

function asksUsage({ stream_options }: ChatBody): boolean {
  return asObject(stream_options).include_usage === true;
}

/** A body with Precis's marks, which are where its views of Messages have them. */
function marked(body: Uint8Array, json: string, { marksCache = false }: BridgeOptions): Uint8Array {
  if (!marksCache || json.includes(`"${MARK_FIELD}":{`)) return body;
  const request = readMessagesRequest(body);
  if (!request.ok) return body;
  return request.value.write(undefined, { marks: MESSAGES_MARKS.most, movesMark: true });
}
