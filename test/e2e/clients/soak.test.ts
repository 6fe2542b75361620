import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const MODES = ['none', 'trim', 'compact', 'summarize', 'rolling_summary', 'auto', 'native'];

interface Soaked {
  readonly marks: readonly (readonly { readonly heap: number; readonly rss: number }[])[];
  readonly found: readonly string[];
  readonly tallies: readonly { readonly requests: number; readonly byMode: Record<string, number> }[];
}

it('F35: the soak finds no error, no crossing and no changed byte, and reads the memory of both Workers', async () => {
  const args = [join(ROOT, 'bench/soak.ts'), '--minutes', '0.03', '--json'];
  const env = { ...process.env, TRACES_DIR: '' };

  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });

  const { marks, found, tallies } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Soaked;
  expect(found).toEqual([]);
  expect(Object.keys(tallies[0]?.byMode ?? {}).sort()).toEqual(MODES.toSorted());
  // At the start and after each third, for Precis and for the bare Worker.
  expect(marks.map((mark) => mark.map(({ heap, rss }) => heap > 0 && rss > heap))).toEqual(
    Array.from({ length: 4 }, () => [true, true]),
  );
});
