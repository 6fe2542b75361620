/**
 * Parts of a content: lines, matches of a text, a value inside JSON. Pure; used by clients and
 * models alike.
 */

import { cutBefore } from '../lib/characters.ts';
import type { Result } from '../lib/result.ts';
import type { Outline } from '../protocol/json/outline.ts';
import { JsonSyntaxError } from '../protocol/json/scanner.ts';
import { fieldOf, scanJson, textOf } from '../protocol/json/spans.ts';
import { type Line, linesOf } from './lines.ts';

/** A query for a part of a content. */
export type Query =
  | LineRange
  | { readonly kind: 'grep'; readonly text: string; readonly context: number }
  | { readonly kind: 'path'; readonly steps: readonly (string | number)[] };

/** Lines by their numbers, from 1 on. */
export interface LineRange {
  readonly kind: 'lines';
  readonly from: number;
  /** The last one; there may be fewer. */
  readonly to: number;
}

/** Why a query has no answer: it is invalid, or the content has nothing that fits. */
export interface QueryFault {
  readonly reason: 'invalid' | 'not_found';
  /** The parameter at fault. */
  readonly param: string;
  readonly message: string;
}

export interface Answer {
  readonly text: string;
  readonly type: 'text/plain; charset=utf-8' | 'application/json';
  readonly truncated: boolean;
}

const WAYS = ['lines', 'grep', 'path'];

export const QUERY_PARAMETERS = [...WAYS, 'context'];

/** Limits of a query (docs/refs-and-retrieval.md#refs). */
const LONGEST_GREP_BYTES = 256;
const MOST_CONTEXT = 20;
const LARGEST_JSON_BYTES = 8 * 1024 * 1024;

const MOST_STEPS = 64;

/** In characters. Answers are cut here; a whole content or a `Range` of it is not. */
const LONGEST_ANSWER = 256 * 1024;

const encoder = new TextEncoder();

/**
 * Reads a query from the parameters `lines`, `grep` (with `context`) and `path`.
 *
 * @returns undefined if none of them is present
 */
export function parseQuery(
  parameter: (name: string) => string | undefined,
): Result<Query | undefined, QueryFault> {
  const given = WAYS.filter((name) => parameter(name) !== undefined);
  const [name, other] = given;
  if (other !== undefined)
    return invalid(other, `Only one of lines, grep and path may be given, not ${given.join(' and ')}.`);
  if (name !== 'grep' && parameter('context') !== undefined)
    return invalid('context', 'context is only allowed beside grep.');
  const value = name === undefined ? undefined : parameter(name);
  if (value === undefined) return { ok: true, value: undefined };
  if (name === 'lines') return parseLines(value);
  if (name === 'grep') return parseGrep(value, parameter('context') ?? '0');
  return parsePath(value);
}

/** Answers a query in one pass over the content, with memory for a single answer. */
export function answerQuery(content: Uint8Array, query: Query): Result<Answer, QueryFault> {
  if (query.kind === 'path') return valueAt(content, query.steps);
  const text = new TextDecoder().decode(content);
  const answer = new CappedLines();
  if (query.kind === 'grep') grep(text, query, answer);
  else
    for (const { number, line } of linesOf(text)) {
      if (number > query.to || answer.isFull) break;
      if (number >= query.from) answer.add(line);
    }
  return { ok: true, value: cut(answer.toString(), 'text/plain; charset=utf-8') };
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
  if (!path.startsWith('$') || position < path.length || steps.length > MOST_STEPS)
    return invalid(
      'path',
      "path must be $ followed by .name, ['name'] or [n], such as $.items[3].id, with at most 64 steps.",
    );
  return { ok: true, value: { kind: 'path', steps } };
}

/** Collects lines until the longest answer is exceeded. */
class CappedLines {
  private readonly lines: string[] = [];
  private length = 0;

  get isFull(): boolean {
    return this.length > LONGEST_ANSWER;
  }

  add(line: string): void {
    this.lines.push(line);
    this.length += line.length + 1;
  }

