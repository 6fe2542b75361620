/**
 * Edits in the caller's bytes that are the same in every wire format, except for the name of a text
 * part.
 *
 * The body for the upstream is spliced from the caller's: a replaced `content`, a cut message, a
 * cut field. Everything else keeps its digits, white space and key order.
 */

import { bufferOf } from '../lib/bytes.ts';
import { oncePer } from '../lib/once.ts';
import type { Removal } from '../memory/edits/removal.ts';
import { MOST_MARKS, type View } from '../memory/plan/view.ts';
import { onlyText } from './beside.ts';
import { type JsonSpan, levels, type Span } from './json/outline.ts';
import { BACKSLASH, QUOTE, SPACE } from './json/scanner.ts';
import {
  fieldOf,
  jsonOf,
  memberSplices,
  type Splice,
  splice,
  textOf,
  within,
  wrapSplices,
} from './json/spans.ts';
import type { PartFormat, TextType } from './parts.ts';
import { BREAKPOINTS } from './unmarked.ts';

/** Marks of the upstream's prompt cache, as a protocol has them. */
export interface CacheMarks {
  /** The member of a part that is one. */
  readonly field: string;
  /** The value of Precis's, as JSON. */
  readonly json: string;
  /** The most in a body: the caller's and Precis's. */
  readonly most: number;
  /** Whether callers of models whose callers place marks set them in this form. */
  readonly areCallers: boolean;
  /** Matches an error about one. Servers word it differently. */
  readonly refusal: RegExp;
}

/** What a view edits. */
export type EditedView = Omit<View, 'tokens' | 'incomplete' | 'marks'>;

/** The view of a request that no plan edits. */
export const NO_EDITS: EditedView = { removals: new Map(), dropped: new Set() };

/** A message as far as edits need it. */
interface Spoken {
  readonly span: JsonSpan;
  contentSpan(): JsonSpan | undefined;
  /** See `Message`. */
  opening(): string;
}

/**
 * The text to put at the beginning of a user message, and how many characters of its present
 * beginning it replaces.
 */
export function openingOf(
  view: Pick<View, 'summary' | 'trim'> | undefined,
  index: number,
): { text: string; taken: number } | undefined {
  const request = view?.summary?.request;
  if (!request && !view?.trim?.request) return undefined;
  const block = request?.message === index ? view?.summary?.block : undefined;
  const trim = view?.trim?.request?.message === index ? view.trim : undefined;
  const text = [block, trim?.line].filter((part) => part !== undefined).join('\n\n');
  if (text === '') return undefined;
  const taken = block === undefined ? 0 : (request?.opening ?? 0);
  return { text, taken: Math.max(taken, trim?.request?.opening ?? 0) };
}

/** Puts Precis's rounds before a message or an item. */
export function roundsSplice({ start }: Pick<JsonSpan, 'start'>, json: string): Splice {
  return { start, end: start, with: `${json},` };
}

/**
 * Replaces an output: a string stays a string, a single text part keeps its other members, and
 * several parts become a single text part.
 */
export function outputSplice(
  bytes: Uint8Array,
  content: JsonSpan | undefined,
  removal: Removal,
  format: PartFormat,
  marks?: CacheMarks,
): Splice {
  if (!content) throw new Error(`message ${removal.message} has no content to remove`);
  const text = replacementJson(removal);
  const isText = content.kind !== 'array';
  if (isText && !marks) return { start: content.start, end: content.end, with: text };
  const only = onlyText(bytes, content, format);
  if (only) return textSplice(bytes, only, text, marks);
  const kept = isText ? '' : breakpoints(bytes, within(bytes, content, levels(2)).items ?? []);
  const mark = marks && !kept.includes(`"${marks.field}"`) ? memberOf(marks) : '';
  const part = `{"type":"${format.text}","text":${text}${kept}${mark}}`;
  return { start: content.start, end: content.end, with: `[${part}]` };
}

/** Replaces the text of a part, and marks the part if it has no mark. */
function textSplice(bytes: Uint8Array, part: Span, text: string, marks: CacheMarks | undefined): Splice {
  const object = within(bytes, part, levels(1));
  const members = [{ key: 'text', json: text }];
  if (marks && !fieldOf(object, marks.field)) members.push({ key: marks.field, json: marks.json });
  const edited = splice(
    bytes,
    part,
    memberSplices(object, () => false, members),
  );
  return { start: part.start, end: part.end, with: new TextDecoder().decode(edited) };
}

/** The replacement as a JSON string. An isolate keeps removals, so it is made once. */
export const replacementJson = oncePer(({ replacement }: Removal) => JSON.stringify(replacement));

const OPENAI_MARK = 'prompt_cache_breakpoint';

/** An upstream's error may be about the part that has one. */
const REFUSAL = /prompt_cache_breakpoint|cache_control|content/i;

export const OPENAI_MARKS: CacheMarks = {
  field: OPENAI_MARK,
  json: '{"mode":"explicit"}',
  most: MOST_MARKS,
  areCallers: false,
  refusal: REFUSAL,
};

/**
 * Of Anthropic's models in chat, as gateways take them: on text parts
 * (https://openrouter.ai/docs/guides/best-practices/prompt-caching,
 * https://docs.litellm.ai/docs/completion/prompt_caching).
 */
export const CLAUDE_MARKS: CacheMarks = {
  field: 'cache_control',
  json: '{"type":"ephemeral"}',
  most: 4,
  areCallers: true,
  refusal: REFUSAL,
};

