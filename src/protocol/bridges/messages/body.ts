/**
 * A chat body as a body of Messages (https://platform.claude.com/docs/en/api/messages/create).
 *
 * The marks of the prompt cache that the view has are kept: for Claude's models chat has the same
 * ones. Only a body without any gets Precis's here, if it may.
 */
import { asNumber, asObject, asObjects, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { claudeTermsOf } from '../../../memory/models/claude-terms.ts';
import { longestAnswerOf } from '../../../memory/models/facts.ts';
import { MARK_FIELD } from '../../messages/block.ts';
import { withTrimmedEnd } from '../../messages/compaction.ts';
import type { Bridge, ChatBody } from '../bridge.ts';
import { fieldsIn, fieldTable, member, obstacleIn, saying, says, writingOf } from '../chat-fields.ts';
import { readerOf } from '../feed.ts';
import { MessageFeed } from './answer.ts';
import { withOwnMarks } from './marks.ts';
import { marked } from './parts.ts';
import { enforceable } from './schemas.ts';
import { samplingFrom, thinkingFrom } from './thinking.ts';
import { toolsFrom } from './tools.ts';
import { isUnthought, turnsOf, withLastThought } from './turns.ts';

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
    same: 'model stream',
    written:
      'messages max_tokens max_completion_tokens stop temperature top_p top_k reasoning reasoning_effort thinking response_format tools tool_choice parallel_tool_calls user safety_identifier service_tier stream_options cache_control prompt_cache_key',
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
    const writing = writingOf(options, (name) => NAME.test(name));
    const { names, notices } = writing;
    const { same, refusal } = fieldsIn(chat, FIELDS, notices);
    if (refusal) return refusal;
    const model = asString(chat.model);
    const terms = claudeTermsOf(model);
    const { system, turns } = turnsOf(chat, kept, terms, writing);
    const { choice, isForced, tools } = toolsFrom(chat, terms, writing);
    const most = chat.max_completion_tokens ?? chat.max_tokens;
    const max_tokens = most ?? options.longestAnswer ?? longestAnswerOf(model) ?? USUAL_ANSWER;
    const asked = { terms, maxTokens: asNumber(max_tokens), isForced, isUnthought: () => isUnthought(turns) };
    const { thinking, effort } = thinkingFrom(chat, asked, writing);
    const plain = { tools, system, turns: withLastThought(turns, thinking) };
    const isMarked = options.marksCache !== true || isObject(chat[MARK_FIELD]);
    const body = isMarked ? plain : withOwnMarks(plain, model);
    const fields = {
      ...same,
      max_tokens,
      ...member('system', body.system),
      ...member('tools', body.tools),
      tool_choice: choice,
      thinking,
      ...member('output_config', saying({ effort, format: formatFrom(chat, notices) })),
      ...samplingFrom(chat, terms, thinking, notices),
      ...otherFields(chat, notices),
    };
    const said = body.turns.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks.join(',')}]}`);
    const json = `${JSON.stringify(fields).slice(0, -1)},"messages":[${said.join(',')}]}`;
    const bytes = encoder.encode(json);
    return {
      headers: [VERSION],
      listed: /"source":\{"type":"file"/.test(json) ? FILES : undefined,
      body: chat.messages.at(-1)?.role === 'assistant' ? withTrimmedEnd(bytes) : bytes,
      reader: readerOf(chat, options, (writer) => new MessageFeed({ names, options }, writer)),
      notices: [...notices],
    };
  },
};

/** A type that nobody knows is sent, so that the API says what is wrong. */
function formatFrom({ response_format }: ChatBody, notices: Set<string>): JsonObject | undefined {
  const { type, json_schema, ...rest } = asObject(response_format);
  if (type === 'json_object') notices.add('response_format_dropped');
  if (type === undefined || type === 'text' || type === 'json_object') return undefined;
  if (type !== 'json_schema') return { type, ...rest };
  const { schema, description } = asObject(json_schema);
  if (!isObject(schema)) return { type, schema };
  return { type, schema: enforceable({ ...saying({ description }), ...schema }, notices) };
}

const TIERS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({ auto: 'auto', default: 'standard_only' }),
);

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
    ...member('stop_sequences', stops),
    ...member('metadata', saying({ user_id })),
    service_tier: tier,
    ...marked(mark),
  };
}
