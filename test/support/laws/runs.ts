/**
 * Properties, and how many cases each tries. The numbers by day are chosen so that a property takes
 * about half a second; `PROPERTY_RUNS=full` has all of them.
 *
 * What a property must have met is stated as a share of this, never as a number of its own.
 */
import fc from 'fast-check';
import { inject } from 'vitest';

/**
 * @param day in most runs
 * @param full in `npm run test:full`
 */
export function runs(day: number, full: number): number {
  return inject('properties').full ? full : day;
}

/** How many cases, or any parameters of fast-check. */
type How<Values> = number | fc.Parameters<Values>;
/** Not `void` alone, which a promise would be taken for. */
// biome-ignore lint/suspicious/noConfusingVoidType: as fast-check has it
type Held = boolean | void;
type Property<Values extends [unknown, ...unknown[]], Result> = [
  ...cases: { [At in keyof Values]: fc.Arbitrary<Values[At]> },
  holds: (...values: Values) => Result,
];

/**
 * Fails for a case in which a property does not hold. Without `how`, seed.ts says how many cases it
 * tries.
 */
export function forAll<Values extends [unknown, ...unknown[]]>(...property: Property<Values, Held>): void;
export function forAll<Values extends [unknown, ...unknown[]]>(
  how: How<Values>,
  ...property: Property<Values, Held>
): void;
export function forAll(...given: unknown[]): void {
  const [first, ...rest] = given;
  const isOfAll = first instanceof fc.Arbitrary;
  const property = (isOfAll ? given : rest) as Property<[unknown], Held>;
  fc.assert(fc.property(...property), isOfAll ? {} : parametersOf(first as How<[unknown]>));
}

/** Likewise, for a property that takes time. */
export function forAllAsync<Values extends [unknown, ...unknown[]]>(
  how: How<Values>,
  ...property: Property<Values, Promise<void>>
): Promise<void> {
  return fc.assert(fc.asyncProperty<Values>(...property), parametersOf(how));
}

const parametersOf = <Values>(how: How<Values>): fc.Parameters<Values> =>
  typeof how === 'number' ? { numRuns: how } : how;
