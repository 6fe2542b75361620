/**
 * A chat body as a body of Messages (https://platform.claude.com/docs/en/api/messages/create).
 *
 * The marks of the prompt cache that the view has are kept: for Claude's models chat has the same
 * ones. Only a body without any gets Precis's here, if it may.
 */
import { asObject, asObjects, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { claudeTermsOf } from '../../../memory/models/claude-terms.ts';
import { longestAnswerOf } from '../../../memory/models/facts.ts';
import { MARK_FIELD } from '../../messages/block.ts';
import { withTrimmedEnd } from '../../messages/compaction.ts';
import type { Bridge, BridgeOptions, ChatBody } from '../bridge.ts';
import { fieldsIn, fieldTable, formOf, member, obstacleIn, saying, says } from '../chat-fields.ts';
import { readerOf } from '../feed.ts';
import { ShortNames } from '../short-names.ts';
import { MessageFeed } from './answer.ts';
import { withOwnMarks } from './marks.ts';
import { enforceable } from './schemas.ts';
import { samplingFrom, thinkingFrom } from './thinking.ts';
import { toolsFrom } from './tools.ts';
import { messagesJson, turnsOf } from './turns.ts';

const VERSION: readonly [string, string] = ['anthropic-version', '2023-06-01'];
/** For files that the API has stored. */
const FILES: readonly [string, string] = ['anthropic-beta', 'files-api-2025-04-14'];

/** The most tokens of an answer by a model that nobody knows. */
const USUAL_ANSWER = 32_000;

/** Of names of tools and ids of calls. */
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const encoder = new TextEncoder();

/** All parameters of chat. The cache of this API needs no key. */
const FIELDS = fieldTable(
  {
    same: 'model stream top_k',
    written:
      'messages max_tokens max_completion_tokens stop temperature top_p reasoning reasoning_effort thinking response_format tools tool_choice parallel_tool_calls user safety_identifier service_tier stream_options cache_control prompt_cache_key',
    chat: 'n audio modalities prediction functions function_call web_search_options moderation',
    dropped:
      'seed frequency_penalty presence_penalty verbosity store metadata prompt_cache_options prompt_cache_retention',
    refused: 'logprobs top_logprobs logit_bias',
  },
  'refused',
);

/** Chat in, Messages out. */
export const messagesBridge: Bridge = {
  api: 'messages',
  /** Tools of other types have answers that chat can't show, or inputs that are no objects. */
  obstacle(chat) {
    const isOther = asObjects(chat.tools).some(({ type }) => (type ?? 'function') !== 'function');
    return obstacleIn(chat, FIELDS) ?? (isOther ? 'tools' : undefined);
  },
  body(chat, kept, options) {
    const notices = new Set<string>();
    const { same, refusal } = fieldsIn(chat, FIELDS, notices);
    if (refusal) return refusal;
    const names = new ShortNames(options.sha256, (name) => NAME.test(name));
    const terms = claudeTermsOf(asString(chat.model));
    const said = turnsOf(chat, kept, { names, notices, options, terms });
    const { choice, isForced, tools } = toolsFrom(chat, terms, { names, notices, options });
    const max_tokens = longestOf(chat, options);
    const maxTokens = typeof max_tokens === 'number' ? max_tokens : 0;
    const { showsReasoning, marksCache } = options;
    const { isUnthought } = said;
    const asked = { terms, maxTokens, isForced, showsReasoning, isUnthought, notices };
    const { thinking, effort } = thinkingFrom(chat, asked);
    const plain = { ...said, tools };
    const isMarked = !marksCache || isObject(chat[MARK_FIELD]);
    const body = isMarked ? plain : withOwnMarks(plain, asString(chat.model));
    const fields = {
      ...same,
      max_tokens,
      ...(body.system.length > 0 ? { system: body.system } : {}),
      ...(body.tools.length > 0 ? { tools: body.tools } : {}),
      ...(choice ? { tool_choice: choice } : {}),
      ...(thinking ? { thinking } : {}),
      ...outputFrom(chat, effort, notices),
      ...samplingFrom(chat, terms, thinking, notices),
      ...otherFields(chat, notices),
    };
    const json = `${JSON.stringify(fields).slice(0, -1)},"messages":${messagesJson(body.turns)}}`;
    const bytes = encoder.encode(json);
    return {
      path: 'messages',
      headers: [VERSION],
      listed: /"source":\{"type":"file"/.test(json) ? FILES : undefined,
      body: chat.messages.at(-1)?.role === 'assistant' ? withTrimmedEnd(bytes) : bytes,
      reader: readerOf(formOf(chat, options), (writer) => new MessageFeed({ names, options }, writer)),
      notices: [...notices],
    };
  },
};

function longestOf(
  { model, max_completion_tokens, max_tokens }: ChatBody,
  { longestAnswer }: BridgeOptions,
): unknown {
  const said = max_completion_tokens ?? max_tokens;
  return said ?? longestAnswer ?? longestAnswerOf(asString(model)) ?? USUAL_ANSWER;
}

function outputFrom(
  { response_format }: ChatBody,
  effort: string | undefined,
  notices: Set<string>,
): JsonObject {
  const format = formatFrom(asObject(response_format), notices);
  return member('output_config', saying({ effort, format }));
}

/** A type that nobody knows is sent, so that the API says what is wrong. */
function formatFrom(
  { type, json_schema, ...rest }: JsonObject,
  notices: Set<string>,
): JsonObject | undefined {
  if (type === 'json_object') notices.add('response_format_dropped');
  if (type === undefined || type === 'text' || type === 'json_object') return undefined;
  if (type !== 'json_schema') return { type, ...rest };
  const { schema, description } = asObject(json_schema);
  if (!isObject(schema)) return { type, schema };
  return { type, schema: enforceable({ ...saying({ description }), ...schema }, notices) };
}

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);

function otherFields(chat: ChatBody, notices: Set<string>): JsonObject {
  const { stop, user, safety_identifier, service_tier, [MARK_FIELD]: mark } = chat;
  const texts = (Array.isArray(stop) ? stop : [stop]).filter((text) => says(text) && text !== '');
  // The API refuses white space alone, and chat's form of it ignores that.
  const stops = texts.filter((text) => typeof text !== 'string' || text.trim() !== '');
  if (stops.length < texts.length) notices.add('stop_dropped');
  const tier = TIERS.get(service_tier);
  if (says(service_tier) && tier === undefined) notices.add('service_tier_dropped');
  const user_id = user ?? safety_identifier;
  return {
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...member('metadata', saying({ user_id })),
    ...saying({ service_tier: tier }),
    ...(isObject(mark) ? { [MARK_FIELD]: mark } : {}),
  };
}
