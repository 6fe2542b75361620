/**
 * The body of `POST /v1/responses` as OpenAI's API accepts it, no more and no less.
 * https://platform.openai.com/docs/api-reference/responses/create
 */
import { isFields, type Json } from './json.ts';
import type { StrictOptions } from './strict-chat.ts';

export interface StrictResponsesOptions extends StrictOptions {
  /** Items stored by the upstream, by id, which `item_reference` items refer to. */
  readonly stored?: ReadonlyMap<string, object>;
  /**
   * The id of the reasoning that led to an item, by the item's id and by its `call_id`. An item
   * with such an id needs that reasoning in every turn; a call needs it in the current one.
   */
  readonly reasoned?: ReadonlyMap<string, string>;
  /** All encrypted reasoning of the upstream: any other could not be verified. */
  readonly issued?: ReadonlySet<string>;
  /** Whether tools that don't say so are strict, as the API has it. */
  readonly strictByDefault?: boolean;
  /** Whether the id of a call may not come again, as some servers have it. */
  readonly uniqueCalls?: boolean;
}

const BODY_FIELDS = new Set(
  [
    'model input instructions tools tool_choice parallel_tool_calls stream stream_options temperature top_p',
    'max_output_tokens max_tool_calls user safety_identifier prompt_cache_key metadata store service_tier text',
    'reasoning include truncation previous_response_id conversation background top_logprobs context_management prompt',
    'prompt_cache_retention prompt_cache_options moderation',
    // Sent by OpenAI's own Codex, though not in the reference.
    'client_metadata',
  ]
    .join(' ')
    .split(' '),
);

const ITEM_FIELDS: Readonly<Record<string, string>> = {
  message: 'type role content id status phase',
  function_call: 'type call_id name arguments id status caller namespace',
  function_call_output: 'type call_id output id status caller',
  custom_tool_call: 'type call_id name input id status caller namespace',
  custom_tool_call_output: 'type call_id output id status caller name',
  reasoning: 'type id summary content encrypted_content status',
  web_search_call: 'type id status action results',
  file_search_call: 'type id queries status results',
  code_interpreter_call: 'type id code container_id outputs status',
  image_generation_call: 'type id result status',
  computer_call: 'type id call_id pending_safety_checks status action actions',
  computer_call_output: 'type call_id output id acknowledged_safety_checks status',
  local_shell_call: 'type id call_id action status',
  local_shell_call_output: 'type id call_id output status',
  shell_call: 'type call_id action id caller environment status',
  shell_call_output: 'type call_id output id caller max_output_length status',
  apply_patch_call: 'type call_id operation status id caller',
  apply_patch_call_output: 'type call_id status id caller output',
  tool_search_call: 'type arguments id call_id execution status',
  tool_search_output: 'type tools id call_id execution status',
  mcp_list_tools: 'type id server_label tools error',
  mcp_approval_request: 'type id arguments name server_label',
  mcp_approval_response: 'type approval_request_id approve id reason',
  mcp_call: 'type id arguments name server_label approval_request_id error output status',
  program: 'type id call_id code fingerprint',
  program_output: 'type id call_id result status',
  additional_tools: 'type role tools id',
  item_reference: 'type id',
  compaction: 'type id encrypted_content',
  compaction_trigger: 'type',
};

/** Fields that these items can't be without, in OpenAI's types. */
const REQUIRED: Readonly<Record<string, string>> = {
  web_search_call: 'id status action',
  file_search_call: 'id queries status',
  code_interpreter_call: 'id code container_id outputs status',
  mcp_call: 'id arguments name server_label',
  local_shell_call_output: 'output',
  shell_call_output: 'call_id output',
  apply_patch_call_output: 'call_id status',
};

/** The fields of the elements in lists of such items, by the type of the element. */
const ELEMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'file_search_call.results': { '': 'attributes file_id filename score text' },
  'code_interpreter_call.outputs': { logs: 'type logs', image: 'type url' },
  'shell_call_output.output': { '': 'stdout stderr outcome' },
};

/** Fields of such items that are strings, if they are there. */
const STRINGS = new Set([
  'mcp_call.output',
  'local_shell_call_output.output',
  'apply_patch_call_output.output',
]);

