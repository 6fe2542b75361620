/**
 * Recorded conversations with values that their agent needed again. The recordings have their own
 * licenses and are not part of this repository.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type ChatRequest, readChatRequest } from '../src/protocol/chat/request.ts';

/** A value that a message writes again although no recent message holds it. */
export interface Reuse {
  readonly value: string;
  /** The message that writes it. The request before it needed it. */
  readonly used: number;
}

export interface ReuseTrace {
  readonly file: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly unknown[];
  readonly reuse: readonly Reuse[];
}

/** All traces under TRACES_DIR; undefined if it names no directory. */
export function readTraces(): ReuseTrace[] | undefined {
  const dir = process.env.TRACES_DIR;
  if (dir === undefined || !existsSync(dir)) return undefined;
  const files = readdirSync(dir).filter((name) => name.endsWith('.jsonl.gz'));
  return files.toSorted().flatMap((name) => tracesIn(join(dir, name)));
}

/**
 * The traces in a file of JSON Lines, compressed if its name ends in `.gz`. Each line is an object
 * with `messages` in OpenAI's chat format, and optional `tools` and `reuse`.
 *
 * @throws Error that names the file, the line, and what is wrong with it
 */
export function tracesIn(path: string): ReuseTrace[] {
  const file = basename(path).replace(/\.jsonl(\.gz)?$/, '');
  const traces = readLines(path).flatMap((line, index) => {
    if (line.trim() === '') return [];
    const read = traceIn(line, file);
    if (typeof read !== 'string') return [read];
    throw new Error(`${path}, line ${index + 1}: ${read}`);
  });
  if (traces.length === 0) throw new Error(`${path} has no conversations.`);
  return traces;
}

function readLines(path: string): string[] {
  try {
    const bytes = readFileSync(path);
    return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  } catch (error) {
    throw new Error(`${path} can't be read: ${(error as Error).message}.`);
  }
}

/** The trace in a line, or what is wrong with the line. */
function traceIn(line: string, file: string): ReuseTrace | string {
  const form = 'each line is an object with `messages`, the whole of one conversation';
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return line.trimStart().startsWith('[')
      ? `this is a JSON array over several lines; ${form}.`
      : `this is not JSON; ${form}.`;
  }
  if (Array.isArray(value)) return `this is a JSON array; ${form}.`;
  const { messages, tools, reuse } = (value ?? {}) as Partial<ReuseTrace>;
  if (!Array.isArray(messages)) return `there are no messages; ${form}.`;
  const foreign = messages.findIndex(isAnthropic);
  if (foreign >= 0)
    return `messages[${foreign}] is in Anthropic's format; the format is that of OpenAI's chat completions, with \`tool_calls\` and messages of the role \`tool\`.`;
  const nameless = messages.findIndex((message) => typeof message?.role !== 'string');
  if (nameless >= 0) return `messages[${nameless}] is no message: it has no role.`;
  const trace = { file, messages, reuse: reuse ?? [], ...(tools ? { tools } : {}) };
  const read = readChatRequest(bodyOf(trace, messages.length));
  return read.ok ? trace : read.reason.message;
}

/** Whether a message has content blocks of Anthropic's Messages API for calls and results. */
function isAnthropic(message: unknown): boolean {
  const { content } = (message ?? {}) as { content?: unknown };
  const blocks = Array.isArray(content) ? (content as { type?: unknown }[]) : [];
  return blocks.some((block) => block?.type === 'tool_use' || block?.type === 'tool_result');
}

/** The traces whose agent needed a value again. */
export function readReuse(): ReuseTrace[] | undefined {
  return readTraces()?.filter(({ reuse }) => reuse.length > 0);
}

/** The request whose array ends before a message. */
export function requestOf(trace: ReuseTrace, count = trace.messages.length): ChatRequest {
  const read = readChatRequest(bodyOf(trace, count));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

function bodyOf({ messages, tools }: ReuseTrace, count: number): Uint8Array {
  const body = { model: 'gpt-4.1', ...(tools ? { tools } : {}), messages: messages.slice(0, count) };
  return new TextEncoder().encode(JSON.stringify(body));
}
