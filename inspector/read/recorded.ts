/**
 * Reads what is pasted or dropped into the page, or a file of `precis replay`: an array of messages
 * or items, a request's body, a recorded transcript, or an export of logs whose entries hold bodies
 * (OpenAI's batches, LiteLLM, Langfuse, OpenRouter), as JSON or JSONL.
 */
import { isObject } from './message-text.ts';
import type { Api } from './snippets.ts';

export interface Recorded {
  readonly name: string;
  /** The field of a body that takes the array. */
  readonly field: 'messages' | 'input';
  readonly messages: readonly unknown[];
  /** Set if they are Anthropic's, which may have none. */
  readonly system?: readonly unknown[];
  readonly model: string | undefined;
  readonly tools: readonly unknown[] | undefined;
  /** The body's own strategy. */
  readonly strategy: unknown;
}

export function apiOf({ field, system }: Pick<Recorded, 'field' | 'system'>): Api {
  if (field === 'input') return 'responses';
  return system ? 'messages' : 'chat';
}

export type Reading =
  | { readonly ok: true; readonly found: readonly Recorded[] }
  /** `message` says what is wrong with the text, and where. */
  | { readonly ok: false; readonly message: string };

/** More of a file are not listed. */
const MOST = 500;

const ITEMS: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'message',
  'compaction',
]);

/**
 * At least one array is found, or a message says why there is none.
 *
 * @param most entries of the text that are read
 */
export function readRecorded(text: string, most = MOST): Reading {
  const trimmed = text.trim();
  if (trimmed === '') return { ok: false, message: 'Nothing is here yet.' };
  const whole = parse(trimmed);
  if (whole.ok) return found(recordedIn(whole.value, '', {}, most));
  if (!trimmed.includes('\n')) return whole;
  return readLines(trimmed.split('\n'), whole.message, most);
}

/** @param otherwise the message if the text is not JSONL either */
function readLines(lines: readonly string[], otherwise: string, most: number): Reading {
  const values: unknown[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const parsed = parse(line);
    if (!parsed.ok)
      return { ok: false, message: values.length === 0 ? otherwise : `Line ${index + 1}: ${parsed.message}` };
    values.push(parsed.value);
  }
  // A transcript with a message per line.
  if (values.every(isMessage)) return found(recordedIn(values, '', {}, most));
  return found(
    values.slice(0, most).flatMap((value, index) => recordedIn(value, `line ${index + 1}`, {}, most)),
  );
}

function found(recorded: readonly Recorded[]): Reading {
  if (recorded.length > 0) return { ok: true, found: recorded };
  return {
    ok: false,
    message:
      'This is JSON, but not an array of messages or items, a body with messages or input, or a list of such bodies.',
  };
}

/** Members of a body that the entry of a log may have beside it. */
type Around = Readonly<Partial<Record<'model' | 'tools' | 'system', unknown>>>;

/** Where entries of logs hold a body, or a list of entries. */
const CONTAINERS = ['body', 'request', 'proxy_server_request', 'input', 'data', 'observations'] as const;

/** @param around what an outer entry says of the body in it */
function recordedIn(value: unknown, name: string, around: Around, most: number): Recorded[] {
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every(isMessage)) return [recorded(name || 'the array', value, around)];
    return value
      .slice(0, most)
      .flatMap((one, index) => (isObject(one) ? recordedIn(one, `${index + 1}`, around, most) : []));
  }
  if (!isObject(value)) return [];
  const { model = around.model, tools = around.tools, system = around.system } = value;
  const own = { ...value, model, tools, system };
  const array = [value.messages, value.input]
    .map(inText)
    .find((one): one is unknown[] => Array.isArray(one) && one.length > 0 && one.every(isMessage));
  if (array) return [recorded(nameIn(value) ?? (name || 'the request'), array, own)];
  for (const container of CONTAINERS) {
    const inner = inText(value[container]);
    if (typeof inner !== 'object' || inner === null) continue;
    const found = recordedIn(inner, nameIn(value) ?? name, own, most);
    if (found.length > 0) return found;
  }
  return [];
}

/** Some exports have JSON as text. */
function inText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  const parsed = parse(value);
  return parsed.ok ? parsed.value : value;
}

function recorded(
  name: string,
  messages: readonly unknown[],
  { model, tools, system, memory_strategy: strategy }: Readonly<Record<string, unknown>>,
): Recorded {
  const isAnthropics = system !== undefined || messages.some(hasBlocks);
  return {
    name,
    field: messages.some((one) => isObject(one) && ITEMS.has(one.type)) ? 'input' : 'messages',
    messages,
    ...(isAnthropics ? { system: entriesOf(system) } : {}),
    model: typeof model === 'string' ? model : undefined,
    tools: Array.isArray(tools) ? tools : undefined,
    strategy,
  };
}

function entriesOf(system: unknown): readonly unknown[] {
  if (typeof system === 'string') return [{ type: 'text', text: system }];
  return Array.isArray(system) ? system : [];
}

/** Blocks that only Anthropic's messages have. */
const BLOCKS: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result']);

function hasBlocks(message: unknown): boolean {
  const content = isObject(message) ? message.content : undefined;
  return Array.isArray(content) && content.some((block) => isObject(block) && BLOCKS.has(block.type));
}

function nameIn({ id, name }: Readonly<Record<string, unknown>>): string | undefined {
  return [id, name].find((one): one is string => typeof one === 'string');
}

function isMessage(value: unknown): boolean {
  return isObject(value) && (typeof value.role === 'string' || ITEMS.has(value.type));
}

function parse(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${error instanceof Error ? error.message : error}` };
  }
}
