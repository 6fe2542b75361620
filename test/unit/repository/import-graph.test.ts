import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { circlesOf, type ImportGraph, readImportGraph, upwardArrowsOf } from '../../../tools/import-graph.ts';
import { arrowsOf, drawRooms, roomImports } from '../../../tools/room-picture.ts';

function graphOf(imports: Readonly<Record<string, readonly string[]>>): ImportGraph {
  return { imports: new Map(Object.entries(imports)), sizes: new Map() };
}

describe('the import graph', () => {
  const graph = readImportGraph(join(import.meta.dirname, '../../../src'));

  it('knows every file and its imports', () => {
    expect(graph.imports.size).toBeGreaterThan(150);
    expect(graph.imports.get('index.ts')).toContain('app.ts');
    expect([...graph.imports.values()].flat().filter((file) => !graph.imports.has(file))).toEqual([]);
  });

  it('has no circle in src/', () => {
    expect(circlesOf(graph)).toEqual([]);
  });

  it('has no arrow up in src/', () => {
    expect(upwardArrowsOf(graph)).toEqual([]);
  });

  it('is drawn in docs/rooms.svg: run `npm run graph`', () => {
    expect(drawRooms(graph)).toBe(readFileSync(join(import.meta.dirname, '../../../docs/rooms.svg'), 'utf8'));
  });

  it('is drawn without arrows that follow from others', () => {
    const rooms = roomImports(
      graphOf({
        'view/a.ts': ['memory/b.ts', 'lib/c.ts'],
        'memory/b.ts': ['lib/c.ts'],
        'index.ts': ['lib/c.ts'],
      }),
    );

    expect(arrowsOf(rooms)).toEqual([
      ['view', 'memory'],
      ['memory', 'lib'],
    ]);
  });

  it('has a protocol where ARCHITECTURE.md says that one is known', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../ARCHITECTURE.md'), 'utf8');
    const [, section = ''] = page.split('## Adding a protocol\n');
    const [said = ''] = section.split('\n## ');
    const known = [...graph.imports].filter(
      ([file, imports]) =>
        !/^protocol\/(?:bridges\/)?messages\//.test(file) &&
        !file.startsWith('routes/messages') &&
        imports.some((imported) => imported.startsWith('protocol/messages/')),
    );
    expect(known.length).toBeGreaterThan(2);
    expect(known.map(([file]) => file).filter((file) => !said.includes(basename(file)))).toEqual([]);
    // What it says is there.
    const named = [...said.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name]) => name ?? '');
    const files = [...graph.imports.keys()];
    expect(named.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))).toEqual([]);
  });

  it('imports zod as a namespace: by name, it brings its words in fifty languages along', () => {
    const source = join(import.meta.dirname, '../../../src');
    const byName = [...graph.imports.keys()].filter((file) =>
      /^import \{[^}]*\} from 'zod'/m.test(readFileSync(join(source, file), 'utf8')),
    );
    expect(byName).toEqual([]);
  });

  it('finds a circle wherever it is entered', () => {
    const circle = graphOf({ 'a.ts': ['b.ts'], 'b.ts': ['c.ts'], 'c.ts': ['b.ts'] });

    expect(circlesOf(circle)).toEqual([['b.ts', 'c.ts', 'b.ts']]);
  });

  it('finds arrows to a room above and to one beside', () => {
    const arrows = graphOf({
      'lib/a.ts': ['memory/b.ts', 'lib/c.ts'],
      'storage/d.ts': ['upstream/e.ts', 'tenant/f.ts'],
    });

    expect(upwardArrowsOf(arrows)).toEqual(['lib/a.ts → memory/b.ts', 'storage/d.ts → upstream/e.ts']);
  });

  it('finds arrows to a folder above in the same room', () => {
    const arrows = graphOf({
      'memory/edits/a.ts': [
        'memory/plan/b.ts',
        'memory/edits/c.ts',
        'memory/shapes.ts',
        'memory/tokens/d.ts',
      ],
      'memory/shapes.ts': ['memory/plan/b.ts'],
      'request/callers/e.ts': ['request/scope.ts'],
    });

    expect(upwardArrowsOf(arrows)).toEqual(['memory/edits/a.ts → memory/plan/b.ts']);
  });
});
