/**
 * Bundles the inspector's client (`npm run prepare`, part of `npm ci`), from `inspector/`. The
 * Worker serves its files at `/inspect`, and imports them as one module of data.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { LOOK } from '../src/reference/look.ts';

const ROOT = join(import.meta.dirname, '..');
const GENERATED = join(ROOT, 'generated');
const PATH = join(GENERATED, 'inspector.bin');

/** The files that the page names, by their names under `/inspect/`. They name the others. */
export const NAMES = ['inspector.js', 'inspector.css'] as const;

/**
 * Bundles the client in memory, minified. What screens import when they are shown is in files of
 * its own, whose names have a hash of their contents.
 *
 * @returns the texts by name
 */
export async function bundleInspector(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: { inspector: 'inspector/main.tsx' },
    outdir: GENERATED,
    banner: { css: LOOK },
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'inline',
    logLevel: 'warning',
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
}

/** Writes the module if it is missing or differs. Called by vitest before the first file. */
export async function setup(): Promise<void> {
  await mkdir(GENERATED, { recursive: true });
  const bundle = await bundleInspector();
  for (const name of NAMES) if (!bundle.has(name)) throw new Error(`The bundle has no ${name}.`);
  const contents = Buffer.from(JSON.stringify(Object.fromEntries(bundle)));
  const known = await readFile(PATH).catch(() => undefined);
  if (known?.equals(contents)) return;
  // Renamed when it is whole, since other processes may read it or write it at the same time.
  const draft = `${PATH}.${process.pid}`;
  await writeFile(draft, contents);
  await rename(draft, PATH);
}

if (import.meta.main) await setup();
