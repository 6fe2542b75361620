/**
 * What a message of chat or an item of the Responses API says, however its client writes it. So
 * what is stored under the hash of messages is found again although a client moves its cache marks
 * with each request, or writes a text as a string here and as a part there.
 *
 * Bytes are cut and never decoded: a text without marks costs no more than its hash. (Messages has
 * a rule of its own, since inputs of its calls are JSON.)
 */
import { concat } from '../lib/bytes.ts';
import { onlyOf } from '../lib/elements.ts';
import { bareJson, type LeftOut, leftOut } from './json/bare.ts';
import type { JsonSpan, Span } from './json/outline.ts';
import { elementsOf, jsonOf, membersOf, textOf } from './json/spans.ts';
import type { PartFormat } from './parts.ts';
import { BREAKPOINTS, isBreakpoint } from './unmarked.ts';

/** Marks of prompt caches, which are in messages, in their parts and in calls. */
export const MARKS: readonly LeftOut[] = BREAKPOINTS.map((key) => leftOut(key));

/** Lists of a text part that say nothing while they are empty. Some clients leave them out. */
const LISTS: ReadonlySet<string> = new Set(['annotations', 'logprobs']);
const EMPTY: ReadonlySet<string> = new Set(['[]', 'null']);

/**
 * @param element the message or item
 * @param content the value of its member with the content; one text part says the same as a text
 * @param left members that say nothing
 */
export function saidIn(
  body: Uint8Array,
  element: Span,
  content: JsonSpan | undefined,
  format: PartFormat,
  left: readonly LeftOut[] = MARKS,
): Uint8Array {
  const text = content?.kind === 'array' ? onlyText(body, content, format) : undefined;
  if (!content || !text) return bareJson(body.subarray(element.start, element.end), left);
  const pieces = [
    body.subarray(element.start, content.start),
    body.subarray(text.start, text.end),
    body.subarray(content.end, element.end),
  ];
  return bareJson(concat(pieces), left);
}

/** The text in a list of one text part that says nothing else; undefined for any other list. */
function onlyText(body: Uint8Array, list: JsonSpan, format: PartFormat): JsonSpan | undefined {
  const only = onlyOf(elementsOf(body, list));
  if (only?.kind !== 'object') return undefined;
  let type: unknown;
  let text: JsonSpan | undefined;
  for (const { key, value } of membersOf(body, only)) {
    if (key === 'type') type = jsonOf(body, value);
    else if (key === 'text') text = value;
    else if (!saysNothing(key, body, value)) return undefined;
  }
  const isText = text?.kind === 'string' && format.textOf({ type, text: '' }) !== undefined;
  return isText ? text : undefined;
}

function saysNothing(key: string, body: Uint8Array, value: Span): boolean {
  if (isBreakpoint(key)) return true;
  return LISTS.has(key) && value.end - value.start <= 4 && EMPTY.has(textOf(body, value));
}