  toString(): string {
    return this.lines.join('\n');
  }
}

/**
 * Like `grep -n -F -C`: `n:` before a matching line, `n-` before one around it, `--` between
 * groups. Long lines are shortened.
 */
function grep(text: string, query: { text: string; context: number }, answer: CappedLines): void {
  const add = ({ number, line }: Line, mark: ':' | '-'): void =>
    answer.add(`${number}${mark}${windowsOf(line, query.text)}`);
  let before: Line[] = [];
  let lastShown = 0;
  let after = 0;
  for (const current of linesOf(text)) {
    if (answer.isFull) return;
    if (current.line.includes(query.text)) {
      const first = before[0]?.number ?? current.number;
      if (lastShown > 0 && first > lastShown + 1) answer.add('--');
      for (const line of before) add(line, '-');
      add(current, ':');
      after = query.context;
    } else if (after > 0) {
      add(current, '-');
      after--;
    } else {
      if (query.context > 0) before = [...before, current].slice(-query.context);
      continue;
    }
    before = [];
    lastShown = current.number;
  }
}

/** It is no part of the JSON after it. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * The value's own bytes, so that numbers keep their digits. Scans once, and keeps only the spans
 * along the path.
 */
function valueAt(stored: Uint8Array, steps: readonly (string | number)[]): Result<Answer, QueryFault> {
  const content = BYTE_ORDER_MARK.every((byte, at) => stored[at] === byte) ? stored.subarray(3) : stored;
  if (content.length > LARGEST_JSON_BYTES)
    return invalid(
      'path',
      `The content has ${content.length} bytes; path reads at most ${LARGEST_JSON_BYTES}.`,
    );
  try {
    let value = scanJson(content, outlineOf(steps));
    for (const step of steps) {
      const child = typeof step === 'number' ? value.items?.[0] : fieldOf(value, step);
      if (!child) return notFound('path', `The content has nothing at ${JSON.stringify(step)} of the path.`);
      value = child;
    }
    return { ok: true, value: cut(textOf(content, value), 'application/json') };
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      return invalid('path', 'The content is not JSON, so it has no paths.');
    throw error;
  }
}

function outlineOf(steps: readonly (string | number)[]): Outline {
  return steps.reduceRight<Outline>(
    (inner, step) =>
      typeof step === 'number' ? { items: inner, only: step } : { fields: new Map([[step, inner]]) },
    {},
  );
}

/** Cuts between code points. */
function cut(text: string, type: Answer['type']): Answer {
  if (text.length <= LONGEST_ANSWER) return { text, type, truncated: false };
  return {
    text: text.slice(0, cutBefore(text, LONGEST_ANSWER)),
    type: 'text/plain; charset=utf-8',
    truncated: true,
  };
}

function invalid(param: string, message: string): { ok: false; reason: QueryFault } {
  return { ok: false, reason: { reason: 'invalid', param, message } };
}

function notFound(param: string, message: string): { ok: false; reason: QueryFault } {
  return { ok: false, reason: { reason: 'not_found', param, message } };
}

/** In characters. Shorter lines stay whole. */
const LONG_LINE = 1_000;
/** Characters on each side of a match. */
const AROUND = 300;
const LEFT_OUT = '…';

/**
 * The line, or the parts of a long one around each match; without a match, its beginning. `…` marks
 * omissions.
 */
function windowsOf(line: string, text: string): string {
  if (line.length <= LONG_LINE) return line;
  const parts: string[] = [];
  let start = 0;
  let end = 0;
  for (let at = line.indexOf(text); at >= 0; at = line.indexOf(text, at + text.length)) {
    const from = cutBefore(line, Math.max(0, at - AROUND));
    if (from > end) {
      parts.push(line.slice(start, end));
      start = from;
    }
    end = cutBefore(line, Math.min(line.length, at + text.length + AROUND));
  }
  parts.push(line.slice(start, end || cutBefore(line, 2 * AROUND)));
  return `${parts.join(LEFT_OUT)}${end < line.length ? LEFT_OUT : ''}`;
}
