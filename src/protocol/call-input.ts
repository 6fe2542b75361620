/**
 * The arguments of a call: JSON as a text. Some clients and servers write the object itself, which
 * their upstreams take for the same.
 */
import type { Removal } from '../memory/edits/removal.ts';
import { replacementJson } from './edits.ts';
import type { JsonSpan, Span } from './json/outline.ts';
import { QUOTE } from './json/scanner.ts';
import { fieldOf, jsonOf, type Splice, textOf } from './json/spans.ts';

/** The value of a member that can be arguments; undefined for any other. */
export function inputField(object: JsonSpan | undefined, key: string): JsonSpan | undefined {
  const value = object && fieldOf(object, key);
  return value && ['string', 'object', 'array'].includes(value.kind) ? value : undefined;
}

/** Arguments as the model reads them. An object keeps its digits. */
export function inputIn(bytes: Uint8Array, input: Span): string {
  return bytes[input.start] === QUOTE ? (jsonOf(bytes, input) as string) : textOf(bytes, input);
}

/** Puts the replacement of arguments in their place: in a text, or as the object that it is. */
export function inputSplice(bytes: Uint8Array, { start, end }: Span, removal: Removal): Splice {
  const isText = bytes[start] === QUOTE;
  return { start, end, with: isText ? replacementJson(removal) : removal.replacement };
}

/** Decoded arguments as a text. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input;
  return typeof input === 'object' && input !== null ? JSON.stringify(input) : '';
}
