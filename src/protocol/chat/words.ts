/** The words of a message or a delta: all that a reader takes for the answer's text. */
import { asList, asObjects, asString, type JsonObject } from '../../lib/json.ts';
import { isThinking } from './reasoning.ts';

/** What says something of the text, or replaces it. */
const OF_TEXT: ReadonlySet<string> = new Set(['content', 'refusal', 'audio', 'annotations']);

export function hasWords(fields: JsonObject): boolean {
  return [...OF_TEXT].some((key) => {
    const value = fields[key] ?? '';
    return value !== '' && wordsOf(value) !== undefined;
  });
}

/** A message or a delta without its words. Thinking in its content stays. */
export function withoutWords(fields: JsonObject): JsonObject {
  const { content } = fields;
  const others = Object.entries(fields).filter(([key]) => !OF_TEXT.has(key));
  const thoughts = asList(content).filter((part) => !isWord(part));
  return { ...Object.fromEntries(others), ...(thoughts.length > 0 ? { content: thoughts } : {}) };
}

/** The text of a content: of all its texts, where it is a list of parts. */
export function textIn(content: unknown): string {
  if (!Array.isArray(content)) return asString(content);
  return asObjects(content)
    .map(({ type, text }) => (type === 'text' ? asString(text) : ''))
    .join('');
}

/** The words of each part of a content, and none of its thinking. */
export function textsIn(parts: readonly unknown[]): string[] {
  const said = asObjects(parts).filter((part) => !isThinking(part));
  return said.map(({ text, refusal }) => asString(text) || asString(refusal));
}

/** Undefined for a content that is thinking alone, or an empty list. */
function wordsOf(value: unknown): unknown {
  return !Array.isArray(value) || value.some(isWord) ? value : undefined;
}

function isWord(part: unknown): boolean {
  return !isThinking(part);
}
