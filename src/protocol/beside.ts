/**
 * What an element says beside all that the core reads of it: the citations of a text, the namespace
 * of a call, what a gateway has added. No view edits it and nothing counts it. So where a text is
 * replaced it stays in its place, and where its message leaves, the transcript has it.
 */
import { onlyOf } from '../lib/elements.ts';
import type { JsonSpan, Span } from './json/outline.ts';
import { elementsOf, jsonOf, membersOf, textOf } from './json/spans.ts';
import type { PartFormat } from './parts.ts';
import { isBreakpoint } from './unmarked.ts';

/** Values of members that say nothing. */
const NOTHING: ReadonlySet<string> = new Set(['null', 'false', '""', '[]', '{}']);

const OF_TEXT: ReadonlySet<string> = new Set(['type', 'text', 'logprobs']);

/**
 * The other members of an object as one JSON object, in its bytes.
 *
 * @param read the members that are read elsewhere
 * @returns one text, or none
 */
export function besideIn(body: Uint8Array, object: Span, read: ReadonlySet<string>): string[] {
  const others: string[] = [];
  for (const { key, value, ...member } of membersOf(body, object))
    if (!read.has(key) && !isBreakpoint(key) && !NOTHING.has(textOf(body, value)))
      others.push(textOf(body, member));
  return others.length === 0 ? [] : [`{${others.join(',')}}`];
}

/** Of the part that is a content alone. */
export function besideText(body: Uint8Array, content: JsonSpan | undefined, format: PartFormat): string[] {
  const part = onlyText(body, content, format);
  return part ? besideIn(body, part, OF_TEXT) : [];
}

/** The only part of a content, if it is a text: then this text is the content. */
export function onlyText(
  body: Uint8Array,
  content: JsonSpan | undefined,
  format: Pick<PartFormat, 'textOf'>,
): JsonSpan | undefined {
  const part = content?.kind === 'array' ? onlyOf(elementsOf(body, content)) : undefined;
  return part?.kind === 'object' && isText(body, part, format) ? part : undefined;
}

/** Whether a part is a text. Its text is not decoded. */
function isText(body: Uint8Array, part: Span, format: Pick<PartFormat, 'textOf'>): boolean {
  let type: unknown;
  let kind: JsonSpan['kind'] | undefined;
  for (const { key, value } of membersOf(body, part)) {
    if (key === 'type') type = jsonOf(body, value);
    else if (key === 'text') kind = value.kind;
  }
  return kind === 'string' && format.textOf({ type, text: '' }) !== undefined;
}
