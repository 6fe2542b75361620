/**
 * The chat-completions request body as OpenAI's API accepts it, no more and no less.
 * https://platform.openai.com/docs/api-reference/chat/create
 *
 * Upstreams differ in what they tolerate; a body without violations is refused by none of them. Two
 * unusual things are allowed: an empty string as content, since tools may print nothing, and the
 * same tool_call_id in different turns, since real traffic repeats ids.
 */
import { checkSurrogates, isFields, isName, type Json, type Report } from './json.ts';

export interface StrictOptions {
  /**
   * Also require valid JSON in the `arguments` of function calls. Off by default, since real
   * traffic has others.
   */
  jsonArguments?: boolean;
  /** Allow unknown fields in messages, and `GENERATED` in parts of their content. */
  lenientFields?: boolean;
}

/** A member of generated parts (arbitrary-conversation.ts), as gateways add them. */
const GENERATED = 'source';

const BODY_FIELDS = new Set(
  [
    'model messages tools tool_choice parallel_tool_calls functions function_call stream stream_options temperature',
    'top_p n stop max_tokens max_completion_tokens presence_penalty frequency_penalty logit_bias logprobs',
    'top_logprobs user safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options metadata store seed service_tier',
    'response_format reasoning_effort verbosity modalities audio prediction web_search_options',
  ]
    .join(' ')
    .split(' '),
);

const ASSISTANT_FIELDS =
  'content name refusal audio tool_calls function_call annotations reasoning_content reasoning reasoning_details'.split(
    ' ',
  );

const ROLES = new Map<unknown, { fields: Set<string>; parts: Set<string> }>([
  ['system', role(['content', 'name'], ['text'])],
  ['developer', role(['content', 'name'], ['text'])],
  ['user', role(['content', 'name'], ['text', 'image_url', 'input_audio', 'file'])],
  ['assistant', role(ASSISTANT_FIELDS, ['text', 'refusal'])],
  ['tool', role(['content', 'tool_call_id', 'name'], ['text'])],
  ['function', role(['content', 'name'], [])],
]);

/**
 * All parts may also have `cache_control`, which gateways to other models read, and parts of
 * prompts `prompt_cache_breakpoint`.
 */
const PARTS: Record<string, (part: Json) => boolean> = {
  text: (part) => typeof part.text === 'string',
  refusal: (part) => typeof part.refusal === 'string',
  image_url: (part) => isFields(part.image_url) && isName(part.image_url.url),
  input_audio: (part) =>
    isFields(part.input_audio) && isName(part.input_audio.data) && isName(part.input_audio.format),
  file: (part) => isFields(part.file) && (isName(part.file.file_id) || isName(part.file.file_data)),
};

/**
 * Everything that OpenAI's API would refuse in this body: one sentence each, beginning with the
 * field (`messages[3].tool_calls[0].id: …`). Empty if the body is accepted.
 */
export function violations(body: unknown, options: StrictOptions = {}): string[] {
  const found: string[] = [];
  const report: Report = (sentence) => found.push(sentence);
  if (!isFields(body)) return ['body: not a JSON object'];
  if (!isName(body.model)) report('model: not a non-empty string');
  for (const field of Object.keys(body)) {
    if (!BODY_FIELDS.has(field)) report(`${field}: unknown field`);
  }
  if (body.stream_options !== undefined && body.stream_options !== null && body.stream !== true) {
    report('stream_options: only allowed when stream is true');
  }
  checkTools(body, report);
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    report('messages: not a non-empty array');
    return found;
  }
  body.messages.forEach((message, at) => {
    checkMessage(message, `messages[${at}]`, options, report);
  });
  checkPairing(body.messages, report);
  checkSurrogates(body, '', (at) => `[${at}]`, report);
  return found;
}

function checkTools(body: Json, report: Report): void {
  if (body.tools === undefined) {
    if (body.tool_choice !== undefined) report('tool_choice: only allowed when tools are given');
    return;
  }
  if (!Array.isArray(body.tools) || body.tools.length === 0) {
    report('tools: not a non-empty array');
    return;
  }
  body.tools.forEach((tool, at) => {
    const kind = isFields(tool) ? tool.type : undefined;
    if (!isFields(tool) || (kind !== 'function' && kind !== 'custom')) {
      report(`tools[${at}].type: neither "function" nor "custom"`);
    } else if (!isFields(tool[kind]) || !/^[\w-]{1,64}$/.test(String(tool[kind].name))) {
      report(`tools[${at}].${kind}.name: does not match ^[a-zA-Z0-9_-]{1,64}$`);
    }
  });
}

function checkMessage(message: unknown, path: string, options: StrictOptions, report: Report): void {
  if (!isFields(message)) {
    report(`${path}: not an object`);
    return;
  }
  const rules = ROLES.get(message.role);
  if (!rules) {
    report(`${path}.role: unknown role ${JSON.stringify(message.role)}`);
    return;
  }
  for (const field of Object.keys(message)) {
    if (!options.lenientFields && !rules.fields.has(field)) {
      report(`${path}.${field}: unknown field of a message with role ${message.role}`);
    }
  }
  if (message.name !== undefined && !isName(message.name)) report(`${path}.name: not a non-empty string`);
  if (message.role === 'tool' && !isName(message.tool_call_id)) {
    report(`${path}.tool_call_id: not a non-empty string`);
  }
  if (message.role === 'function' && message.name === undefined) report(`${path}.name: missing`);
  if (message.role === 'assistant') checkCalls(message, path, options, report);
  checkContent(message, path, rules.parts, options, report);
}

