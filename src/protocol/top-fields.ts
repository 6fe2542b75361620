/** Fields of a body that is not read otherwise. */
import { fieldOf, jsonOf, membersOf, scanObject } from './json/spans.ts';

/** Undefined if the body is no JSON object, or names no model. */
export function modelIn(body: Uint8Array): string | undefined {
  const model = valueIn(body, 'model')?.value;
  return typeof model === 'string' ? model : undefined;
}

/** Whether a request asks for a stream; undefined if its body is no JSON object. */
export function streamIn(body: Uint8Array): boolean | undefined {
  const found = valueIn(body, 'stream');
  return found && found.value === true;
}

/** The values of top-level fields; undefined if the body is no JSON object. */
export function topFieldsOf(
  body: Uint8Array,
  names: readonly string[],
): ReadonlyMap<string, unknown> | undefined {
  const root = scanObject(body, { fields: new Map(names.map((name) => [name, {}])) });
  if (!root) return undefined;
  return new Map(
    names.map((name) => {
      const span = fieldOf(root, name)?.value;
      return [name, span && jsonOf(body, span)];
    }),
  );
}

/** The names of all top-level fields; none if the body is no JSON object. */
export function topNamesOf(body: Uint8Array): readonly string[] {
  const root = scanObject(body, {});
  return root ? Array.from(membersOf(body, root), ({ key }) => key) : [];
}

/** The value of a top-level field; undefined if the body is no JSON object. */
function valueIn(body: Uint8Array, field: string): { readonly value: unknown } | undefined {
  const found = topFieldsOf(body, [field]);
  return found && { value: found.get(field) };
}
