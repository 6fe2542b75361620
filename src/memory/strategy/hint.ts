/** The words of errors about fields: what a caller has written, and what they probably meant. */
import type { z } from 'zod';
import { elementAt } from '../../lib/elements.ts';
import { isObject } from '../../lib/json.ts';

/** A caller's value for a message: a short string as it is, anything else by its type. */
export function quote(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 64)}'` : `of type ${typeof value}`;
}

/** Types by zod's names. */
const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  nonoptional: 'there',
};

/**
 * What a field must be, and what it is: the end of a sentence that begins with its name. For
 * `safeParse(value, { error: inWords })`.
 */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  const what = mustBe(issue);
  if (what === undefined) return 'is not valid';
  const { input } = issue;
  if (input === undefined) return `${what}; it is missing`;
  const isPlain = typeof input === 'number' || typeof input === 'boolean' || input === null;
  return `${what}; it is ${isPlain ? String(input) : quote(input)}`;
};

function mustBe(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      return limit('at least', issue.origin, Number(issue.minimum), issue.inclusive);
    case 'too_big':
      return limit('at most', issue.origin, Number(issue.maximum), issue.inclusive);
    default:
      return undefined;
  }
}

/** What lists and strings are counted in. */
const PARTS: Readonly<Record<string, string>> = { string: 'characters', array: 'elements' };

function limit(words: string, origin: string, value: number, isInclusive = true): string {
  const parts = PARTS[origin];
  if (parts)
    return value === 1 && words === 'at least' ? 'must not be empty' : `must have ${words} ${value} ${parts}`;
  return isInclusive
    ? `must be ${words} ${value}`
    : `must be ${words === 'at least' ? 'over' : 'under'} ${value}`;
}

/**
 * Names the known field that a caller probably meant, or else all of them.
 *
 * @param all what they are together, such as `its fields`
 */
export function hintFor(unknown: string, known: readonly string[], all: string): string {
  const near = nearest(unknown.slice(0, 64), known);
  if (near !== undefined) return `the nearest known one is '${near}'`;
  return `${all} are ${known.join(', ')}`;
}

/**
 * The known field with the smallest edit distance, if that is at most a third of the word. A field
 * that contains the word counts as near too, and comes first.
 */
export function nearest<Field extends string>(word: string, fields: readonly Field[]): Field | undefined {
  const ranked = fields.map((candidate) => {
    const distance = editDistance(word, candidate);
    const isPart = word.length >= SHORTEST_PART && candidate.includes(word);
    // Of the words of a field, the last one says what it is: 'keep' is 'compact_keep'.
    const isNoun = candidate.endsWith(word) ? 1 : 0;
    return { candidate, distance: isPart ? distance - candidate.length - isNoun : distance, isPart };
  });
  const best = ranked.reduce((nearer, next) => (next.distance < nearer.distance ? next : nearer));
  return best.isPart || best.distance <= word.length / 3 ? best.candidate : undefined;
}

/** In characters. Shorter words are a part of too many names. */
const SHORTEST_PART = 4;

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i++) {
    let left = i + 1;
    const next = [left];
    for (let j = 0; j < b.length; j++) {
      const substitute = elementAt(row, j) + (a[i] === b[j] ? 0 : 1);
      left = Math.min(substitute, elementAt(row, j + 1) + 1, left + 1);
      next.push(left);
    }
    row = next;
  }
  return elementAt(row, b.length);
}

/**
 * The end of a sentence about an object that is not valid.
 *
 * @param known its fields
 */
export function whatIsWrong(input: unknown, known: readonly string[]): string {
  const unknown = isObject(input) ? Object.keys(input).find((field) => !known.includes(field)) : undefined;
  if (unknown === undefined) return `this one is ${quote(input)}`;
  return `it has no field ${quote(unknown)}, ${hintFor(unknown, known, 'its fields')}`;
}

/** What wraps a schema: defaults, null and transforms; and a union's members. */
interface Wrapped {
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
}

/** The fields of the object at a path of a schema; none where there is no object. */
export function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const object = objectIn(schema);
  if (!object) return [];
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(object);
  const member = object[String(first)];
  return member ? fieldsAt(member, rest) : [];
}

/** The members of a schema's object, through what wraps it. */
function objectIn(schema: z.core.$ZodType): Wrapped['shape'] {
  const { shape, innerType, in: input, options } = schema._zod.def as Wrapped;
  if (shape) return shape;
  const within = [innerType, input, ...(options ?? [])].filter((each) => each !== undefined);
  for (const each of within) {
    const found = objectIn(each);
    if (found) return found;
  }
  return undefined;
}
