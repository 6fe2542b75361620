/**
 * Reads what is pasted or dropped into the page: an array of messages or items, a request's body,
 * or a recorded transcript, as JSON or JSONL.
 */
import type { Api } from './snippets.ts';

/** An array that can be explained. */
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

/** The API that takes the array. */
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

/** At least one array is found, or a message says why there is none. */
export function readRecorded(text: string): Reading {
  const trimmed = text.trim();
  if (trimmed === '') return { ok: false, message: 'Nothing is here yet.' };
  const whole = parse(trimmed);
  if (whole.ok) return found(recordedIn(whole.value, ''));
  if (!trimmed.includes('\n')) return whole;
  return readLines(trimmed.split('\n'), whole.message);
}

/** @param otherwise the message if the text is not JSONL either */
function readLines(lines: readonly string[], otherwise: string): Reading {
  const values: unknown[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const parsed = parse(line);
    if (!parsed.ok)
      return { ok: false, message: values.length === 0 ? otherwise : `Line ${index + 1}: ${parsed.message}` };
    values.push(parsed.value);
  }
  // A transcript with a message per line.
  if (values.every(isMessage)) return found(recordedIn(values, ''));
  return found(values.slice(0, MOST).flatMap((value, index) => recordedIn(value, `line ${index + 1}`)));
}

function found(recorded: readonly Recorded[]): Reading {
  if (recorded.length > 0) return { ok: true, found: recorded };
  return {
    ok: false,
    message:
      'This is JSON, but not an array of messages or items, a body with messages or input, or a list of such bodies.',
  };
}

function recordedIn(value: unknown, name: string): Recorded[] {
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every(isMessage)) return [recorded(name || 'the array', value, {})];
    return value
      .slice(0, MOST)
      .flatMap((one, index) => (isObject(one) ? recordedIn(one, `${index + 1}`) : []));
  }
  if (!isObject(value)) return [];
  const { body, request } = value;
  const array = [value.messages, value.input].find(
    (one): one is unknown[] => Array.isArray(one) && one.length > 0,
  );
  if (array) return [recorded(nameIn(value) ?? (name || 'the request'), array, value)];
  for (const inner of [body, request]) if (isObject(inner)) return recordedIn(inner, nameIn(value) ?? name);
  return [];
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${error instanceof Error ? error.message : error}` };
  }
}
