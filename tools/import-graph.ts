/**
 * The import graph of `src/` (`npm run graph`): files, lines and imports of each room, the arrows
 * that point up, and the import cycles. The rooms have the order of ARCHITECTURE.md, whose picture
 * `room-picture.ts` draws.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { printTable } from '../bench/figures.ts';

/** The rooms from top to bottom. Rooms of one floor must not import each other. */
export const FLOORS: readonly (readonly string[])[] = [
  ['routes'],
  ['answer', 'reference'],
  ['listeners'],
  ['view'],
  ['request'],
  ['retrieval'],
  ['summary'],
  ['protocol', 'storage', 'upstream', 'telemetry'],
  ['tenant'],
  ['memory'],
  ['lib'],
];

/**
 * The folders of rooms that have floors of their own, from top to bottom. Files beside the folders
 * are free.
 */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  memory: [
    'run',
    'plan',
    'modes',
    'money',
    'replay',
    'edits',
    'strategy',
    'tokens',
    'conversation',
    'models',
  ],
  storage: ['backup', 'tenant', 'conversation', 'archive', 'metrics', 'refs'],
};

/** An import of another file in the tree, of types or values, static or dynamic. */
const IMPORT = /(?:\bfrom|\bimport\() ?'(\.[^']+\.ts)'/g;

export interface ImportGraph {
  /** The imports of each file, by path from the tree's root. */
  readonly imports: ReadonlyMap<string, readonly string[]>;
  readonly sizes: ReadonlyMap<string, FileSize>;
}

export interface FileSize {
  readonly lines: number;
  /** Lines that are neither empty nor comments. */
  readonly code: number;
}

const NO_CODE = /^\s*(?:\/\/|\/?\*|$)/;

/** Reads the TypeScript files of a tree. @param root its folder */
export function readImportGraph(root: string): ImportGraph {
  const imports = new Map<string, string[]>();
  const sizes = new Map<string, FileSize>();
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts')) continue;
    const text = readFileSync(join(root, path), 'utf8');
    const found = [...text.matchAll(IMPORT)].map(([, target = '']) => posix.join(dirname(path), target));
    imports.set(path, [...new Set(found)]);
    const lines = text.split('\n').slice(0, -1);
    sizes.set(path, { lines: lines.length, code: lines.filter((line) => !NO_CODE.test(line)).length });
  }
  return { imports, sizes };
}

/** Import cycles, one for each import that closes one, as a path from a file back to itself. */
export function circlesOf({ imports }: ImportGraph): string[][] {
  const circles: string[][] = [];
  const visited = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file]);
    if (visited.has(file)) return;
    visited.add(file);
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

/**
 * Imports from a room, or within one from a folder, that is not below, as `from → to`. Files
 * outside of all rooms are free.
 */
export function upwardArrowsOf({ imports }: ImportGraph): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => isUpward(file, target)).map((target) => `${file} → ${target}`),
  );
}

function isUpward(file: string, target: string): boolean {
  const [room, other] = [roomOf(file), roomOf(target)];
  const floors = room === other ? (FOLDERS[room] ?? []).map((folder) => [`${room}/${folder}`]) : FLOORS;
  const [from, to] = [file, target].map((path) =>
    floors.findIndex((rooms) => rooms.some((each) => path.startsWith(`${each}/`))),
  );
  if (from === undefined || to === undefined || from < 0 || to < 0) return false;
  return room === other ? to < from : to <= from;
}

/** The first folder; '' for a file in the root. */
export function roomOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : '';
}

function print(graph: ImportGraph): void {
  const files = [...graph.imports.keys()];
  const rooms = [...FLOORS.flat(), ''].map((room) => {
    const own = files.filter((file) => roomOf(file) === room);
    const targets = new Set(own.flatMap((file) => graph.imports.get(file) ?? []).map(roomOf));
    return { room, own, below: FLOORS.flat().filter((other) => targets.has(other)) };
  });
  const rows = [...rooms, { room: 'all', own: files }].map(({ room, own }) => {
    const sizes = own.flatMap((file) => graph.sizes.get(file) ?? []);
    const sums = [sizes.length, sum(sizes.map(({ lines }) => lines)), sum(sizes.map(({ code }) => code))];
    return [room || '(root)', ...sums.map(String)];
  });
  printTable(['room', 'files', 'lines', 'of code'], rows);
  const arrows = rooms.map(({ room, below }) => [room, below.filter((other) => other !== room)] as const);
  const lines = arrows.filter(([room, below]) => room && below.length > 0);
  const up = upwardArrowsOf(graph);
  const circles = circlesOf(graph).map((circle) => circle.join(' → '));
  console.log(['', ...lines.map(([room, below]) => `${room} → ${below.join(', ')}`)].join('\n'));
  console.log(['', `${up.length} arrows up.`, ...up, `${circles.length} circles.`, ...circles].join('\n'));
  if (up.length + circles.length > 0) process.exitCode = 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

if (import.meta.main) print(readImportGraph(join(import.meta.dirname, '../src')));
