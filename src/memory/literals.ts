/**
 * Literals: the parts of a text that can't be guessed again once they are gone. Ids, paths, URLs, hashes, amounts, names of
 * symbols. Found by their form alone, so that the same text always yields the same list.
 *
 * A text is cut into words first, by one pass that never goes back; only short words are then tried against the forms. A single
 * expression for all forms would take the square of a long run's length.
 */

/** A URL, or a run without white space, quotes and brackets. */
const WORD = /https?:\/\/[^\s"'<>`()[\]{}\\]+|[^\s"'<>`()[\]{}\\;|=]+/g;

/** The forms, most distinctive first: the order in which a preview names them. */
const FORMS: readonly RegExp[] = [
  /^https?:\/\/./, // URLs
  /^[0-9a-f]{8}-[0-9a-f]{4}-/i, // UUIDs
  /^(?=[a-f]*\d)(?=\d*[a-f])[a-f\d]{7,64}$/i, // hashes
  /^[\w@.~-]*(?:\/[\w@.-]+)+\/?$/, // paths
  /^[$€£]\d[\d,]*(?:\.\d+)?$|^\d[\d,]*\.\d+$/, // amounts
  /^(?=\D*\d)(?=\d*[A-Za-z])[A-Za-z\d]+(?:[_:#.-][A-Za-z\d]+)*$/, // ids
  /^\d{4,}$/, // numbers
  /^[A-Za-z\d]+(?:[_:#.][A-Za-z\d]+)+$/, // snake_case, a.member
  /^[A-Za-z][a-z\d]*(?:[A-Z][a-z\d]+)+$/, // camelCase
];

const PUNCTUATION = '.,:;-!?*';
const SHORTEST = 4;
const LONGEST = 120;

/** The distinct literals of a text, in the order in which they stand there. Linear in its length. */
export function literalsOf(text: string): string[] {
  const found = new Set<string>();
  for (const [word] of text.matchAll(WORD))
    for (const part of partsOf(word)) {
      const literal = trimmed(part);
      if (literal.length >= SHORTEST && literal.length <= LONGEST && rankOf(literal) < FORMS.length)
        found.add(literal);
    }
  return [...found];
}

/** Most distinctive first; equals stay in their order. */
export function byDistinction(literals: readonly string[]): string[] {
  return literals
    .map((literal) => ({ literal, rank: rankOf(literal) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ literal }) => literal);
}

function rankOf(literal: string): number {
  const rank = FORMS.findIndex((form) => form.test(literal));
  return rank < 0 ? FORMS.length : rank;
}

/** A comma parts words, unless it stands in a number or a URL. */
function partsOf(word: string): string[] {
  return !word.includes(',') || /^[$€£]?\d|^https?:/.test(word) ? [word] : word.split(',');
}

function trimmed(word: string): string {
  let start = 0;
  let end = word.length;
  while (end > start && PUNCTUATION.includes(word[end - 1] ?? '')) end--;
  while (start < end && PUNCTUATION.includes(word[start] ?? '') && word[start] !== '.') start++;
  return word.slice(start, end);
}
