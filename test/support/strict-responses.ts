/**
 * The body of `POST /v1/responses` as OpenAI's API accepts it, no more and no less.
 * https://platform.openai.com/docs/api-reference/responses/create
 */
import type { StrictOptions } from './strict-chat.ts';

type Fields = Record<string, unknown>;

const BODY_FIELDS = new Set(
  [
    'model input instructions tools tool_choice parallel_tool_calls stream stream_options temperature top_p',
    'max_output_tokens max_tool_calls user safety_identifier prompt_cache_key metadata store service_tier text',
    'reasoning include truncation previous_response_id conversation background top_logprobs context_management prompt',
  ]
    .join(' ')
    .split(' '),
);

const ITEM_FIELDS: Readonly<Record<string, string>> = {
  message: 'type role content id status phase',
  function_call: 'type call_id name arguments id status',
  function_call_output: 'type call_id output id status',
  custom_tool_call: 'type call_id name input id',
  custom_tool_call_output: 'type call_id output id',
  reasoning: 'type id summary content encrypted_content status',
  web_search_call: 'type id status action',
  item_reference: 'type id',
  compaction: 'type id encrypted_content',
};

const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  system: ['input_text'],
  developer: ['input_text'],
  assistant: ['output_text', 'refusal'],
};

/** All that OpenAI's API would hold against this body: one sentence each, beginning with the field. Empty when it would be accepted. */
export function responsesViolations(body: unknown, options: StrictOptions = {}): string[] {
  if (typeof body !== 'object' || body === null) return ['body: not a JSON object'];
  const { input, model, ...rest } = body as Fields;
  const found = Object.keys(rest).flatMap((key) =>
    BODY_FIELDS.has(key) ? [] : [`${key}: unknown parameter`],
  );
  if (typeof model !== 'string') found.push('model: missing');
  if (typeof input === 'string') return found;
  if ((input ?? null) === null && rest.prompt !== undefined) return found;
  if (!Array.isArray(input) || input.length === 0) return [...found, 'input: missing'];
  return [
    ...found,
    ...input.flatMap((item, index) => itemViolations(item, index, options)),
    ...pairViolations(input),
    ...idViolations(input),
  ];
}

function itemViolations(item: Fields, index: number, { jsonArguments }: StrictOptions): string[] {
  const at = `input[${index}]`;
  const type = String(item.type ?? 'message');
  const fields = ITEM_FIELDS[type]?.split(' ');
  if (!fields) return [`${at}.type: unknown type ${type}`];
  const unknown = Object.keys(item).filter((key) => !fields.includes(key));
  const found = unknown.map((key) => `${at}.${key}: unknown parameter`);
  if (type === 'message') found.push(...messageViolations(item, at));
  if (type.endsWith('_output') && !isText(item.output, ['input_text', 'input_image', 'input_file']))
    found.push(`${at}.output: neither a text nor parts`);
  if (jsonArguments && type === 'function_call' && !isObject(item.arguments))
    found.push(`${at}.arguments: no JSON object`);
  return found;
}

function messageViolations({ role, content }: Fields, at: string): string[] {
  const parts = PARTS[String(role)];
  if (!parts) return [`${at}.role: unknown role`];
  if (content === '' || (Array.isArray(content) && content.length === 0)) return [`${at}.content: empty`];
  return isText(content, parts) ? [] : [`${at}.content: neither a text nor parts of a ${role} message`];
}

function isText(content: unknown, parts: readonly string[]): boolean {
  if (typeof content === 'string') return true;
  return Array.isArray(content) && content.every((part: Fields) => parts.includes(String(part.type)));
}

/** A result answers an earlier call, every call has a result, and reasoning is followed by what it has led to. */
function pairViolations(input: readonly Fields[]): string[] {
  const found: string[] = [];
  const open: string[] = [];
  for (const [index, { type, call_id }] of input.entries()) {
    const id = String(call_id);
    if (type === 'function_call' || type === 'custom_tool_call') open.push(id);
    if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      const call = open.lastIndexOf(id);
      if (call < 0)
        found.push(`input[${index}]: no tool call found for function call output with call_id ${id}`);
      else open.splice(call, 1);
    }
    const next = input[index + 1];
    const follows = next && (next.role === 'assistant' || /_call$|^reasoning$/.test(String(next.type)));
    if (type === 'reasoning' && !follows)
      found.push(`input[${index}]: item of type reasoning was provided without its required following item`);
  }
  return [...found, ...open.map((id) => `input: no tool output found for function call ${id}`)];
}

function idViolations(input: readonly Fields[]): string[] {
  const ids = input.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  return ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `input: duplicate item id ${id}`);
}

function isObject(json: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(json));
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
