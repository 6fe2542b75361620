/** JSON in variables of the configuration. */
import * as z from 'zod';
import { parseJson } from './lib/json.ts';
import { levels } from './protocol/json/outline.ts';
import { jsonOf, scanObject } from './protocol/json/spans.ts';

/** A variable that has JSON of a shape. @param phrase see `config.ts`: what it must be */
export function jsonText<Shape extends z.ZodType>(shape: Shape, phrase: string) {
  return z.string('a string of JSON').transform((text, context): z.output<Shape> => {
    const { success, data } = shape.safeParse(parseJson(text));
    if (success) return data;
    context.addIssue({ code: 'custom', message: phrase });
    return z.NEVER;
  });
}

/**
 * The members of an object, in order, whose names are of callers. It is scanned, since `JSON.parse`
 * hides duplicate names, and records of JavaScript have none called `__proto__`.
 *
 * @returns undefined for what is no object
 */
export function namedEntries(text: string): (readonly [name: string, value: unknown])[] | undefined {
  const bytes = new TextEncoder().encode(text);
  return scanObject(bytes, levels(1))?.fields?.map(({ key, value }) => [key, jsonOf(bytes, value)] as const);
}
