/**
 * Purging: which arguments are of no more use before they are old. The arguments of a call that
 * failed, once the model has taken some more steps; and the arguments of a write, once a later one
 * has replaced the whole file.
 *
 * So it depends on later messages: on the result of the call, the steps after it, and later writes.
 * Each purge has the message after which it may be made, which a longer array never changes, and
 * the light phase compares it with the request point.
 *
 * What became of a call follows from the messages alone: whether it failed, and which file it
 * wrote. Both rules rather miss one than take a call for what it is not.
 */
import { elementAt } from '../../lib/elements.ts';
import { isObject, type JsonObject, parseObject } from '../../lib/json.ts';
import type { History } from '../conversation/history.ts';
import type { Message, ToolCall } from '../conversation/message.ts';

/** Steps after a failed call: by then the model has tried again, or given up. */
const STEPS_AFTER_FAILURE = 4;

/**
 * Tokens of the smallest arguments that are purged, and characters of the smallest that are looked
 * at. A marker has about fifty tokens.
 */
export const LEAST_PURGED = 200;

/** Whether the arguments of a call are long enough. */
export function mayBePurged({ input }: ToolCall): boolean {
  return input.length >= LEAST_PURGED;
}

/**
 * For calls whose arguments may be purged, the message after which they may: with it in the array,
 * they are of no more use. A longer array never changes it. Linear in the number of calls.
 */
export function purgesIn({ messages, units }: History): ReadonlyMap<ToolCall, number> {
  const after = new Map<ToolCall, number>();
  // Of the later units: the results of calls, the first messages of steps, and for each file that
  // is written, the first result of such a write.
  const results = new Map<ToolCall, number>();
  const steps: number[] = [];
  const writes = new Map<string, number>();
  for (const unit of units.toReversed()) {
    for (const { message, call } of unit.outputs) if (call) results.set(call, message);
    if (unit.kind !== 'assistant') continue;
    const message = elementAt(messages, unit.first);
    const written = filesWritten(message);
    const replaced: [string, number][] = [];
    for (const [index, call] of message.calls.entries()) {
      const result = results.get(call);
      const file = written[index];
      if (result === undefined || (file === undefined && !mayBePurged(call))) continue;
      const newer = file === undefined ? undefined : writes.get(file);
      const failed = hasFailed(elementAt(messages, result));
      const later = failed ? steps.at(-STEPS_AFTER_FAILURE) : undefined;
      const from = Math.min(newer ?? Number.POSITIVE_INFINITY, later ?? Number.POSITIVE_INFINITY);
      if (from < Number.POSITIVE_INFINITY && mayBePurged(call)) after.set(call, Math.max(from, result));
      if (file !== undefined && !failed) replaced.push([file, result]);
    }
    // Calls of one answer run side by side, so none of them replaces another.
    for (const [file, result] of replaced) writes.set(file, Math.min(result, writes.get(file) ?? result));
    if (unit.step) steps.push(unit.first);
  }
  return after;
}

/**
 * How results of failed calls begin. A shell's exit code is not among them: a command that ends
 * with one has often done its work.
 */
const FAILED =
  /^\s*(?:<tool_use_error>|error(?: \w+ing [^\n:]{0,80})?:|fatal:|Traceback \(most recent call last\):|[A-Z]\w*(?:Error|Exception):)/i;

/** In characters. A longer result is no error in JSON. */
const LONGEST_ERROR = 4_000;

/** Members of a JSON result that is more than an error. */
const PAYLOADS = ['result', 'results', 'data', 'output', 'content', 'stdout'];

/** Whether a tool output says that its call failed. Read once for each message. */
export function hasFailed(output: Message): boolean {
  output.facts.failed ??= saysFailed(output.content().weight.texts[0] ?? '');
  return output.facts.failed;
}

function saysFailed(text: string): boolean {
  if (FAILED.test(text)) return true;
  if (text.length > LONGEST_ERROR || !text.trimStart().startsWith('{')) return false;
  const value = parseObject(text);
  if (!value) return false;
  // MCP servers wrap a text in a part.
  if (value.type === 'text' && typeof value.text === 'string') return FAILED.test(value.text);
  return value.is_error === true || value.isError === true || isErrorAlone(value);
}

function isErrorAlone(value: JsonObject): boolean {
  if (PAYLOADS.some((name) => value[name] !== undefined && value[name] !== null)) return false;
  const { error, success, ok, status } = value;
  const named = (typeof error === 'string' && error !== '') || isObject(error);
  return named || success === false || ok === false || status === 'error';
}

const PATHS = ['path', 'file_path', 'filePath', 'filepath', 'file', 'filename', 'file_name', 'target_file'];
const CONTENTS = ['content', 'contents', 'file_text', 'fileContent', 'file_content', 'text'];
/** The member that says what a tool of many commands does, such as a text editor. */
const COMMANDS = ['command', 'action', 'operation'];
/** Members that say where or how only a part of a file is written. */
const PARTIAL = /append|insert|old|line|offset|range|position|start|end|index|mode|patch|diff/i;

const WRITES = ['write', 'overwrite', 'save'];
/** Of these, only the ones that name a file. */
const CREATES = ['create', 'put'];
const NO_WRITES = ['append', 'insert', 'add', 'edit', 'patch', 'comment', 'message', 'mail', 'email'];

/** In characters. Parsing larger arguments would cost more than it may free. */
const LONGEST_WRITE = 1_000_000;
/** In characters. A write with more beside its content is none that a person would call so. */
const LONGEST_NAME = 1_000;

/**
 * For each call of a message, a name of the file that it writes as a whole: its tool, its path and
 * all other arguments but the content. Undefined for other calls. Read once for each message.
 */
export function filesWritten({ facts, calls }: Message): readonly (string | undefined)[] {
  facts.written ??= calls.map(fileWritten);
  return facts.written;
}

function fileWritten({ name, input }: ToolCall): string | undefined {
  if (input.length > LONGEST_WRITE || !mayWrite(name, input)) return undefined;
  const value = parseObject(input);
  if (!value) return undefined;
  const isPath = PATHS.some((key) => typeof value[key] === 'string');
  const contents = CONTENTS.filter((key) => typeof value[key] === 'string');
  const isWhole = !Object.keys(value).some((key) => PARTIAL.test(key));
  if (!isPath || contents.length !== 1 || !isWhole || !saysWrite(name, value)) return undefined;
  const others = Object.entries(value).filter(([key]) => key !== contents[0]);
  const file = JSON.stringify([name, others.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  return file.length <= LONGEST_NAME ? file : undefined;
}

/** Whether a call may be a write. False is certain; it parses nothing. */
function mayWrite(name: string, input: string): boolean {
  if (hasWord(name, NO_WRITES)) return false;
  if (isWriteName(name)) return true;
  const has = (key: string): boolean => input.includes(`"${key}"`);
  return COMMANDS.some(has) && CONTENTS.some(has);
}

/** The command decides where there is one, since an editor's name says nothing. */
function saysWrite(name: string, value: JsonObject): boolean {
  const command = COMMANDS.map((key) => value[key]).find((said) => said !== undefined);
  if (command === undefined) return isWriteName(name);
  return typeof command === 'string' && hasWord(command, [...WRITES, ...CREATES]);
}

function isWriteName(name: string): boolean {
  return hasWord(name, WRITES) || (hasWord(name, CREATES) && hasWord(name, ['file']));
}

/** Whether a name has one of these words, in any case: `writeFile`, `fs-write_file`. */
function hasWord(name: string, words: readonly string[]): boolean {
  const own = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return own.split(/[^a-z0-9]+/).some((word) => words.includes(word));
}
