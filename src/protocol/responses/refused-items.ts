/** Which kinds of items an upstream's error names: by a place in the input, an id, or the kind. */
import { type Outline, only } from '../json/outline.ts';
import { stringIn, topField } from '../json/spans.ts';
import { MOST_MESSAGES } from '../model-request.ts';

const IDENTIFIED: Outline = { items: only(['type', 'id']), most: MOST_MESSAGES };

/** `input[3].results`, `input.3.results`, and pydantic's `"loc": ["body", "input", 3]`. */
const PLACE = /\binput(?:\[|\.|",\s*(?:"list\[[^"]*",\s*)?)(\d+)\b/g;

/**
 * The kinds of items that an error names, out of those that it may be about.
 *
 * @param error its JSON
 * @param sent the body that was refused
 * @param kinds types of items
 */
export function kindsNamedIn(
  error: string,
  sent: Uint8Array,
  kinds: ReadonlySet<string>,
): ReadonlySet<string> {
  const items = topField(sent, 'input', IDENTIFIED)?.items ?? [];
  const places = new Set(Array.from(error.matchAll(PLACE), ([, place]) => Number(place)));
  const named = new Set([...kinds].filter((kind) => error.includes(kind)));
  for (const [index, item] of items.entries()) {
    const type = stringIn(sent, item, 'type') ?? '';
    if (!kinds.has(type)) continue;
    const id = stringIn(sent, item, 'id') ?? '';
    if (places.has(index) || (id !== '' && error.includes(id))) named.add(type);
  }
  return named;
}