/** Results that are text or parts; results of other tools have their own forms. */
const TEXT_OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output']);

/** Calls that the client answers; the upstream answers its own tools. */
const ANSWERED = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]);

const RESULTS = new Set([...ANSWERED].map((call) => `${call}_output`));

const TOOL_FIELDS: Readonly<Record<string, string>> = {
  function: 'type name parameters strict description allowed_callers defer_loading output_schema',
  custom: 'type name description format allowed_callers defer_loading',
  namespace: 'type name description tools',
  web_search: 'type filters search_context_size user_location external_web_access',
  file_search: 'type vector_store_ids filters max_num_results ranking_options',
  local_shell: 'type',
  shell: 'type allowed_callers environment',
  apply_patch: 'type allowed_callers',
  tool_search: 'type description execution parameters',
};

const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  system: ['input_text'],
  developer: ['input_text'],
  assistant: ['output_text', 'refusal'],
};

const PART_FIELDS: Readonly<Record<string, string>> = {
  input_text: 'type text prompt_cache_breakpoint',
  input_image: 'type detail file_id image_url prompt_cache_breakpoint',
  input_file: 'type detail file_data file_id file_url filename prompt_cache_breakpoint',
  input_audio: 'type input_audio',
  output_text: 'type text annotations logprobs',
  refusal: 'type refusal',
};

/**
 * Everything that OpenAI's API would refuse in this body: one sentence each, beginning with the
 * field. Empty if the body is accepted.
 */
export function responsesViolations(body: unknown, options: StrictResponsesOptions = {}): string[] {
  if (typeof body !== 'object' || body === null) return ['body: not a JSON object'];
  const { input, model, tools, ...rest } = body as Json;
  const found = unknownFields(rest, BODY_FIELDS, '');
  if (typeof model !== 'string') found.push('model: missing');
  const { stored, reasoned = new Map(), issued, strictByDefault = false, uniqueCalls = false } = options;
  if (Array.isArray(tools))
    found.push(...tools.flatMap((tool, at) => toolViolations(tool, `tools[${at}]`, strictByDefault)));
  const { format } = (rest.text ?? {}) as Json as { format?: Json };
  if (format?.strict === true) found.push(...schemaViolations(format.schema, 'text.format.schema'));
  if (typeof input === 'string') return found;
  if ((input ?? null) === null && rest.prompt !== undefined) return found;
  if (!Array.isArray(input) || input.length === 0) return [...found, 'input: missing'];
  const resolved = input.map((item: Json) =>
    item.type === 'item_reference' ? { ...(stored?.get(String(item.id)) ?? item) } : item,
  );
  return [
    ...found,
    ...input.flatMap((item, index) => itemViolations(item, index, options)),
    ...pairViolations(resolved),
    ...(uniqueCalls ? repeatedCalls(resolved) : []),
    ...(rest.store === false ? unstoredViolations(resolved) : []),
    ...idViolations(input),
    ...(issued ? unknownReasoning(resolved, issued) : []),
    ...reasoningViolations(resolved, reasoned),
  ];
}

function toolViolations(tool: Json, at: string, isStrict: boolean): string[] {
  const type = String(tool.type);
  const fields = TOOL_FIELDS[type]?.split(' ');
  if (!fields) return [`${at}.type: unknown type ${type}`];
  const found = unknownFields(tool, new Set(fields), `${at}.`);
  if (fields.includes('name') && typeof tool.name !== 'string') found.push(`${at}.name: missing`);
  found.push(...lengthViolations(tool, `${at}.`));
  if (type === 'function' && (tool.strict ?? isStrict) === true)
    found.push(...schemaViolations(tool.parameters, `${at}.parameters`));
  const within = type === 'namespace' && Array.isArray(tool.tools) ? tool.tools : [];
  return [
    ...found,
    ...within.flatMap((one, index) => toolViolations(one, `${at}.tools[${index}]`, isStrict)),
  ];
}

