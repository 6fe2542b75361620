/**
 * The body of `POST /v1/messages` as Anthropic's API accepts it, no more and no less.
 * https://platform.claude.com/docs/en/api/messages/create, with the rules for tools
 * (…/agents-and-tools/tool-use/implement-tool-use) and those that the API runs
 * (…/agents-and-tools/tool-use/server-tools), caching (…/build-with-claude/prompt-caching), and
 * messages of the system (…/build-with-claude/mid-conversation-system-messages), read 2026-11.
 * The sentences are the API's own, as far as public reports quote them.
 */
import { boundWords, refusedBlock } from './bound-thinking.ts';
import { checkCompaction } from './compaction.ts';
import { checkSurrogates, isFields, isName, type Json, type Report } from './json.ts';
import { checkSchemas } from './strict-schemas.ts';

export interface StrictMessagesOptions {
  /** Whether the body is one of `/v1/messages/count_tokens`, which has no limit of the answer. */
  counts?: boolean;
  /** Whether signatures are bound to what precedes them (`bound-thinking.ts`). */
  binds?: boolean;
  /** Of the request. Absent: no betas and no account are checked. */
  headers?: Readonly<Record<string, unknown>>;
}

const BODY_FIELDS = words(
  'model messages system max_tokens metadata stop_sequences stream temperature top_p top_k tools tool_choice',
  'thinking output_config output_format context_management container mcp_servers service_tier cache_control',
  'inference_geo speed compaction diagnostics fallback safeguards',
);

const ROLES: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['user', words('text image document search_result tool_result container_upload compaction')],
  [
    'assistant',
    words(
      'text thinking redacted_thinking tool_use server_tool_use mcp_tool_use mcp_tool_result container_upload',
      'mcp_tool_listing compaction web_search_tool_result web_fetch_tool_result code_execution_tool_result',
      'bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result',
    ),
  ],
  ['system', words('text tool_addition tool_removal')],
]);

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CALL_ID = /^[a-zA-Z0-9_-]+$/;
const MOST_MARKS = 4;

/**
 * Everything that the API would refuse in this body: one sentence each, beginning with the field.
 * Empty if the body is accepted.
 */
export function violations(body: unknown, { counts, binds, headers }: StrictMessagesOptions = {}): string[] {
  const found: string[] = [];
  const report: Report = (sentence) => found.push(sentence);
  if (!isFields(body)) return ['body: not a JSON object'];
  for (const field of Object.keys(body))
    if (!BODY_FIELDS.has(field)) report(`${field}: Extra inputs are not permitted`);
  if (!isName(body.model)) report('model: Field required');
  if (counts !== true && !isAbove(body.max_tokens, 0)) report('max_tokens: Field required');
  checkSystem(body.system, report);
  checkTools(body, report);
  checkSchemas(body, report);
  checkStops(body, report);
  checkMarks(body, report);
  checkSurrogates(body, '', (at) => `.${at}`, report);
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    report('messages: at least one message is required');
    return found;
  }
  const messages = body.messages;
  for (const [at, message] of messages.entries())
    checkMessage(message, at, at === messages.length - 1, report);
  checkOrder(messages.filter(isFields), report);
  checkPairs(messages.filter(isFields), report);
  // A count of tokens takes no notice of the field.
  checkCompaction(counts ? { ...body, compaction: undefined } : body, headers, report);
  checkEnd(body.thinking, messages.filter(isFields), report);
  const block = binds ? refusedBlock(body) : undefined;
  if (block) report(boundWords(block.element));
  return found;
}

function checkSystem(system: unknown, report: Report): void {
  if (system === undefined || typeof system === 'string') return;
  if (!Array.isArray(system)) {
    report('system: neither a string nor an array');
    return;
  }
  for (const [at, block] of system.entries()) {
    if (!isFields(block) || block.type !== 'text') report(`system.${at}.type: must be text`);
    else if (!isText(block.text)) report('system: text content blocks must be non-empty');
  }
}

function checkStops({ stop_sequences }: Json, report: Report): void {
  if (Array.isArray(stop_sequences) && !stop_sequences.every(isText))
    report('stop_sequences: each stop sequence must contain non-whitespace');
}

