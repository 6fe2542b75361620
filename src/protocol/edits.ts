/**
 * Edits of a view in the caller's bytes that are the same in every wire format, but for what a part
 * of text is called.
 */
import type { Removal } from '../memory/edits/removal.ts';
import type { View } from '../memory/plan/view.ts';
import { fieldOf, type JsonSpan, levels, type Splice, textOf, within } from './json/spans.ts';
import { BREAKPOINTS, type TextType } from './parts.ts';

/** Where a message holds its text. */
export interface Spoken {
  readonly span: JsonSpan;
  contentSpan(): JsonSpan | undefined;
  /** See `Message`. */
  opening(): string;
}

/**
 * What a user message opens with, and how many characters of its own opening that takes the place
 * of.
 */
export function openingOf(
  view: View | undefined,
  index: number,
): { text: string; taken: number } | undefined {
  const request = view?.summary?.request;
  const block = request?.message === index ? view?.summary?.block : undefined;
  const trim = view?.trim?.message === index ? view.trim : undefined;
  const text = [block, trim?.line].filter((part) => part !== undefined).join('\n\n');
  if (text === '') return undefined;
  return { text, taken: Math.max(block === undefined ? 0 : (request?.opening ?? 0), trim?.opening ?? 0) };
}

/** A removed output: a string stays one, and parts become one part of text. */
export function outputSplice(
  bytes: Uint8Array,
  content: JsonSpan | undefined,
  removal: Removal,
  type: TextType,
): Splice {
  if (!content) throw new Error(`message ${removal.message} has no content to remove`);
  const text = JSON.stringify(removal.replacement);
  if (content.kind !== 'array') return { start: content.start, end: content.end, with: text };
  const kept = breakpoints(bytes, within(bytes, content, levels(2)).items ?? []);
  const part = `{"type":"${type}","text":${text}${kept}}`;
  return { start: content.start, end: content.end, with: `[${part}]` };
}

/** Parts of a content that become text, each in its place. */
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
    const text = JSON.stringify(removal.replacement);
    const kept = breakpoints(bytes, [part]);
    return { start: part.start, end: part.end, with: `{"type":"${type}","text":${text}${kept}}` };
  });
}

/**
 * The cache breakpoints of parts that become one, in the bytes that they came in; the last one of a
 * kind holds for all before it.
 */
function breakpoints(bytes: Uint8Array, parts: readonly JsonSpan[]): string {
  return BREAKPOINTS.map((key) => {
    const field = parts.flatMap((part) => fieldOf(part, key) ?? []).at(-1);
    return field ? `,"${key}":${textOf(bytes, field.value)}` : '';
  }).join('');
}

/**
 * Lets a user message open with a summary: text before its text, a part before its parts.
 *
 * @param taken characters of the opening that an earlier summary takes, and that are not repeated
 */
export function openingSplice(
  bytes: Uint8Array,
  message: Spoken,
  block: string,
  taken: number,
  type: TextType,
): Splice {
  const content = message.contentSpan();
  if (content?.kind === 'array') return openingPart(bytes, message, content, block, taken, type);
  // What is neither text nor parts is the upstream's to judge, and stays to be judged.
  const isText = !content || content.kind === 'string' || textOf(bytes, content) === 'null';
  const text = opened(block, isText ? message.opening().slice(taken) : textOf(bytes, content));
  if (content) return { start: content.start, end: content.end, with: JSON.stringify(text) };
  const end = message.span.end - 1;
  return { start: end, end, with: `,"content":${JSON.stringify(text)}` };
}

/**
 * A part before the first one; the part that holds an earlier opening keeps whatever else it has,
 * such as a cache breakpoint.
 */
function openingPart(
  bytes: Uint8Array,
  message: Spoken,
  content: JsonSpan,
  block: string,
  taken: number,
  type: TextType,
): Splice {
  const first = within(bytes, content, levels(2)).items?.[0];
  const held = taken > 0 && first ? fieldOf(first, 'text')?.value : undefined;
  if (held) {
    const text = JSON.stringify(opened(block, message.opening().slice(taken)));
    return { start: held.start, end: held.end, with: text };
  }
  const part = `{"type":"${type}","text":${JSON.stringify(block)}}`;
  if (!first) return { start: content.start, end: content.end, with: `[${part}]` };
  return { start: first.start, end: first.start, with: `${part},` };
}

function opened(block: string, rest: string): string {
  return rest === '' ? block : `${block}\n\n${rest}`;
}
