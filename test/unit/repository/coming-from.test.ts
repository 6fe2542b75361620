/** The page of other libraries' names says what the errors say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownFields, MODES, parseStrategy } from '../../../src/memory/modes/strategy.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/coming-from.md'), 'utf8');
const FIELDS = new Set(MODES.flatMap(knownFields));

/** The names of each row of a table: theirs, and our fields. */
const rows = PAGE.split('\n')
  .filter((line) => /^\| .*`/.test(line) && !line.includes('| here'))
  .map((line) => {
    const [theirs = '', ours = ''] = line.slice(1, -1).split('|');
    return { theirs: namesIn(theirs), ours: namesIn(ours).filter((name) => FIELDS.has(name)), cell: ours };
  });

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([A-Za-z_]+)`/g)].map(([, name = '']) => name);
}

/** What the errors say of a name, in each mode that does not have it. */
function hintsFor(name: string): string {
  const parsed = MODES.map((mode) => parseStrategy({ mode, [name]: 1 }));
  return parsed.map((result) => (result.ok ? '' : result.reason.message)).join('\n');
}

describe('the names of other libraries', () => {
  const mapped = rows.filter(({ ours }) => ours.length > 0);

  it('are on the page for each of the five kinds', () => {
    expect(mapped.length).toBeGreaterThan(25);
    const theirs = new Set(rows.flatMap((row) => row.theirs));
    for (const name of ['truncation', 'max_user_turns', 'HISTORY_MAX_TURNS', 'MemoryBudget', 'keep_recent'])
      expect(theirs.has(name), name).toBe(true);
    expect(PAGE).toContain('## `SummarizationConfig`');
  });

  it.each(mapped)('$theirs lead to $ours in the errors too', ({ theirs, ours }) => {
    const foreign = theirs.filter((name) => !FIELDS.has(name) && !MODES.some((mode) => mode === name));
    for (const name of foreign.filter((each) => !['truncation', 'MemoryBudget'].includes(each)))
      expect(
        ours.filter((field) => hintsFor(name).includes(`'${field}'`)),
        name,
      ).not.toEqual([]);
  });

  it.each(rows.filter(({ cell }) => cell.trim().startsWith('the same') && !cell.includes('members')))(
    '$theirs are fields of Precis where the page says so',
    ({ theirs }) => {
      const own = theirs.filter((name) => name !== 'MemoryBudget');
      expect(own.filter((name) => !FIELDS.has(name))).toEqual([]);
    },
  );
});
