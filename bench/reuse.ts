/**
 * Recorded conversations with values that their agent needed again. The recordings have their own
 * licences and are not part of this repository.
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
 * @throws Error that names the line without `messages`
 */
export function tracesIn(path: string): ReuseTrace[] {
  const bytes = readFileSync(path);
  const lines = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  const file = basename(path).replace(/\.jsonl(\.gz)?$/, '');
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const { messages, tools, reuse = [] }: Partial<ReuseTrace> = JSON.parse(line);
    if (!Array.isArray(messages)) throw new Error(`${path}, line ${index + 1}: there are no messages.`);
    return [{ file, messages, reuse, ...(tools ? { tools } : {}) }];
  });
}

/** The traces whose agent needed a value again. */
export function readReuse(): ReuseTrace[] | undefined {
  return readTraces()?.filter(({ reuse }) => reuse.length > 0);
}

/** The request whose array ends before a message. */
export function requestOf({ messages, tools }: ReuseTrace, count = messages.length): ChatRequest {
  const body = { model: 'gpt-4.1', ...(tools ? { tools } : {}), messages: messages.slice(0, count) };
  const read = readChatRequest(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

/** All texts in a value, including those inside JSON texts, one per line. */
export function textsOf(value: unknown): string {
  const texts: string[] = [];
  const gather = (value: unknown): void => {
    if (typeof value === 'string') {
      texts.push(value);
      if (/^\s*[{[]/.test(value)) gatherJson(value);
    } else if (typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) {
        texts.push(key);
        gather(item);
      }
  };
  const gatherJson = (text: string): void => {
    try {
      gather(JSON.parse(text));
    } catch {
      // It only begins like JSON.
    }
  };
  gather(value);
  return texts.join('\n');
}

/** Whether a text holds a value as a separate word: `41` is not in `4711`, nor in `$1,410`. */
export function holds(text: string, value: string): boolean {
  const isWord = (character: string | undefined): boolean =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const end = at + value.length;
    const begins = isWord(value[0]) && isWord(text[at - 1]);
    const goesOn = isWord(value.at(-1)) && isWord(text[end]);
    if (!begins && !goesOn) return true;
  }
  return false;
}
