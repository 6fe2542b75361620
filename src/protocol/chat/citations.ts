/**
 * Citations in the text of an answer
 * (https://platform.openai.com/docs/api-reference/chat/object, `annotations`). Where texts are
 * joined, they move with theirs. Places are counted as JavaScript counts: a vendor that counts an
 * emoji as one, in a text before, is off by one for each of them.
 */
import { isObject, type JsonObject } from '../../lib/json.ts';

const PLACES = ['start_index', 'end_index'];

/** A message or a delta whose citations are moved. @param by characters */
export function withMovedCitations(fields: JsonObject, by: number): JsonObject {
  const { annotations } = fields;
  if (by === 0 || !Array.isArray(annotations) || annotations.length === 0) return fields;
  return { ...fields, annotations: annotations.map((annotation) => moved(annotation, by)) };
}

/** The places are in the annotation, or in a member that is named by its type. */
function moved(value: unknown, by: number): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      PLACES.includes(key) && typeof member === 'number' ? member + by : moved(member, by),
    ]),
  );
}
