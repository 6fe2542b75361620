/** Fields of a body that is not read otherwise. */
import { only } from './json/outline.ts';
import { jsonOf, membersOf, scanObject, valueIn } from './json/spans.ts';

/** Undefined if the body is no JSON object, or names no model. */
export function modelIn(body: Uint8Array): string | undefined {
  const model = topFieldsOf(body, ['model'])?.get('model');
  return typeof model === 'string' ? model : undefined;
}

/** Whether a request asks for a stream; undefined if its body is no JSON object. */
export function streamIn(body: Uint8Array): boolean | undefined {
  const found = topFieldsOf(body, ['stream']);
  return found && found.get('stream') === true;
}

/** The values of top-level fields; undefined if the body is no JSON object. */
export function topFieldsOf(body: Uint8Array, names: readonly string[]): Fields | undefined {
  const root = scanObject(body, only(names));
  if (!root) return undefined;
  return new Map(names.map((name) => [name, valueIn(body, root, name)]));
}

type Fields = ReadonlyMap<string, unknown>;

/**
 * How servers may read some top-level fields: by their exact names; and, where that gives other
 * values, in any case and with the last of all spellings, as those written in Go do.
 *
 * @returns one reading or two. A body that is no JSON object has no fields
 */
export function readingsOf(body: Uint8Array, names: readonly string[]): readonly Fields[] {
  const exact = topFieldsOf(body, names) ?? new Map<string, unknown>();
  const root = scanObject(body, {});
  const wanted = new Set(names);
  const any = new Map<string, unknown>();
  let isOther = false;
  for (const { key, value } of root ? membersOf(body, root) : []) {
    const name = foldedName(key);
    if (!wanted.has(name)) continue;
    isOther ||= name !== key;
    any.set(
      name,
      folded(jsonOf(body, value), () => (isOther = true)),
    );
  }
  return isOther ? [exact, any] : [exact];
}

/** Some servers ignore the case of names, and fold Unicode: `ſtore` is `store` to them. */
export function foldedName(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Levels of a value whose names are read. */
const NAMED_LEVELS = 4;

/** A value with the names in it folded. @param onOther called for each that is spelled otherwise */
function folded(value: unknown, onOther: () => void, levels = NAMED_LEVELS): unknown {
  if (levels === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => folded(one, onOther, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = foldedName(key);
      if (name !== key) onOther();
      return [name, folded(inner, onOther, levels - 1)];
    }),
  );
}

/** The names of all top-level fields; none if the body is no JSON object. */
export function topNamesOf(body: Uint8Array): readonly string[] {
  const root = scanObject(body, {});
  return root ? Array.from(membersOf(body, root), ({ key }) => key) : [];
}
