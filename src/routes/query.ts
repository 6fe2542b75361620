/** The query of Precis's own routes: its names; of a list how many entries, and from where. */
import { hintFor, quote } from '../memory/strategy/hint.ts';
import { type ApiError, invalid } from '../request/errors.ts';
import { isForEach } from '../upstream/credentials.ts';

export interface PageSizes {
  /** Without the parameter. */
  readonly usual: number;
  readonly largest: number;
}

interface Asked {
  readonly req: { query(name: string): string | undefined };
}

/** The number that a parameter of the query asks for. @throws ApiError that names it */
export function countIn({ req }: Asked, name: string, { usual, largest }: PageSizes): number {
  const text = req.query(name);
  if (text === undefined) return usual;
  const size = text.length <= String(largest).length && /^\d+$/.test(text) ? Number(text) : 0;
  if (size >= 1 && size <= largest) return size;
  throw invalid(name, `${name} must be a number from 1 to ${largest}.`);
}

/**
 * For routes that would do more, or read something else, without one of their parameters.
 *
 * @throws ApiError that names one that is spelled wrong, and the nearest. One that a client
 *   may send with every request is ignored
 */
export function checkParameters(
  { req }: { readonly req: { query(): Record<string, string> } },
  known: readonly string[],
): void {
  const isKnown = (name: string): boolean => known.includes(name) || isForEach(name);
  const unknown = Object.keys(req.query()).find((name) => !isKnown(name));
  if (unknown === undefined) return;
  const hint = known.length === 0 ? 'it has none' : hintFor(unknown, known, 'they');
  throw invalid(unknown, `${quote(unknown)} is not a parameter of this route; ${hint}.`);
}

/** The parts of the cursor, if it has this form; undefined on the first page. @throws ApiError */
export function cursorIn({ req }: Asked, form: RegExp): (string | undefined)[] | undefined {
  const cursor = req.query('cursor');
  if (cursor === undefined) return undefined;
  const [whole, ...parts] = form.exec(cursor) ?? [];
  if (whole === undefined) throw otherCursor();
  return parts;
}

/** The caller's error for a cursor that no page has. */
export function otherCursor(): ApiError {
  return invalid('cursor', 'cursor must be the cursor of the previous page.');
}
