/**
 * Builds the package for npm in `dist/package` (`npm run build`): the command line, the Worker, and
 * the programs of `precis start` and `precis demo` with all that they import. What a clone needs to
 * build and to test is not in its manifest.
 */
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { buildInto } from './own-worker.ts';
import { ROOT } from './worker-server.ts';

const PACKAGE = join(ROOT, 'dist/package');
const INTO = join(PACKAGE, 'dist/run');
const PROGRAMS = { start: 'tools/start.ts', demo: 'demo/run.ts', replay: 'tools/replay.ts' };
/** The Miniflare of the package: code of CommonJS, with the Workers that it reads beside it. */
const RUNTIME = 'miniflare/index.cjs';
/** Its dependencies are the binary for each platform; it adds a script that installs one. */
const WORKERD = join(ROOT, 'node_modules/workerd');
/** In the Worker as data, which no source map names. */
const AS_DATA = ['gpt-tokenizer', 'preact', 'uplot'];

const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  charset: 'utf8',
  metafile: true,
  logLevel: 'error',
} as const;

/** What only a clone imports, and what is in a file of its own. */
const apart: Plugin = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: /\/worker-build\.ts$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^miniflare$/ }, () => ({ path: `./${RUNTIME}`, external: true }));
  },
};

await rm(PACKAGE, { recursive: true, force: true });
await mkdir(PACKAGE, { recursive: true });
const worker = buildInto(join(INTO, 'worker'), { hasMap: true });
const bundles = await Promise.all([worker, bundlePrograms(), bundleRuntime()]);
await writeNotices(bundles.slice(1) as Metafile[]);
// It names the files of this machine, and is most of the folder.
await rm(join(INTO, 'worker/index.js.map'));
for (const name of ['bin', 'README.md', 'CHANGELOG.md', 'LICENSE'])
  await cp(join(ROOT, name), join(PACKAGE, name), { recursive: true });
await writeManifest();

async function bundlePrograms(): Promise<Metafile> {
  const { metafile } = await build({
    ...shared,
    entryPoints: PROGRAMS,
    outdir: INTO,
    format: 'esm',
    splitting: true,
    plugins: [apart],
    // Node 20.0 lacks it. Packages of CommonJS in the bundle require modules of Node.
    define: { 'import.meta.dirname': '__here' },
    banner: {
      js: `import{createRequire as __require}from'node:module';import{fileURLToPath as __path}from'node:url';const require=__require(import.meta.url),__here=__path(new URL('.',import.meta.url));`,
    },
  });
  return metafile;
}

async function bundleRuntime(): Promise<Metafile> {
  const { metafile } = await build({
    ...shared,
    stdin: {
      contents: "export { convertV4MiniflareOptions, Miniflare } from 'miniflare';",
      resolveDir: ROOT,
    },
    outfile: join(INTO, RUNTIME),
    format: 'cjs',
    // It resizes images, which no Worker of Precis does.
    external: ['sharp'],
  });
  const source = dirname(createRequire(import.meta.url).resolve('miniflare'));
  await cp(join(source, 'workers'), join(INTO, 'miniflare/workers'), { recursive: true });
  return metafile;
}

/** Provenance names the repository, which a workflow knows. */
async function writeManifest(): Promise<void> {
  const manifest = await manifestIn(ROOT);
  const { name, version, description, keywords, license, type, engines, exports, bin } = manifest;
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: path } = process.env;
  const written = {
    ...{ name, version, description, keywords, license },
    ...(server && path && { repository: { type: 'git', url: `git+${server}/${path}.git` } }),
    ...{ type, engines, exports, bin },
    // The types of `precis/types` name its types.
    dependencies: { zod: manifest.dependencies?.zod },
    optionalDependencies: (await manifestIn(WORKERD)).optionalDependencies,
  };
  await writeFile(join(PACKAGE, 'package.json'), `${JSON.stringify(written, undefined, 2)}\n`);
}

type Manifest = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
};

async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** The licenses of all packages whose code is in the folder. */
async function writeNotices(metafiles: readonly Metafile[]): Promise<void> {
  const map = await readFile(join(INTO, 'worker/index.js.map'), 'utf8');
  const { sources } = JSON.parse(map) as { readonly sources: readonly string[] };
  const files = [
    ...metafiles.flatMap(({ inputs }) => Object.keys(inputs).map((path) => resolve(ROOT, path))),
    ...sources.map((path) => resolve(INTO, 'worker', path)),
    ...AS_DATA.map((name) => join(ROOT, 'node_modules', name)),
  ];
  const found = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  // A package may have been built from others, which are not installed.
  const folders = [...new Set(found)].filter((folder) => existsSync(join(folder, 'package.json')));
  const notices = await Promise.all(folders.sort().map(noticeOf));
  await writeFile(join(PACKAGE, 'NOTICES.txt'), `${notices.join(`\n${'-'.repeat(80)}\n\n`)}`);
}

async function noticeOf(folder: string): Promise<string> {
  const { name, version, license } = await manifestIn(folder);
  const text = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
  const words = text === undefined ? '' : `\n${(await readFile(join(folder, text), 'utf8')).trim()}\n`;
  return `${name} ${version} (${license ?? 'license in its repository'})\n${words}`;
}
