/**
 * Mutations of valid JSON, as odd upstreams send it: values that are replaced, missing, or followed
 * by null.
 */
import fc from 'fast-check';

/** One change, applied at one place of a value. */
export interface Mutation {
  /** Index of the place, modulo their number. */
  readonly place: number;
  readonly kind: 'replace' | 'remove' | 'add null';
  readonly value: unknown;
}

const odd = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.constantFrom<unknown>('', 0, -1, true, [], {}, [null], [[]], { index: null }),
  fc.jsonValue({ maxDepth: 2 }),
);

export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    place: fc.nat({ max: 999 }),
    kind: fc.constantFrom('replace', 'replace', 'remove', 'add null'),
    value: odd,
  }),
  { maxLength: 4 },
);

type Container = Record<string, unknown> | unknown[];

/** A mutated copy of a JSON value. */
export function mutated<Value>(value: Value, changes: readonly Mutation[]): Value {
  const root: { value: unknown } = { value: structuredClone(value) };
  for (const { place, kind, value: put } of changes) {
    const places = placesIn(root);
    const [parent, key] = places[place % places.length] ?? [root, 'value'];
    const at = parent as Record<string, unknown>;
    if (kind === 'remove' && parent !== root)
      Array.isArray(parent) ? parent.splice(Number(key), 1) : delete at[key];
    else if (kind === 'add null' && Array.isArray(at[key])) at[key] = [null, ...(at[key] as unknown[]), null];
    else at[key] = structuredClone(put);
  }
  return root.value as Value;
}

type Place = [parent: Container, key: string];

/** Appends to one list, since delegating generators would be far slower. */
function placesIn(container: Container, places: Place[] = []): Place[] {
  for (const [key, value] of Object.entries(container)) {
    places.push([container, key]);
    if (typeof value === 'object' && value !== null) placesIn(value as Container, places);
  }
  return places;
}