/** Structured outputs take objects alone that name all of their properties as required. */
function schemaViolations(schema: unknown, at: string): string[] {
  if (!isFields(schema) || schema.type !== 'object') return [`${at}.type: not an object`];
  return objectViolations(schema, at);
}

function objectViolations(schema: unknown, at: string): string[] {
  if (!isFields(schema)) return [];
  const { type, properties, required, additionalProperties, items, anyOf } = schema;
  const inner = isFields(properties) ? Object.entries(properties) : [];
  const listed = Array.isArray(required) ? required : [];
  const isObject = [type].flat().includes('object');
  return [
    ...(isObject && additionalProperties !== false ? [`${at}.additionalProperties: must be false`] : []),
    ...inner.flatMap(([name, value]) => [
      ...(listed.includes(name) ? [] : [`${at}.required: lacks ${name}`]),
      ...objectViolations(value, `${at}.properties.${name}`),
    ]),
    ...objectViolations(items, `${at}.items`),
    ...(Array.isArray(anyOf) ? anyOf : []).flatMap((one, index) =>
      objectViolations(one, `${at}.anyOf[${index}]`),
    ),
  ];
}

/** In characters. */
const LONGEST_NAME = 64;

function lengthViolations(value: Json, at: string): string[] {
  return ['name', 'call_id'].flatMap((field) =>
    String(value[field] ?? '').length > LONGEST_NAME
      ? [`${at}${field}: longer than ${LONGEST_NAME} characters`]
      : [],
  );
}

function unknownReasoning(input: readonly Json[], issued: ReadonlySet<string>): string[] {
  return input.flatMap(({ type, id, encrypted_content }, index) =>
    type === 'reasoning' && encrypted_content !== undefined && !issued.has(String(encrypted_content))
      ? [`input[${index}]: the encrypted content for item ${id} could not be verified`]
      : [],
  );
}

function itemViolations(item: Json, index: number, { jsonArguments }: StrictOptions): string[] {
  const at = `input[${index}]`;
  const type = String(item.type ?? 'message');
  const fields = ITEM_FIELDS[type]?.split(' ');
  if (!fields) return [`${at}.type: unknown type ${type}`];
  const found = [...unknownFields(item, new Set(fields), `${at}.`), ...lengthViolations(item, `${at}.`)];
  for (const field of REQUIRED[type]?.split(' ') ?? [])
    if (item[field] === undefined) found.push(`${at}.${field}: missing`);
  for (const field of fields)
    found.push(...fieldViolations(item[field], `${type}.${field}`, `${at}.${field}`));
  if (type === 'message') found.push(...messageViolations(item, at));
  if (TEXT_OUTPUTS.has(type)) {
    if (!isText(item.output, ['input_text', 'input_image', 'input_file']))
      found.push(`${at}.output: neither a text nor parts`);
    found.push(...partViolations(item.output, `${at}.output`));
  }
  if (jsonArguments && type === 'function_call' && !isObject(item.arguments))
    found.push(`${at}.arguments: no JSON object`);
  return found;
}

/** @param name the type of the item and the field */
function fieldViolations(value: unknown, name: string, at: string): string[] {
  if ((value ?? null) === null) return [];
  if (STRINGS.has(name)) return typeof value === 'string' ? [] : [`${at}: no string`];
  const elements = ELEMENTS[name];
  if (!elements) return [];
  if (!Array.isArray(value)) return [`${at}: no list`];
  return value.flatMap((element: Json, index) => {
    const fields = elements[elements[''] === undefined ? String(element.type) : '']?.split(' ');
    if (!fields) return [`${at}[${index}].type: unknown type ${element.type}`];
    const isOptional = name === 'file_search_call.results';
    const missing = isOptional ? [] : fields.filter((field) => element[field] === undefined);
    return [
      ...unknownFields(element, new Set(fields), `${at}[${index}].`),
      ...missing.map((field) => `${at}[${index}].${field}: missing`),
    ];
  });
}

function messageViolations({ role, content }: Json, at: string): string[] {
  const parts = PARTS[String(role)];
  if (!parts) return [`${at}.role: unknown role`];
  if (content === '' || (Array.isArray(content) && content.length === 0)) return [`${at}.content: empty`];
  if (!isText(content, parts)) return [`${at}.content: neither a text nor parts of a ${role} message`];
  return partViolations(content, `${at}.content`);
}

