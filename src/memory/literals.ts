/**
 * Literals: the parts of a text that can't be guessed again once they are gone. Ids, paths, URLs, hashes, amounts, names of
 * symbols. Found by their form alone, so that the same text always yields the same list.
 */

/** Kinds, most distinctive first: the order in which a preview names them. */
const FORMS: readonly RegExp[] = [
  /^https?:\/\//, // URLs
  /^[0-9a-f]{8}-[0-9a-f]{4}-/i, // UUIDs
  /^(?=[a-f\d]*\d)(?=[a-f\d]*[a-f])[a-f\d]{7,64}$/i, // hashes
  /\//, // paths
  /^[$€£]|^\d[\d,]*\.\d+$/, // amounts
  /^(?=.*\d)(?=.*[A-Za-z])/, // ids
  /^\d+$/, // numbers
];

const LITERAL =
  /https?:\/\/[^\s"'<>`()[\]{}\\]+|(?:\.{0,2}\/)?(?:[\w@.-]+\/)+[\w@.-]+|[$€£]\d[\d,]*(?:\.\d+)?|\d[\d,]*\.\d+|[A-Za-z0-9]+(?:[_:#.-][A-Za-z0-9]+)+|[A-Za-z]+\d[A-Za-z0-9]*|\d+[A-Za-z][A-Za-z0-9]*|\d{4,}|[a-z]+(?:[A-Z][a-z0-9]+)+/g;

const TRAILING = /[.,:;-]+$/;
const LONGEST = 120;
const SHORTEST = 4;

/** The distinct literals of a text, in the order in which they stand there. */
export function literalsOf(text: string): string[] {
  const found = new Set<string>();
  for (const [match] of text.matchAll(LITERAL)) {
    const literal = match.replace(TRAILING, '');
    if (literal.length >= SHORTEST && literal.length <= LONGEST) found.add(literal);
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
