/**
 * A chat body as a body of the Responses API
 * (https://platform.openai.com/docs/guides/migrate-to-responses). What neither API knows is passed
 * on. System messages stay messages: `instructions` come after `input` in newer models, and would
 * not be at the beginning of what is cached.
 */
import { asList, asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { mayReason } from '../../../memory/models/upstream-apis.ts';
import { nameOf } from '../../tool-choice.ts';
import type { Bridge, BridgeOptions, ChatBody } from '../bridge.ts';
import { fieldsIn, fieldTable, formOf, member, obstacleIn, saying, says } from '../chat-fields.ts';
import { readerOf } from '../feed.ts';
import { ShortNames } from '../short-names.ts';
import { ResponseFeed } from './answer.ts';
import { inputOf } from './messages.ts';
import { choiceFrom, formatFrom, toolFrom, webSearchFrom } from './tools.ts';

/** The least that `max_output_tokens` may be. */
const FEWEST_TOKENS = 16;

const encoder = new TextEncoder();

/** All parameters of chat, with what names the state of the API: nothing of that is chat's. */
const FIELDS = fieldTable(
  {
    same: 'model stream metadata user safety_identifier service_tier parallel_tool_calls temperature top_p top_logprobs prompt_cache_key prompt_cache_options prompt_cache_retention',
    written:
      'messages max_tokens max_completion_tokens reasoning reasoning_effort verbosity text response_format tools tool_choice web_search_options include logprobs store stream_options',
    chat: 'n audio modalities prediction functions function_call moderation',
    dropped: 'seed',
    refused:
      'stop logit_bias frequency_penalty presence_penalty input instructions previous_response_id conversation prompt background',
  },
  'same',
);

/** Chat in, Responses out. */
export const responsesBridge: Bridge = {
  api: 'responses',
  obstacle: (chat) => obstacleIn(chat, FIELDS),
  body(chat, kept, options) {
    const notices = new Set<string>();
    const { same, refusal } = fieldsIn(chat, FIELDS, notices);
    if (refusal) return refusal;
    const names = new ShortNames(options.sha256);
    const fields = { ...same, ...fieldsFrom(chat, options, names, notices) };
    const input = inputOf(chat, kept, options, { names, notices });
    const json = `${JSON.stringify(fields).slice(0, -1)},"input":${input}}`;
    const asked = { names, tools: new Set(asList(chat.tools).map(nameOf)) };
    const reader = readerOf(formOf(chat, options), (writer) => new ResponseFeed(asked, writer));
    return { path: 'responses', headers: [], body: encoder.encode(json), reader, notices: [...notices] };
  },
};

/** The members that are written in another form. */
function fieldsFrom(
  chat: ChatBody,
  { showsReasoning }: BridgeOptions,
  names: ShortNames,
  notices: Set<string>,
): JsonObject {
  const { include_obfuscation } = asObject(chat.stream_options);
  const searched = isObject(chat.web_search_options) ? [webSearchFrom(chat.web_search_options)] : [];
  const tools = [...asList(chat.tools).map((tool) => toolFrom(tool, names, notices)), ...searched];
  return {
    store: chat.store ?? false,
    ...includeFrom(chat),
    ...lengthFrom(chat, notices),
    ...member('reasoning', {
      ...(showsReasoning ? { summary: 'auto' } : {}),
      ...asObject(chat.reasoning),
      ...saying({ effort: chat.reasoning_effort }),
    }),
    ...member('text', {
      ...asObject(chat.text),
      ...saying({ verbosity: chat.verbosity }),
      ...(says(chat.response_format) ? { format: formatFrom(chat.response_format) } : {}),
    }),
    ...(tools.length > 0 ? { tools } : {}),
    ...(says(chat.tool_choice) ? { tool_choice: choiceFrom(chat.tool_choice, names) } : {}),
    ...(include_obfuscation === undefined ? {} : { stream_options: { include_obfuscation } }),
  };
}

/** Models that don't reason refuse to be asked for reasoning. */
function includeFrom({ model, include, logprobs }: ChatBody): JsonObject {
  const reasoning = mayReason(asString(model)) ? ['reasoning.encrypted_content'] : [];
  const probabilities = logprobs === true ? ['message.output_text.logprobs'] : [];
  const all = [...new Set([...asList(include), ...reasoning, ...probabilities])];
  return all.length > 0 ? { include: all } : {};
}

function lengthFrom({ max_completion_tokens, max_tokens }: ChatBody, notices: Set<string>): JsonObject {
  const most = max_completion_tokens ?? max_tokens;
  if (!says(most)) return {};
  const isFewer = typeof most === 'number' && most > 0 && most < FEWEST_TOKENS;
  if (isFewer) notices.add('max_tokens_raised');
  return { max_output_tokens: isFewer ? FEWEST_TOKENS : most };
}