function isText(content: unknown, parts: readonly string[]): boolean {
  if (typeof content === 'string') return true;
  return Array.isArray(content) && content.every((part: Json) => parts.includes(String(part.type)));
}

function partViolations(content: unknown, at: string): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: Json, index) =>
    unknownFields(part, new Set(PART_FIELDS[String(part.type)]?.split(' ')), `${at}[${index}].`),
  );
}

function unknownFields(value: Json, known: ReadonlySet<string>, at: string): string[] {
  return Object.keys(value).flatMap((key) => (known.has(key) ? [] : [`${at}${key}: unknown parameter`]));
}

/**
 * Each result answers an earlier call, each call has a result, and reasoning is followed by its
 * output.
 */
function pairViolations(input: readonly Json[]): string[] {
  const found: string[] = [];
  const open: string[] = [];
  const answered = new Set<string>();
  const approvals = new Set<unknown>();
  for (const [index, { type, call_id, id: itemId, approval_request_id }] of input.entries()) {
    const id = String(call_id ?? itemId);
    if (type === 'mcp_approval_request') approvals.add(itemId);
    if (type === 'mcp_approval_response' && !approvals.has(approval_request_id))
      found.push(`input[${index}]: no approval request found with id ${approval_request_id}`);
    if (ANSWERED.has(String(type))) open.push(id);
    if (RESULTS.has(String(type))) {
      const call = open.lastIndexOf(id);
      // Codex' custom tools may report progress as further outputs of a call.
      const isFurther = type === 'custom_tool_call_output' && answered.has(id);
      answered.add(id);
      if (call < 0 && !isFurther)
        found.push(`input[${index}]: no tool call found for function call output with call_id ${id}`);
      if (call >= 0) open.splice(call, 1);
    }
    const next = input[index + 1];
    const follows =
      next &&
      (next.role === 'assistant' ||
        /_call$|^(reasoning|program|item_reference|mcp_approval_request|mcp_list_tools)$/.test(
          String(next.type),
        ));
    if (type === 'reasoning' && !follows)
      found.push(`input[${index}]: item of type reasoning was provided without its required following item`);
  }
  return [...found, ...open.map((id) => `input: no tool output found for function call ${id}`)];
}

function repeatedCalls(input: readonly Json[]): string[] {
  const ids = input.flatMap(({ type, call_id }) => (ANSWERED.has(String(type)) ? [call_id] : []));
  return ids
    .filter((id, index) => ids.indexOf(id) !== index)
    .map((id) => `input: duplicate function_call_output for call_id ${id}`);
}

/** In a conversation that is not stored, the upstream only knows reasoning in encrypted form. */
function unstoredViolations(input: readonly Json[]): string[] {
  return input.flatMap(({ type, encrypted_content }, index) =>
    type === 'reasoning' && typeof encrypted_content !== 'string'
      ? [`input[${index}]: item not found; items are not persisted when store is set to false`]
      : [],
  );
}

/** No item comes without the reasoning that led to it, where the upstream knows of that. */
function reasoningViolations(input: readonly Json[], reasoned: ReadonlyMap<string, string>): string[] {
  const present = new Set(input.flatMap(({ type, id }) => (type === 'reasoning' ? [id] : [])));
  const current = input.findLastIndex(({ role }) => role === 'user');
  return input.flatMap(({ type = 'message', id, call_id }, index) => {
    const needed = [id, index > current ? call_id : undefined].flatMap(
      (name) => reasoned.get(String(name)) ?? [],
    );
    if (String(type).endsWith('_output') || needed.every((one) => present.has(one))) return [];
    return [
      `input[${index}]: item of type ${type} was provided without its required reasoning item: ${needed}`,
    ];
  });
}

function idViolations(input: readonly Json[]): string[] {
  const ids = input.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  return ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `input: duplicate item id ${id}`);
}

function isObject(json: unknown): boolean {
  try {
    return isFields(JSON.parse(String(json)));
  } catch {
    return false;
  }
}
