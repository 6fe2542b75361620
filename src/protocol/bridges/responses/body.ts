/**
 * A chat body as a body of the Responses API
 * (https://platform.openai.com/docs/guides/migrate-to-responses). What neither API knows is passed
 * on. System messages stay messages: `instructions` come after `input` in newer models, and would
 * not be at the beginning of what is cached.
 */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { mayReason } from '../../../memory/models/upstream-apis.ts';
import type { Bridge, BridgeOptions, ChatBody } from '../bridge.ts';
import { isEmpty, type Missing, missingIn, obstacleIn, says, unsupported } from '../chat-fields.ts';
import { ShortNames } from '../short-names.ts';
import { ResponsesReader } from './answer.ts';
import { inputOf } from './messages.ts';
import { choiceFrom, formatFrom, toolFrom, webSearchFrom } from './tools.ts';

/** The least that `max_output_tokens` may be. */
const FEWEST_TOKENS = 16;

const encoder = new TextEncoder();

/** Chat in, Responses out. */
export const responsesBridge: Bridge = {
  api: 'responses',
  obstacle: obstacleIn,
  body(chat, kept, options) {
    const missing = missingIn(chat, MISSING);
    if (missing !== undefined) return unsupported(missing);
    const names = new ShortNames(options.sha256);
    const notices = new Set<string>();
    const fields = fieldsFrom(chat, options, names, notices);
    const input = inputOf(chat, kept, options, { names, notices });
    const json = `${JSON.stringify(fields).slice(0, -1)},"input":${input}}`;
    const reader = new ResponsesReader({
      names,
      tools: new Set(toolsIn(chat).map(nameOf)),
      asksUsage: asObject(chat.stream_options).include_usage === true,
      showsReasoning: options.showsReasoning,
    });
    return { path: 'responses', headers: [], body: encoder.encode(json), reader, notices: [...notices] };
  },
};

/** What chat does not have: it names what the API has stored, or is written here. */
const STATE = ['input', 'instructions', 'previous_response_id', 'conversation', 'prompt', 'background'];

/** Parameters that the Responses API does not have, and the values that say nothing. */
const MISSING: Missing = new Map([
  ['stop', isEmpty],
  ['logit_bias', isEmpty],
  ['frequency_penalty', (value) => value === 0],
  ['presence_penalty', (value) => value === 0],
  ...STATE.map((name) => [name, () => false] as const),
]);

/** Members that are written elsewhere, or that say nothing in the other API. */
const OWN = new Set([
  ...['messages', 'n', 'seed', 'modalities', ...MISSING.keys()],
  ...['max_tokens', 'max_completion_tokens', 'reasoning', 'reasoning_effort', 'verbosity', 'text'],
  ...['response_format', 'tools', 'tool_choice', 'web_search_options', 'include', 'logprobs'],
  'stream_options',
]);

/** Where 1 is the default, which reasoning models refuse to be sent. */
const DEFAULT_IS_ONE = new Set(['temperature', 'top_p']);

/** All members but `input`. */
function fieldsFrom(
  chat: ChatBody,
  { showsReasoning }: BridgeOptions,
  names: ShortNames,
  notices: Set<string>,
): JsonObject {
  const same = Object.entries(chat).filter(
    ([key, value]) => says(value) && !OWN.has(key) && !(DEFAULT_IS_ONE.has(key) && value === 1),
  );
  if (says(chat.seed)) notices.add('seed_dropped');
  const { include_obfuscation } = asObject(chat.stream_options);
  const searched = isObject(chat.web_search_options) ? [webSearchFrom(chat.web_search_options)] : [];
  const tools = [...toolsIn(chat).map((tool) => toolFrom(tool, names)), ...searched];
  return {
    ...Object.fromEntries(same),
    store: chat.store ?? false,
    ...includeFrom(chat),
    ...lengthFrom(chat, notices),
    ...member('reasoning', {
      ...(showsReasoning ? { summary: 'auto' } : {}),
      ...asObject(chat.reasoning),
      ...(says(chat.reasoning_effort) ? { effort: chat.reasoning_effort } : {}),
    }),
    ...member('text', {
      ...asObject(chat.text),
      ...(says(chat.verbosity) ? { verbosity: chat.verbosity } : {}),
      ...(says(chat.response_format) ? { format: formatFrom(chat.response_format) } : {}),
    }),
    ...(tools.length > 0 ? { tools } : {}),
    ...(says(chat.tool_choice) ? { tool_choice: choiceFrom(chat.tool_choice, names) } : {}),
    ...(include_obfuscation === undefined ? {} : { stream_options: { include_obfuscation } }),
  };
}

/** A member with its value; none if the value says nothing. */
function member(name: string, value: JsonObject): JsonObject {
  return isEmpty(value) ? {} : { [name]: value };
}

/** Models that don't reason refuse to be asked for reasoning. */
function includeFrom({ model, include, logprobs }: ChatBody): JsonObject {
  const asked: unknown[] = Array.isArray(include) ? include : [];
  const reasoning = mayReason(asString(model)) ? ['reasoning.encrypted_content'] : [];
  const probabilities = logprobs === true ? ['message.output_text.logprobs'] : [];
  const all = [...new Set([...asked, ...reasoning, ...probabilities])];
  return all.length > 0 ? { include: all } : {};
}

function lengthFrom({ max_completion_tokens, max_tokens }: ChatBody, notices: Set<string>): JsonObject {
  const most = max_completion_tokens ?? max_tokens;
  if (!says(most)) return {};
  const isFewer = typeof most === 'number' && most > 0 && most < FEWEST_TOKENS;
  if (isFewer) notices.add('max_tokens_raised');
  return { max_output_tokens: isFewer ? FEWEST_TOKENS : most };
}

function toolsIn({ tools }: ChatBody): unknown[] {
  return Array.isArray(tools) ? tools : [];
}

function nameOf(tool: unknown): string {
  const { name, function: called, custom } = asObject(tool);
  return asString(name ?? asObject(called).name ?? asObject(custom).name);
}
