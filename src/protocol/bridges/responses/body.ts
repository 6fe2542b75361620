/**
 * A chat body as a body of the Responses API
 * (https://platform.openai.com/docs/guides/migrate-to-responses). What neither API knows is passed
 * on. System messages stay messages: `instructions` come after `input` in newer models, and would
 * not be at the beginning of what is cached.
 */
import { asList, asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { mayReason } from '../../../memory/models/upstream-apis.ts';
import { nameOf } from '../../tool-choice.ts';
import type { Bridge, ChatBody } from '../bridge.ts';
import {
  fieldsIn,
  fieldTable,
  member,
  obstacleIn,
  saying,
  says,
  type Writing,
  writingOf,
} from '../chat-fields.ts';
import { readerOf } from '../feed.ts';
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
    const writing = writingOf(options);
    const { names, notices } = writing;
    const { same, refusal } = fieldsIn(chat, FIELDS, notices);
    if (refusal) return refusal;
    const fields = { ...same, ...fieldsFrom(chat, writing) };
    const json = `${JSON.stringify(fields).slice(0, -1)},"input":${inputOf(chat, kept, writing)}}`;
    const asked = { names, tools: new Set(asList(chat.tools).map(nameOf)) };
    const reader = readerOf(chat, options, (writer) => new ResponseFeed(asked, writer));
    return { headers: [], body: encoder.encode(json), reader, notices: [...notices] };
  },
};

/** The members that are written in another form. */
function fieldsFrom(chat: ChatBody, { options, names, notices }: Writing): JsonObject {
  const { response_format, web_search_options: search } = chat;
  const format = says(response_format) ? formatFrom(response_format) : undefined;
  const tools = asList(chat.tools).map((tool) => toolFrom(tool, names, notices));
  const { include_obfuscation } = asObject(chat.stream_options);
  return {
    store: chat.store ?? false,
    max_output_tokens: lengthFrom(chat, notices),
    tool_choice: choiceFrom(chat.tool_choice ?? undefined, names),
    ...member('include', includeFrom(chat)),
    ...member('reasoning', {
      ...(options.showsReasoning ? { summary: 'auto' } : {}),
      ...asObject(chat.reasoning),
      ...saying({ effort: chat.reasoning_effort }),
    }),
    ...member('text', { ...asObject(chat.text), ...saying({ verbosity: chat.verbosity, format }) }),
    ...member('tools', isObject(search) ? [...tools, webSearchFrom(search)] : tools),
    ...member('stream_options', saying({ include_obfuscation })),
  };
}

/** Models that don't reason refuse to be asked for reasoning. */
function includeFrom({ model, include, logprobs }: ChatBody): unknown[] {
  const reasoning = mayReason(asString(model)) ? ['reasoning.encrypted_content'] : [];
  const probabilities = logprobs === true ? ['message.output_text.logprobs'] : [];
  return [...new Set([...asList(include), ...reasoning, ...probabilities])];
}

function lengthFrom({ max_completion_tokens, max_tokens }: ChatBody, notices: Set<string>): unknown {
  const most = max_completion_tokens ?? max_tokens ?? undefined;
  if (typeof most !== 'number' || most <= 0 || most >= FEWEST_TOKENS) return most;
  notices.add('max_tokens_raised');
  return FEWEST_TOKENS;
}
