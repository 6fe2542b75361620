import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FLOORS } from '../../../tools/import-graph.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');

/** A file for each pair of rooms, which imports the second from the first. */
function imports(which: (from: number, to: number) => boolean): Record<string, string> {
  return Object.fromEntries(
    FLOORS.flatMap((rooms, from) =>
      FLOORS.flatMap((others, to) =>
        rooms
          .flatMap((room) => others.map((other) => [room, other]))
          .filter(([room, other]) => room !== other && which(from, to))
          .map(([room, other]) => [
            `src/${room}/to-${other}.ts`,
            `import { a } from '../${other}/a.ts';\n\na();\n`,
          ]),
      ),
    ),
  );
}

/** Imports that the linter must refuse, by file. */
const FORBIDDEN: Readonly<Record<string, string>> = {
  ...imports((from, to) => from >= to),
  'src/protocol/config.ts': "import { a } from '../config.ts';\n\na();\n",
  'src/protocol/limits.ts': "import { a } from '../time-limits.ts';\n\na();\n",
  'src/lib/limits.ts': "import { a } from '../time-limits.ts';\n\na();\n",
  'src/memory/limits.ts': "import { a } from '../time-limits.ts';\n\na();\n",
  'src/storage/agents.ts': "import { a } from '../agents.ts';\n\na();\n",
  'src/memory/edits/storage.ts': "import { a } from '../../storage/store.ts';\n\na();\n",
  'src/memory/protocol.ts': "import { a } from '../protocol/tools.ts';\n\na();\n",
  'src/memory/cloudflare.ts': "import { a } from 'cloudflare:workers';\n\na();\n",
  'src/memory/node.ts': "import { a } from 'node:crypto';\n\na();\n",
  'src/memory/date.ts': 'export const x = Date.now();\n',
  'src/memory/performance.ts': 'export const x = performance.now();\n',
  'src/memory/crypto.ts': 'export const x = crypto.randomUUID();\n',
  'src/memory/fetch.ts': "export const x = fetch('x');\n",
  'src/protocol/storage.ts': "import { a } from '../storage/store.ts';\n\na();\n",
  'src/storage/request.ts': "import { a } from '../request/errors.ts';\n\na();\n",
  'src/upstream/retrieval.ts': "import { a } from '../retrieval/query.ts';\n\na();\n",
  'inspector/storage.ts': "import { a } from '../src/storage/store.ts';\n\na();\n",
  'inspector/read/request.ts': "import { a } from '../../src/request/errors.ts';\n\na();\n",
  'inspector/read/routes.ts': "import { a } from '../../src/routes/refs.ts';\n\na();\n",
  'src/reference/hono.ts': "import { a } from 'hono';\n\na();\n",
  'src/retrieval/request.ts': "import { a } from '../request/errors.ts';\n\na();\n",
};

/** Two files that import each other, if only types, and a function of 61 lines. */
const SHAPES: Readonly<Record<string, [source: string, rule: string]>> = {
  'src/view/one.ts': ["import type { B } from './other.ts';\n\nexport type A = B | 'a';\n", 'noImportCycles'],
  'src/view/other.ts': ["import type { A } from './one.ts';\n\nexport type B = A | 'b';\n", 'noImportCycles'],
  'src/view/long.ts': [
    `export function long(): number[] {\n  const all: number[] = [];\n${'  all.push(1);\n'.repeat(60)}  return all;\n}\n`,
    'noExcessiveLinesPerFunction',
  ],
};

const ALLOWED: Readonly<Record<string, string>> = {
  ...imports((from, to) => from < to),
  'src/protocol/chat/own.ts': "import { a } from '../json/spans.ts';\n\na();\n",
  'inspector/api/types.ts': "import type { A } from '../../src/memory/run/event.ts';\n\nexport type B = A;\n",
  'inspector/api/answers.ts':
    "import type { A } from '../../src/reference/schemas/plan.ts';\n\nexport type B = A;\n",
  'src/reference/page/html.ts': "import { html } from 'hono/html';\n\nhtml();\n",
  'src/storage/down.ts': "import { a } from '../memory/report.ts';\n\na();\n",
  'src/view/down.ts': "import { a } from '../retrieval/query.ts';\n\na();\n",
};

describe('the linter', () => {
  const tree = mkdtempSync(join(tmpdir(), 'precis-lint-'));
  let said = '';

  beforeAll(() => {
    cpSync(join(ROOT, 'biome.json'), join(tree, 'biome.json'));
    const shapes = Object.fromEntries(Object.entries(SHAPES).map(([path, [source]]) => [path, source]));
    for (const [path, source] of Object.entries({ ...FORBIDDEN, ...shapes, ...ALLOWED })) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), source);
    }
    const args = [BIOME, 'lint', '--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github', '.'];
    const run = spawnSync(process.execPath, args, { cwd: tree, encoding: 'utf8' });
    said = run.stdout + run.stderr;
  });

  afterAll(() => rmSync(tree, { recursive: true }));

  it.each(Object.keys(FORBIDDEN))('holds the lines of the design in %s', (path) => {
    expect(said.split('\n').filter((line) => line.includes(path))).toEqual([
      expect.stringContaining('noRestricted'),
    ]);
  });

  it.each(Object.entries(SHAPES))('holds circles and long functions in %s', (path, [, rule]) => {
    expect(said.split('\n').filter((line) => line.includes(path) && line.includes(rule))).not.toEqual([]);
  });

  it.each(Object.keys(ALLOWED))('lets an arrow point down in %s', (path) => {
    expect(said.split('\n').filter((line) => line.includes(`${path},`))).toEqual([]);
  });
});
