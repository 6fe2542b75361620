/**
 * The documentation as files of HTML (`npm run docs:build`), for any server of files or none. The
 * pages are the Worker's, by the same renderer; README is the front page. The search is a script
 * and an index of words, since no server answers it.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { build } from 'esbuild';
import { html, raw } from 'hono/html';
import { addressOf, pageAt, searchPageAt } from '../../src/reference/docs/doc-page.ts';
import type { Place } from '../../src/reference/docs/place.ts';
import { sectionsOf } from '../../src/reference/docs/sections.ts';
import { PAGES } from '../../src/reference/pages.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'dist/docs');

/** Pages that no list has and other pages link to, by their paths. */
const OTHERS = [
  { path: 'README.md', address: 'index.html', title: 'Precis', about: 'a proxy that shortens conversations' },
  {
    path: 'ARCHITECTURE.md',
    address: 'architecture.html',
    title: 'Architecture',
    about: 'how the code works',
  },
  { path: 'CONTRIBUTING.md', address: 'contributing.html', title: 'Contributing', about: 'how to change it' },
  { path: 'SECURITY.md', address: 'security.html', title: 'Security', about: 'what is protected, and how' },
  { path: 'CHANGELOG.md', address: 'changelog.html', title: 'Changelog', about: 'what is new' },
  {
    path: 'docs/decisions/README.md',
    address: 'decisions.html',
    title: 'Decisions',
    about: 'with their reasons',
  },
];

const LISTED = [...PAGES].map(([name, { title, about }]) => ({
  path: `docs/${name}`,
  address: addressOf(name, '.html'),
  title,
  about,
}));

const PICTURES = ['docs/inspector.png', 'docs/demo.svg', 'docs/rooms.svg', 'bench/replay.svg'].map(
  (path) => ({
    path,
    address: posix.basename(path),
  }),
);

/** Of the pages in a folder. */
function placeOf(folder: string): Place {
  const targets = [...LISTED, ...OTHERS, ...PICTURES];
  return {
    bar: {
      home: 'index.html',
      links: [
        ['Docs', 'getting-started.html'],
        ['Changelog', 'changelog.html'],
      ],
      search: 'search.html',
    },
    ending: '.html',
    addresses: new Map(targets.map(({ path, address }) => [posix.relative(folder, path), address])),
  };
}

const SEARCH = html`<div id="found" aria-live="polite"><noscript><p>The search needs JavaScript.</p></noscript></div>
${raw('<script src="search-index.js"></script><script src="search.js"></script>')}`;

/** All files of the site, by their names. */
export async function docsSite(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const texts = await Promise.all(
    [...LISTED, ...OTHERS].map(async (page) => ({
      ...page,
      markdown: await readFile(join(ROOT, page.path), 'utf8'),
    })),
  );
  const pages = texts.map(async ({ path, address, ...page }) => {
    const text = { ...page, name: posix.basename(path), foot: html`Made from <code>${path}</code>.` };
    return [address, await pageAt(placeOf(posix.dirname(path)), text)] as const;
  });
  const pictures = PICTURES.map(
    async ({ path, address }) => [address, await readFile(join(ROOT, path))] as const,
  );
  const index = texts
    .slice(0, LISTED.length)
    .flatMap(({ path, title, markdown }) => sectionsOf(posix.basename(path, '.md'), title, markdown))
    .map(({ lower, ...section }) => section);
  return new Map<string, string | Uint8Array>([
    ...(await Promise.all(pages)),
    ...(await Promise.all(pictures)),
    ['search.html', await searchPageAt(placeOf('docs'), { found: SEARCH, foot: html`Made from all pages.` })],
    ['search-index.js', `const SECTIONS=${JSON.stringify(index)};\n`],
    ['search.js', await searchScript()],
  ]);
}

async function searchScript(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['tools/docs-site/search.ts'],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    logLevel: 'warning',
    write: false,
  });
  const [script] = outputFiles;
  if (!script) throw new Error('The script of the search was not made.');
  return script.contents;
}

async function writeSite(): Promise<void> {
  const files = await docsSite();
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  for (const [name, content] of files) await writeFile(join(FOLDER, name), content);
  console.log(`${files.size} files in ${FOLDER}. Open index.html.`);
}

if (import.meta.main) await writeSite();