function checkContent(
  message: Json,
  path: string,
  parts: Set<string>,
  options: StrictOptions,
  report: Report,
): void {
  const { content } = message;
  if (typeof content === 'string') return;
  if (content === undefined || content === null) {
    if (message.role === 'function' && content === null) return;
    if (message.role !== 'assistant') {
      report(`${path}.content: missing`);
      return;
    }
    const instead = [message.tool_calls, message.function_call, message.refusal, message.audio];
    if (instead.every((value) => value === undefined || value === null)) {
      report(`${path}.content: missing, and the assistant message has neither calls, refusal nor audio`);
    }
    return;
  }
  if (!Array.isArray(content)) {
    report(`${path}.content: neither a string nor an array of parts`);
    return;
  }
  if (content.length === 0) {
    report(`${path}.content: an empty array`);
    return;
  }
  content.forEach((part, at) => {
    const kind = isFields(part) && typeof part.type === 'string' ? part.type : undefined;
    if (kind === undefined || !parts.has(kind)) {
      report(`${path}.content[${at}].type: not a part type of role ${message.role}`);
    } else if (!PARTS[kind]?.(part)) {
      report(`${path}.content[${at}]: a ${kind} part without its required fields`);
    } else {
      for (const field of Object.keys(part)) {
        const mayMark = field === 'prompt_cache_breakpoint' && message.role !== 'assistant';
        const isGenerated = options.lenientFields && field === GENERATED;
        if (field !== 'type' && field !== kind && field !== 'cache_control' && !mayMark && !isGenerated) {
          report(`${path}.content[${at}].${field}: unknown field of a ${kind} part`);
        }
      }
    }
  });
}

function checkCalls(message: Json, path: string, options: StrictOptions, report: Report): void {
  const { tool_calls: calls, function_call: legacy } = message;
  if (legacy !== undefined && legacy !== null)
    checkFunction(legacy, `${path}.function_call`, options, report);
  if (calls === undefined) return;
  if (!Array.isArray(calls) || calls.length === 0) {
    report(`${path}.tool_calls: not a non-empty array`);
    return;
  }
  calls.forEach((call, at) => {
    const field = `${path}.tool_calls[${at}]`;
    if (!isFields(call)) {
      report(`${field}: not an object`);
      return;
    }
    if (!isName(call.id)) report(`${field}.id: not a non-empty string`);
    if (call.type === 'function') {
      checkFunction(call.function, `${field}.function`, options, report);
    } else if (call.type === 'custom') {
      const { custom } = call;
      if (!isFields(custom) || !isName(custom.name) || typeof custom.input !== 'string') {
        report(`${field}.custom: not an object with a name and a string as input`);
      }
    } else {
      report(`${field}.type: neither "function" nor "custom"`);
    }
  });
}

function checkFunction(call: unknown, path: string, options: StrictOptions, report: Report): void {
  if (!isFields(call)) {
    report(`${path}: not an object`);
    return;
  }
  if (!isName(call.name)) report(`${path}.name: not a non-empty string`);
  if (typeof call.arguments !== 'string') {
    report(`${path}.arguments: not a string`);
    return;
  }
  if (!options.jsonArguments) return;
  try {
    JSON.parse(call.arguments);
  } catch {
    report(`${path}.arguments: not valid JSON`);
  }
}

/**
 * Pairs by position, not by id over the whole array: an id is answered in the run of tool messages
 * right after its call.
 */
function checkPairing(messages: unknown[], report: Report): void {
  let asked: { at: number; waiting: Set<string>; answered: Set<string> } | undefined;
  const close = () => {
    if (!asked) return;
    for (const id of asked.waiting) {
      report(`messages[${asked.at}]: tool_call_id ${id} is not answered by the tool messages that follow`);
    }
    asked = undefined;
  };
  messages.forEach((message, at) => {
    if (!isFields(message)) return;
    if (message.role !== 'tool') {
      close();
      const ids = callIds(message);
      if (ids.length === 0) return;
      if (new Set(ids).size < ids.length) report(`messages[${at}].tool_calls: two calls share an id`);
      asked = { at, waiting: new Set(ids), answered: new Set() };
      return;
    }
    const id = String(message.tool_call_id);
    if (!asked) {
      report(`messages[${at}]: tool message does not follow an assistant message with tool_calls`);
    } else if (asked.waiting.delete(id)) {
      asked.answered.add(id);
    } else if (asked.answered.has(id)) {
      report(`messages[${at}]: second answer to tool_call_id ${id}`);
    } else {
      report(`messages[${at}]: tool_call_id ${id} is no call of messages[${asked.at}]`);
    }
  });
  close();
}

function callIds(message: Json): string[] {
  if (message.role !== 'assistant' || !Array.isArray(message.tool_calls)) return [];
  return message.tool_calls.filter(isFields).map((call) => String(call.id));
}

function role(fields: string[], parts: string[]): { fields: Set<string>; parts: Set<string> } {
  return { fields: new Set(['role', ...fields]), parts: new Set(parts) };
}
