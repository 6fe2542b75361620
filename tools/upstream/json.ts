/** What the upstreams share: JSON of any shape, and what they say of it. */
import { createHash } from 'node:crypto';

export type Json = Record<string, unknown>;

/** Takes a sentence for each thing that an API would refuse, which begins with the field. */
export type Report = (sentence: string) => void;

export function isFields(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A non-empty string that identifies something: an id, a model, a tool. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

export const listed = (value: unknown): Json[] => (Array.isArray(value) ? value : []);

/** @param within the path of an element, after its list's */
export function checkSurrogates(
  value: unknown,
  path: string,
  within: (at: number) => string,
  report: Report,
): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) report(`${path}: holds a lone surrogate`);
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) checkSurrogates(item, path + within(at), within, report);
  } else if (isFields(value)) {
    for (const [key, item] of Object.entries(value))
      checkSurrogates(item, path === '' ? key : `${path}.${key}`, within, report);
  }
}

/** Requests of a conversation all differ, and equal ones get equal bytes. */
export function idFor(body: Json): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16);
}
