/**
 * The reference is loaded when it is asked for. The bundler loads late whatever such a module
 * imports, so it must not import what a model request runs.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readImportGraph } from '../../../tools/import-graph.ts';

const SRC = join(import.meta.dirname, '../../../src');

/** Statements that import a value of another file or package. */
const VALUE = /^(?:import|export) (?!type\b)(?:[^;'"]*? from )?'([^']+)';/gm;

/** Packages that only these modules use, and zod, which the MCP server's SDK has loaded late. */
const PACKAGES = ['zod', 'hono/html', 'marked'];

/** Shapes of answers. Of these, all other code has the types alone. */
const LATE_LEAVES: readonly string[] = [
  'memory/modes/meanings.ts',
  'memory/plan/explanation-schema.ts',
  'memory/plan/report-schema.ts',
  'memory/plan/turns-schema.ts',
  'memory/plan/warnings.ts',
  'memory/run/named-sums.ts',
];

/** Schemas and lists that the reference shares with requests. They import only each other. */
const LEAVES: readonly string[] = [
  ...LATE_LEAVES,
  'memory/edits/fates.ts',
  'memory/money/bill-schema.ts',
  'memory/money/caller-limits.ts',
  'memory/plan/receipt-schema.ts',
  'memory/replay/change-schema.ts',
  'memory/replay/reasons.ts',
  'memory/run/event.ts',
  'memory/shapes.ts',
  'protocol/responses/failed-codes.ts',
  'reference/docs/place.ts',
  'reference/mark.ts',
  'request/error-codes.ts',
  'storage/conversation/memory-schema.ts',
];

const isLate = (file: string): boolean => file.startsWith('reference/') && !LEAVES.includes(file);

function valuesOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(VALUE)].map(([, target = '']) =>
    target.startsWith('.') ? posix.join(dirname(file), target) : target,
  );
}

describe('the modules of the reference', () => {
  const files = [...readImportGraph(SRC).imports.keys()];
  const late = files.filter(isLate);

  it('import no value of a module that a request runs', () => {
    const wrong = late.flatMap((file) =>
      valuesOf(file)
        .filter((target) => !isLate(target) && !PACKAGES.includes(target) && !LEAVES.includes(target))
        .map((target) => `${file} imports ${target}`),
    );

    expect(late.length).toBeGreaterThan(15);
    expect(wrong).toEqual([]);
  });

  it('are imported by no other module, but when they are asked for', () => {
    const early = files
      .filter((file) => !isLate(file))
      .flatMap((file) =>
        valuesOf(file)
          .filter(isLate)
          .map((target) => `${file} imports ${target}`),
      );

    expect(early).toEqual([]);
    expect(readFileSync(join(SRC, 'routes/site.ts'), 'utf8')).toContain(
      "import('../reference/reference.ts')",
    );
  });

  it('share the shapes of answers as types alone', () => {
    const early = files
      .filter((file) => !isLate(file) && !LATE_LEAVES.includes(file))
      .flatMap((file) =>
        valuesOf(file)
          .filter((target) => LATE_LEAVES.includes(target))
          .map((target) => `${file} imports ${target}`),
      );

    expect(LATE_LEAVES.filter((file) => !files.includes(file))).toEqual([]);
    expect(early).toEqual([]);
  });

  it('leave nothing for the leaves to import', () => {
    const others = LEAVES.flatMap(valuesOf).filter((target) => !LEAVES.includes(target));

    expect([...new Set(others)]).toEqual(['zod']);
  });
});
