/**
 * Bundles the inspector's client (`npm run prepare`, part of `npm ci`), from `inspector/`. The
 * Worker serves the two files at `/inspect`, and imports them as modules of data.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
const GENERATED = join(ROOT, 'generated');

/** The files that a page loads, by their names under `/inspect/`. */
export const NAMES = ['inspector.js', 'inspector.css'] as const;

/** Bundles the client in memory, minified. @returns the contents by name */
export async function bundleInspector(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: { inspector: 'inspector/main.tsx' },
    outdir: GENERATED,
    bundle: true,
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
  return new Map(outputFiles.map(({ path, contents }) => [path.slice(GENERATED.length + 1), contents]));
}

/** Writes the files that are missing or differ. Called by vitest before the first file. */
export async function setup(): Promise<void> {
  await mkdir(GENERATED, { recursive: true });
  const bundle = await bundleInspector();
  await Promise.all(
    NAMES.map((name) => {
      const contents = bundle.get(name);
      if (!contents) throw new Error(`The bundle has no ${name}.`);
      return writeAsset(name, contents);
    }),
  );
}

async function writeAsset(name: string, contents: Uint8Array): Promise<void> {
  const path = join(GENERATED, `${name}.bin`);
  const known = await readFile(path).catch(() => undefined);
  if (known?.equals(contents)) return;
  // Renamed when it is whole, since other processes may read it or write it at the same time.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, contents);
  await rename(draft, path);
}

if (import.meta.main) await setup();