/** A mark as the member of a part; the upstream's cache is read and written after that part. */
function memberOf({ field, json }: CacheMarks): string {
  return `,"${field}":${json}`;
}

/** Parts that may have a mark (https://developers.openai.com/api/docs/guides/prompt-caching). */
const MARKABLE = new Set(['image_url', 'input_audio', 'file', 'input_image', 'input_file']);

/** The latest marks of a view. @param most 0: none */
export function latestMarks(view: View | undefined, most: number): readonly number[] {
  return most > 0 ? (view?.marks ?? []).slice(-most) : [];
}

/** Puts a mark after a content; nothing if it can't have one, or has one. */
export function markSplices(
  bytes: Uint8Array,
  content: JsonSpan | undefined,
  type: TextType,
  marks: CacheMarks = OPENAI_MARKS,
): Splice[] {
  if (content?.kind === 'string') {
    if (isBlank(bytes, content)) return [];
    return wrapSplices(content, `[{"type":"${type}","text":`, `${memberOf(marks)}}]`);
  }
  if (content?.kind !== 'array') return [];
  const last = within(bytes, content, levels(2)).items?.at(-1);
  const kind = last?.kind === 'object' ? fieldOf(last, 'type') : undefined;
  if (!last || !kind || fieldOf(last, marks.field)) return [];
  const name = String(jsonOf(bytes, kind));
  const text = fieldOf(last, 'text');
  const isMarkable = name === type ? text?.kind === 'string' && !isBlank(bytes, text) : MARKABLE.has(name);
  if (!isMarkable || (marks.areCallers && name !== type)) return [];
  const end = last.end - 1;
  return [{ start: end, end, with: memberOf(marks) }];
}

/** Whether a text is white space alone, which upstreams refuse as a part, or after a mark. */
function isBlank(bytes: Uint8Array, text: JsonSpan): boolean {
  const first = bytes[text.start + 1];
  const mayBe = first === QUOTE || first === SPACE || first === BACKSLASH;
  return mayBe && (jsonOf(bytes, text) as string).trim() === '';
}

/**
 * How many marks a body has, or texts that look like one. It counts no further than `most`.
 *
 * @param field the member of a part that is a mark
 */
export function marksIn(bytes: Uint8Array, most: number, field: string = OPENAI_MARK): number {
  const body = bufferOf(bytes);
  let found = 0;
  for (let at = 0; found < most; found++) {
    at = body.indexOf(`"${field}"`, at) + 1;
    if (at === 0) break;
  }
  return found;
}

/** Replaces parts of a content by text, each in its place. */
export function partSplices(
  bytes: Uint8Array,
  content: JsonSpan | undefined,
  removals: readonly Removal[],
  type: TextType,
): Splice[] {
  if (removals.length === 0 || !content) return [];
  const parts = within(bytes, content, levels(2)).items ?? [];
  return removals.map((removal) => {
    const part = parts[removal.call];
    if (!part) throw new Error(`message ${removal.message} has no part ${removal.call} to remove`);
    const text = replacementJson(removal);
    const kept = breakpoints(bytes, [part]);
    return { start: part.start, end: part.end, with: `{"type":"${type}","text":${text}${kept}}` };
  });
}

/**
 * The cache breakpoints of parts that are merged, in their original bytes. The last one of each
 * kind counts.
 */
function breakpoints(bytes: Uint8Array, parts: readonly JsonSpan[]): string {
  return BREAKPOINTS.map((key) => {
    const field = parts.flatMap((part) => fieldOf(part, key) ?? []).at(-1);
    return field ? `,"${key}":${textOf(bytes, field)}` : '';
  }).join('');
}

/**
 * Puts a summary at the beginning of a user message: before its text, or as a part before its
 * parts.
 *
 * @param taken characters of an earlier summary at the beginning, which is replaced
 */
export function openingSplice(
  bytes: Uint8Array,
  message: Spoken,
  block: string,
  taken: number,
  type: TextType,
): Splice {
  const content = message.contentSpan();
  if (content?.kind === 'array') {
    const first = within(bytes, content, levels(2)).items?.[0];
    return openingPart(message, content, first, block, taken, type);
  }
  // Content that is neither text nor parts is invalid; it is kept for the upstream to reject.
  const isText = !content || content.kind === 'string' || textOf(bytes, content) === 'null';
  const text = openedText(block, isText ? message.opening().slice(taken) : textOf(bytes, content));
  if (content) return { start: content.start, end: content.end, with: JSON.stringify(text) };
  const end = message.span.end - 1;
  return { start: end, end, with: `,"content":${JSON.stringify(text)}` };
}

/**
 * A part before the first one. A part with an earlier summary keeps its other fields, such as a
 * cache breakpoint.
 *
 * @param content the list that it is in
 * @param first the part before which it is; undefined in an empty list
 */
export function openingPart(
  message: Pick<Spoken, 'opening'>,
  content: JsonSpan,
  first: JsonSpan | undefined,
  block: string,
  taken: number,
  type: TextType,
): Splice {
  const earlier = taken > 0 && first ? fieldOf(first, 'text') : undefined;
  if (earlier) {
    const text = JSON.stringify(openedText(block, message.opening().slice(taken)));
    return { start: earlier.start, end: earlier.end, with: text };
  }
  const part = `{"type":"${type}","text":${JSON.stringify(block)}}`;
  if (!first) return { start: content.start, end: content.end, with: `[${part}]` };
  return { start: first.start, end: first.start, with: `${part},` };
}

/** A text of Precis, and the one after it. */
export function openedText(block: string, rest: string): string {
  return rest === '' ? block : `${block}\n\n${rest}`;
}
