/** Parts of a kept content: lines, what surrounds a text, a value inside of JSON. Pure; the same for clients and models. */
import type { Result } from '../memory/result.ts';
import { fieldOf, type JsonSpan, JsonSyntaxError, scanJson, textOf } from '../protocol/spans.ts';

/** A question about a content. */
export type Query =
  | { readonly kind: 'lines'; readonly from: number; readonly to: number }
  | { readonly kind: 'grep'; readonly text: string; readonly context: number }
  | { readonly kind: 'path'; readonly steps: readonly (string | number)[] };

/** Why a question has no answer: it is not a question, or the content holds nothing of the kind. */
export interface QueryFault {
  readonly reason: 'invalid' | 'not_found';
  /** The parameter. */
  readonly param: string;
  readonly message: string;
}

export interface Answer {
  readonly text: string;
  readonly type: 'text/plain; charset=utf-8' | 'application/json';
  /** Whether the answer was longer than what is given. */
  readonly truncated: boolean;
}

/** Limits of design §5. */
const LONGEST_GREP_BYTES = 256;
const MOST_CONTEXT = 20;
const LARGEST_JSON_BYTES = 8 * 1024 * 1024;

/** An answer is cut here, in characters; a content in full, or a `Range` of it, is not. */
const LONGEST_ANSWER = 256 * 1024;

const encoder = new TextEncoder();

/**
 * Reads a query from the parameters `lines`, `grep` (with `context`) and `path`.
 *
 * @returns undefined when none of them is there
 */
export function parseQuery(
  parameter: (name: string) => string | undefined,
): Result<Query | undefined, QueryFault> {
  const given = ['lines', 'grep', 'path'].filter((name) => parameter(name) !== undefined);
  const [name, other] = given;
  if (other !== undefined)
    return invalid(other, `Only one of lines, grep and path may be given, not ${given.join(' and ')}.`);
  if (name !== 'grep' && parameter('context') !== undefined)
    return invalid('context', 'context stands only beside grep.');
  const value = name === undefined ? undefined : parameter(name);
  if (value === undefined) return { ok: true, value: undefined };
  if (name === 'lines') return parseLines(value);
  if (name === 'grep') return parseGrep(value, parameter('context') ?? '0');
  return parsePath(value);
}

/** Answers a query from a content. */
export function answerQuery(content: Uint8Array, query: Query): Result<Answer, QueryFault> {
  if (query.kind === 'path') return valueAt(content, query.steps);
  const lines = linesOf(new TextDecoder().decode(content));
  const picked = query.kind === 'lines' ? lines.slice(query.from - 1, query.to) : grep(lines, query);
  return { ok: true, value: cut(picked.join('\n'), 'text/plain; charset=utf-8') };
}

function parseLines(value: string): Result<Query, QueryFault> {
  const [, first, dash, last] = /^(\d{1,9})(-(\d{1,9})?)?$/.exec(value) ?? [];
  const from = Number(first);
  const to = last !== undefined ? Number(last) : dash === undefined ? from : Number.MAX_SAFE_INTEGER;
  if (first === undefined || from < 1 || to < from)
    return invalid('lines', 'lines must be a range of line numbers from 1 on, such as 10-40, 10- or 10.');
  return { ok: true, value: { kind: 'lines', from, to } };
}

function parseGrep(text: string, context: string): Result<Query, QueryFault> {
  if (text === '' || encoder.encode(text).length > LONGEST_GREP_BYTES)
    return invalid('grep', `grep must be a literal text of 1 to ${LONGEST_GREP_BYTES} bytes.`);
  if (!/^\d{1,2}$/.test(context) || Number(context) > MOST_CONTEXT)
    return invalid('context', `context must be a number of lines from 0 to ${MOST_CONTEXT}.`);
  return { ok: true, value: { kind: 'grep', text, context: Number(context) } };
}

const STEP = /\.([A-Za-z_$][\w$-]*)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]/y;

function parsePath(path: string): Result<Query, QueryFault> {
  const steps: (string | number)[] = [];
  let position = 1;
  while (path.startsWith('$') && position < path.length) {
    STEP.lastIndex = position;
    const step = STEP.exec(path);
    if (!step) break;
    const [whole, name, index, quoted] = step;
    steps.push(name ?? (index === undefined ? (quoted ?? '').replace(/\\(.)/g, '$1') : Number(index)));
    position += whole.length;
  }
  if (!path.startsWith('$') || position < path.length)
    return invalid('path', "path must be $ followed by .name, ['name'] or [n], such as $.items[3].id.");
  return { ok: true, value: { kind: 'path', steps } };
}

/** Lines as an editor counts them: a last line break ends the last line and begins no other. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

/** Like `grep -n -F -C`: `n:` before a line that matches, `n-` before one around it, `--` between groups. */
function grep(lines: readonly string[], { text, context }: { text: string; context: number }): string[] {
  const out: string[] = [];
  const isMatch = lines.map((line) => line.includes(text));
  let shown = -1;
  for (const [index, matches] of isMatch.entries()) {
    if (!matches) continue;
    const from = Math.max(shown + 1, index - context);
    if (shown >= 0 && from > shown + 1) out.push('--');
    const to = Math.min(lines.length - 1, index + context);
    for (let line = from; line <= to; line++)
      out.push(`${line + 1}${isMatch[line] ? ':' : '-'}${lines[line]}`);
    shown = Math.max(shown, to);
  }
  return out;
}

/** The value's own bytes: numbers keep their digits. */
function valueAt(content: Uint8Array, steps: readonly (string | number)[]): Result<Answer, QueryFault> {
  if (content.length > LARGEST_JSON_BYTES)
    return invalid(
      'path',
      `The content has ${content.length} bytes; path reads at most ${LARGEST_JSON_BYTES}.`,
    );
  try {
    let offset = 0;
    let bytes = content;
    for (const step of steps) {
      const child = childOf(scanJson(bytes, 1), step);
      if (!child) return notFound('path', `The content has nothing at ${JSON.stringify(step)} of the path.`);
      offset += child.start;
      bytes = content.subarray(offset, offset + child.end - child.start);
    }
    const value = scanJson(bytes, 0);
    return { ok: true, value: cut(textOf(bytes, value), 'application/json') };
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      return invalid('path', 'The content is not JSON, so it has no paths.');
    throw error;
  }
}

function childOf(value: JsonSpan, step: string | number): JsonSpan | undefined {
  return typeof step === 'number' ? value.items?.[step] : fieldOf(value, step)?.value;
}

/** Cuts between code points. */
function cut(text: string, type: Answer['type']): Answer {
  if (text.length <= LONGEST_ANSWER) return { text, type, truncated: false };
  const last = text.charCodeAt(LONGEST_ANSWER - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? LONGEST_ANSWER - 1 : LONGEST_ANSWER;
  return { text: text.slice(0, end), type: 'text/plain; charset=utf-8', truncated: true };
}

function invalid(param: string, message: string): { ok: false; reason: QueryFault } {
  return { ok: false, reason: { reason: 'invalid', param, message } };
}

function notFound(param: string, message: string): { ok: false; reason: QueryFault } {
  return { ok: false, reason: { reason: 'not_found', param, message } };
}
