/** Several laws, asked of the same generated cases: their views are what takes time. */
import fc from 'fast-check';

export interface Broken<Case> {
  readonly given: Case;
  readonly breaks: readonly unknown[];
}

/**
 * By name of a law: the first case that breaks it, and how. A law that every case keeps has no
 * entry. Throws what `ask` throws, with the case.
 *
 * @param ask returns by law what breaks it in a case, nothing where it is kept
 */
export function brokenLawsIn<Case>(
  cases: fc.Arbitrary<Case>,
  runs: fc.Parameters<[Case]>,
  ask: (given: Case) => Readonly<Record<string, readonly unknown[]>>,
): ReadonlyMap<string, Broken<Case>> {
  const broken = new Map<string, Broken<Case>>();
  fc.assert(
    fc.property(cases, (given) => {
      for (const [law, breaks] of Object.entries(ask(given)))
        if (breaks.length > 0 && !broken.has(law)) broken.set(law, { given, breaks });
    }),
    runs,
  );
  return broken;
}
