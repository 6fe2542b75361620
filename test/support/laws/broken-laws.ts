/** Checks several laws on the same generated cases, since making their views takes the time. */
import type fc from 'fast-check';
import { forAll } from './runs.ts';

export interface Broken<Case> {
  readonly given: Case;
  readonly breaks: readonly unknown[];
}

/**
 * The first case that breaks each law, and how, by the law's name. Laws without a violation have no
 * entry. Throws what `ask` throws, with the case.
 *
 * @param ask returns the violations of a case by law
 */
export function brokenLawsIn<Case>(
  cases: fc.Arbitrary<Case>,
  runs: fc.Parameters<[Case]>,
  ask: (given: Case) => Readonly<Record<string, readonly unknown[]>>,
): ReadonlyMap<string, Broken<Case>> {
  const broken = new Map<string, Broken<Case>>();
  forAll(runs, cases, (given) => {
    for (const [law, breaks] of Object.entries(ask(given)))
      if (breaks.length > 0 && !broken.has(law)) broken.set(law, { given, breaks });
  });
  return broken;
}