function checkTools({ tools, tool_choice, mcp_servers }: Json, report: Report): void {
  if (tools === undefined) {
    const isOff = isFields(tool_choice) && tool_choice.type === 'none';
    if (tool_choice !== undefined && !isOff && mcp_servers === undefined)
      report('tool_choice: may only be specified while providing tools');
    return;
  }
  if (!Array.isArray(tools)) {
    report('tools: not an array');
    return;
  }
  const names = new Set<unknown>();
  for (const [at, tool] of tools.entries()) {
    if (!isFields(tool)) {
      report(`tools.${at}: not an object`);
      continue;
    }
    const isOwn = tool.type === undefined || tool.type === 'custom';
    if (tool.type !== 'mcp_toolset' && !TOOL_NAME.test(String(tool.name)))
      report(`tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (isOwn && (!isFields(tool.input_schema) || tool.input_schema.type !== 'object'))
      report(`tools.${at}.custom.input_schema: Field required`);
    if ('function' in tool) report(`tools.${at}.custom.function: Extra inputs are not permitted`);
    if (tool.name !== undefined && names.has(tool.name)) report('tools: Tool names must be unique.');
    names.add(tool.name);
  }
}

function checkMessage(message: unknown, at: number, isLast: boolean, report: Report): void {
  const path = `messages.${at}`;
  if (!isFields(message)) {
    report(`${path}: not an object`);
    return;
  }
  const kinds = ROLES.get(message.role);
  if (!kinds) {
    report(`${path}.role: unknown role ${JSON.stringify(message.role)}`);
    return;
  }
  const ofSystem = message.role === 'system' ? ['output_config', 'clear_at'] : [];
  for (const field of Object.keys(message))
    if (!['role', 'content', ...ofSystem].includes(field))
      report(`${path}.${field}: Extra inputs are not permitted`);
  if (![undefined, null, 'never', 'next_user_message'].includes(message.clear_at as null))
    report(`${path}.clear_at: Input should be 'next_user_message' or 'never'`);
  const { content } = message;
  const mayBeEmpty = isLast && message.role === 'assistant';
  if (typeof content !== 'string' && !Array.isArray(content)) {
    report(`${path}.content: Field required`);
    return;
  }
  const isSetting = message.role === 'system' && isSet(message.output_config);
  if (content.length === 0) {
    if (!mayBeEmpty && !isSetting)
      report(
        `${path}: all messages must have non-empty content except for the optional final assistant message`,
      );
    return;
  }
  if (typeof content === 'string') {
    if (!isText(content)) report('messages: text content blocks must contain non-whitespace text');
    return;
  }
  for (const [index, block] of content.entries())
    checkBlock(block, kinds, `${path}.content.${index}`, report);
  const last = content.at(-1);
  if (message.role === 'assistant' && isFields(last) && isThinking(last))
    report(`${path}: The final block in an assistant message cannot be \`thinking\`.`);
}

function checkBlock(block: unknown, kinds: ReadonlySet<string>, path: string, report: Report): void {
  if (!isFields(block) || typeof block.type !== 'string') {
    report(`${path}.type: Field required`);
    return;
  }
  const { type } = block;
  if (!kinds.has(type)) {
    report(`${path}: Input tag '${type}' found is none of the expected tags`);
    return;
  }
  if (type === 'text' && !isText(block.text)) report('messages: text content blocks must be non-empty');
  if (type === 'thinking' && (typeof block.thinking !== 'string' || !isName(block.signature)))
    report(`${path}.thinking.signature: Field required`);
  if (type === 'redacted_thinking' && !isName(block.data))
    report(`${path}.redacted_thinking.data: Field required`);
  if (type === 'tool_use' || type === 'server_tool_use') {
    if (!CALL_ID.test(String(block.id)))
      report(`${path}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    if (!isName(block.name)) report(`${path}.${type}.name: Field required`);
    if (!isFields(block.input)) report(`${path}.${type}.input: Input should be a valid dictionary`);
  }
  if ((type === 'image' || type === 'document') && !isFields(block.source))
    report(`${path}.${type}.source: Field required`);
  if (type === 'image' && isFields(block.source)) checkImage(block.source, path, report);
  if (type === 'document' && isFields(block.source)) checkDocument(block.source, path, report);
  if (type === 'tool_result') checkResult(block, path, report);
}

/** How images of each type begin, in base64. */
const IMAGES: Readonly<Record<string, string>> = {
  'image/jpeg': '/9j/',
  'image/png': 'iVBORw0KGgo',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
};

function checkImage({ type, media_type: stated, data }: Json, path: string, report: Report): void {
  if (type !== 'base64') return;
  if (IMAGES[String(stated)] === undefined)
    report(`${path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', …`);
  const found = Object.keys(IMAGES).find((one) => String(data).startsWith(String(IMAGES[one])));
  if (found !== undefined && found !== stated)
    report(
      `${path}.image.source.base64.data: The image was specified using the ${stated} media type, but the image appears to be a ${found} image`,
    );
}

function checkDocument({ type, media_type: stated }: Json, path: string, report: Report): void {
  const known = new Map<unknown, string>([
    ['base64', 'application/pdf'],
    ['text', 'text/plain'],
  ]).get(type);
  if (known !== undefined && stated !== known)
    report(`${path}.document.source.${type}.media_type: Input should be '${known}'`);
}

const IN_RESULTS = words('text image document search_result tool_reference');

function checkResult({ tool_use_id, content, is_error }: Json, path: string, report: Report): void {
  if (!CALL_ID.test(String(tool_use_id))) report(`${path}.tool_result.tool_use_id: Field required`);
  if (is_error !== undefined && typeof is_error !== 'boolean')
    report(`${path}.tool_result.is_error: not a boolean`);
  if (is_error === true && (content === undefined || isEmpty(content)))
    report(`${path}.tool_result: content cannot be empty if \`is_error\` is true`);
  if (content === undefined || typeof content === 'string') return;
  if (!Array.isArray(content)) {
    report(`${path}.tool_result.content: neither a string nor an array`);
    return;
  }
  for (const [index, block] of content.entries())
    checkBlock(block, IN_RESULTS, `${path}.content.${index}`, report);
}

/** Who may follow whom. Equal roles in a row are one turn. */
function checkOrder(messages: readonly Json[], report: Report): void {
  for (const [at, { role, content }] of messages.entries()) {
    const before = messages[at - 1];
    const next = messages[at + 1];
    if (at === 0 && role === 'system')
      report("messages.0: use the top-level 'system' parameter for the initial system prompt");
    if (at === 0 && role === 'assistant' && blocksOf(content)[0]?.type !== 'compaction')
      report('messages: first message must use the "user" role');
    const isFree = setsAlone(messages[at]) && !speaks(before) && !speaks(next);
    if (at > 0 && role === 'system' && !isFree) {
      const used = blocksOf(before?.content).at(-1)?.type;
      const endsInServer = before?.role === 'assistant' && String(used).startsWith('server_');
      if (before?.role !== 'user' && !endsInServer)
        report(`messages.${at}: role 'system' must follow a 'user' message`);
      if (next && next.role !== 'assistant')
        report(`messages.${at}: role 'system' must be last, or an 'assistant' message must follow it`);
    }
  }
}

/** Whether a message of the system has settings, which an empty object has not. */
const isSet = (settings: unknown): boolean => isFields(settings) && Object.keys(settings).length > 0;

/**
 * Whether a message of the system has settings and no words. It may be anywhere but beside one with
 * words (…/build-with-claude/effort-per-message).
 */
function setsAlone(message: Json | undefined): boolean {
  return message?.role === 'system' && isSet(message.output_config) && isEmpty(message.content);
}

const isEmpty = (content: unknown): boolean =>
  content === '' || (Array.isArray(content) && content.length === 0);

const speaks = (message: Json | undefined): boolean => message?.role === 'system' && !setsAlone(message);

interface Turn {
  readonly role: unknown;
  /** The message that it begins with. */
  readonly at: number;
  readonly blocks: Json[];
}

/** Equal roles in a row are combined into one turn. A message of the system ends none. */
function turnsOf(messages: readonly Json[]): Turn[] {
  const turns: Turn[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    if (role === 'system') continue;
    const last = turns.at(-1);
    if (last && last.role === role) last.blocks.push(...blocksOf(content));
    else turns.push({ role, at, blocks: [...blocksOf(content)] });
  }
  return turns;
}

function checkPairs(messages: readonly Json[], report: Report): void {
  const turns = turnsOf(messages);
  const known = new Set<unknown>();
  const open = new Set<unknown>();
  for (const [index, { role, at, blocks }] of turns.entries()) {
    if (role === 'assistant') {
      const used = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
      for (const id of used) {
        if (known.has(id)) report('messages: `tool_use` ids must be unique');
        known.add(id);
      }
      const results = resultsIn(turns[index + 1]);
      const missing = used.filter((id) => !results.includes(id));
      if (missing.length > 0)
        report(
          `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}`,
        );
      // Beside calls of the client's tools, the API runs its own once their results have come.
      const mayWait = used.length > 0 || index >= turns.length - 2;
      checkServerTools(blocks, at, open, mayWait, report);
      continue;
    }
    const asked = turns[index - 1]?.blocks.filter(({ type }) => type === 'tool_use') ?? [];
    const results = resultsIn(turns[index]);
    for (const id of results)
      if (!asked.some((call) => call.id === id))
        report(`messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`);
    if (new Set(results).size < results.length)
      report(`messages.${at}: each tool_use must have a single result`);
    const others = blocks.findIndex(({ type }) => type !== 'tool_result');
    if (others >= 0 && others < results.length)
      report(`messages.${at}: \`tool_result\` blocks must come before all other content`);
  }
}

function resultsIn(turn: Turn | undefined): unknown[] {
  if (turn?.role !== 'user') return [];
  return turn.blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id);
}

/** What the end of a conversation has to be for an answer to go on from it. */
function checkEnd(thinking: unknown, messages: readonly Json[], report: Report): void {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const last = blocksOf(messages[at]?.content).at(-1);
  if (at === messages.length - 1 && last?.type === 'text' && /\s$/.test(String(last.text)))
    report('messages: final assistant content cannot end with trailing whitespace');
  // With a budget of its own, as earlier models have it, a run of tools begins with thinking.
  const isManual = isFields(thinking) && thinking.type === 'enabled';
  const turns = turnsOf(messages);
  if (!isManual || resultsIn(turns.at(-1)).length === 0) return;
  const asked = turns.findLastIndex((turn) => turn.role === 'user' && resultsIn(turn).length === 0);
  const run = turns[asked + 1];
  const first = run?.blocks.find(({ type }) => type !== 'compaction');
  if (run && first && !isThinking(first))
    report(
      `messages.${run.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
    );
}

/**
 * @param open uses that wait for their results, of this turn and the ones before it
 * @param mayWait whether they may wait longer: `pause_turn` ends with an open use
 */
function checkServerTools(
  blocks: readonly Json[],
  at: number,
  open: Set<unknown>,
  mayWait: boolean,
  report: Report,
): void {
  for (const { type, id, tool_use_id, caller } of blocks) {
    const program = isFields(caller) && caller.type !== 'direct' ? caller.tool_id : undefined;
    if (program !== undefined && !open.has(program))
      report(`messages.${at}: the code that calls a tool does not run: ${program}`);
    if (type === 'server_tool_use' || type === 'mcp_tool_use') open.add(id);
    else if (type !== 'tool_result' && String(type).endsWith('_tool_result') && !open.delete(tool_use_id))
      report(`messages.${at}: a result of a server tool is without its use: ${tool_use_id}`);
  }
  if (open.size === 0 || mayWait) return;
  report(`messages.${at}: a use of a server tool is without its result: ${[...open].join(', ')}`);
  open.clear();
}

/** Marks in the order in which the API reads them: tools, system, messages, the automatic one. */
function checkMarks(body: Json, report: Report): void {
  const { tools, system, messages, cache_control } = body;
  const marks = [
    ...listed(tools).flatMap(ownMark),
    ...listed(system).flatMap(ownMark),
    ...listed(messages).flatMap(({ content }) => listed(content).flatMap(marksInside)),
    ...(cache_control === undefined || cache_control === null ? [] : [cache_control]),
  ];
  if (marks.length > MOST_MARKS)
    report(`A maximum of ${MOST_MARKS} blocks with cache_control may be provided. Found ${marks.length}.`);
  let isShort = false;
  for (const mark of marks) {
    if (!isFields(mark) || mark.type !== 'ephemeral') report('cache_control.type: must be ephemeral');
    const ttl = isFields(mark) ? (mark.ttl ?? '5m') : undefined;
    if (ttl !== '5m' && ttl !== '1h') report("cache_control.ttl: Input should be '5m' or '1h'");
    if (ttl === '1h' && isShort)
      report("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
    isShort ||= ttl === '5m';
  }
  for (const block of listed(messages).flatMap(({ content }) => listed(content)))
    if (ownMark(block).length > 0 && (isThinking(block) || (block.type === 'text' && !isText(block.text))))
      report(`cache_control cannot be set for ${isThinking(block) ? 'thinking' : 'empty text'} blocks`);
}

const isThinking = ({ type }: Json): boolean => type === 'thinking' || type === 'redacted_thinking';

const ownMark = ({ cache_control: mark }: Json): unknown[] =>
  mark === undefined || mark === null ? [] : [mark];

/** A block's mark, after the marks of the blocks inside it. */
function marksInside(block: Json): unknown[] {
  const { content, source } = block;
  const inside = isFields(source) ? listed(source.content) : [];
  return [...listed(content).flatMap(marksInside), ...inside.flatMap(marksInside), ...ownMark(block)];
}

function blocksOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listed(content);
}

const listed = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isFields) : []);

/** A text that is more than white space. */
const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

const isAbove = (value: unknown, least: number): boolean => typeof value === 'number' && value > least;

function words(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}
