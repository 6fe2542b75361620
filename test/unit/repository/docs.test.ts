/** The pages of `docs/` must agree with the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '../../../src/config.ts';
import { knownFields, MODES } from '../../../src/memory/modes/strategy.ts';
import { WARNINGS } from '../../../src/memory/plan/warnings.ts';
import { anchorOf } from '../../../src/reference/docs/sections.ts';
import { ERRORS } from '../../../src/request/error-codes.ts';
import { ROUTES } from '../../../src/routes/table.ts';
import { families } from '../../../src/storage/metrics/families.ts';
import { docsTables, pagesWithTables, withPages, withTables } from '../../../tools/docs-tables.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];

/** The rows of a page's tables below a heading, each as its cells; without the heads. */
function rowsOf(page: string, heading: string): string[][] {
  const text = read(page);
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`${page} has no heading '${heading}'`);
  const level = heading.indexOf(' ');
  const rest = text.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return (end < 0 ? rest : rest.slice(0, end))
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .filter((_, index) => index > 1)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** The words in backticks of a text. */
const codesIn = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => read(join('src', path)))
  .join('\n');

function routes(): string[] {
  return ROUTES.flatMap(({ path, handlers }) =>
    Object.keys(handlers).map((method) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
  );
}

/** Names of our own headers, read or written. */
const headers = new Set([...sources.matchAll(/'(x-memory-[a-z-]*[a-z])'/g)].map(([, name]) => name ?? ''));

describe('the tables that the code has', () => {
  const tables = docsTables();
  const placed = pagesWithTables().flatMap((page) => [...read(page).matchAll(/^<!-- code (\S+) -->$/gm)]);

  it.each(pagesWithTables())('are written by `npm run docs` in %s', (page) => {
    expect(withTables(page, read(page), tables)).toBe(read(page));
  });

  it('are written with the list of pages in docs/llms.txt', () => {
    expect(withPages(read('docs/llms.txt'))).toBe(read('docs/llms.txt'));
  });

  it('are on one page each', () => {
    expect(placed.map(([, name]) => name).toSorted()).toEqual([...tables.keys()].toSorted());
  });

  it('say of each row what it means', () => {
    expect(tables.size).toBeGreaterThan(10);
    for (const { head, rows } of tables.values())
      for (const row of rows) {
        expect(row).toHaveLength(head.length);
        expect(row.at(-1)).toMatch(/\w{3}.*\S$/);
      }
  });

  it('are refused for a name that no table has', () => {
    expect(() => withTables('docs/a.md', '<!-- code nothing -->\n<!-- /code -->\n', tables)).toThrow(
      'nothing',
    );
  });
});

describe('the alerts', () => {
  it('are about metrics that are counted, and about warnings and errors that there are', () => {
    const { groups } = parse(read('examples/alerts.yaml')) as { groups: { rules: { expr: string }[] }[] };
    const text = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)).join('\n');
    const selectors = [...text.matchAll(/\b((?:precis|memory)_\w+?)(?:_bucket)?(?:\{(\w+)="([^"]+)"\})?\[/g)];

    expect(selectors.length).toBeGreaterThan(8);
    const known: Readonly<Record<string, { labels: readonly string[] }>> = families;
    for (const [, name = '', label] of selectors)
      expect(known[name]?.labels ?? [], name).toEqual(
        label ? expect.arrayContaining([label]) : known[name]?.labels,
      );
    const codes = selectors.flatMap(([, , label, value = '']) => (label === 'code' ? [value] : []));
    expect(codes.filter((code) => !(code in WARNINGS) && !(code in ERRORS))).toEqual([]);
  });
});

describe('the documented headers', () => {
  it('are all on some page', () => {
    const pages = PAGES.filter((page) => page.startsWith('docs'))
      .map(read)
      .join('\n');

    expect([...headers].filter((name) => !pages.includes(`\`${name}`))).toEqual([]);
  });

  it('are written or read where a page names one', () => {
    const named = PAGES.flatMap((page) =>
      [...read(page).matchAll(/\bx-memory-[a-z-]*[a-z]/g)].map(([name]) => name),
    );

    expect(named.filter((name) => !headers.has(name))).toEqual([]);
  });
});

describe('the origins of the features', () => {
  const page = 'docs/origins.md';
  const themes = [...read(page).matchAll(/^## .+$/gm)].map(([heading]) => heading);
  const rows = themes.flatMap((theme) => rowsOf(page, theme));
  const features = new Set(rows.flatMap(([feature]) => codesIn(feature)));

  const injection =
    /const settings = z\.strictObject\(\{([\s\S]*?)\n\}\)/.exec(
      read('src/memory/strategy/injection.ts'),
    )?.[1] ?? '';
  const known: [what: string, names: readonly string[]][] = [
    ['mode', MODES],
    ['field of a strategy', [...new Set(MODES.flatMap(knownFields))].filter((field) => field !== 'mode')],
    ['field of an injection', [...injection.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name ?? '')],
    ['variable', VARIABLES],
    ['route', routes()],
    ['warning', Object.keys(WARNINGS)],
    ['header', [...headers]],
  ];

  it.each(known)('have a row for each %s', (_, names) => {
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !features.has(name))).toEqual([]);
  });

  it.each(rows)('lead from “%s” to its page, its code and its test', (_, ...cells) => {
    const [family, place, code, test] = cells;
    expect(family).toMatch(/./);
    expect(place).toMatch(/^\[[^\]]+\]\(\S+\)$/);
    for (const cell of [code, test]) {
      expect(codesIn(cell)).toHaveLength(1);
      expect(existsSync(join(ROOT, codesIn(cell)[0] ?? ''))).toBe(true);
    }
    expect(code).not.toContain('.test.');
    expect(test).toMatch(/^`test\/.+\.test\.ts`$/);
  });

  it('fit on one page', () => {
    expect(read(page).split('\n').length).toBeLessThanOrEqual(250);
  });
});

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  it('links only to files and headings that exist', () => {
    const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
    const broken = links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(page, link));

    expect(broken).toEqual([]);
  });

  it('is wrapped at 100 columns, but for tables, code and long words', () => {
    const long = withoutCode(text)
      .split('\n')
      .filter(
        (line) =>
          [...line].length > 100 && !line.startsWith('|') && /\S\s+\S/.test(line.slice(0, 100).trim()),
      );

    expect(long.filter((line) => !/^\s*(?:[-\d.]+ )?`[^`]+`;?$/.test(line))).toEqual([]);
  });
});

describe('the comments', () => {
  const lines = ['src', 'inspector', 'test', 'tools', 'fixtures', 'bench', 'demo']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) =>
      read(path)
        .split('\n')
        .map((line, index) => ({ at: `${path}:${index + 1}`, line })),
    );

  it('are wrapped at 100 columns, but for code and long words', () => {
    const long = lines
      .filter(({ line }) => /^\s*(?:\/\/|\/\*\*|\*) \S/.test(line) && [...line].length > 100)
      // Words longer than a line, such as an address or a signature.
      .filter(({ line }) =>
        /\S\s+\S/.test(
          [...line]
            .slice(0, 100)
            .join('')
            .replace(/^\s*\S+\s+/, ''),
        ),
      );

    expect(lines.length).toBeGreaterThan(40_000);
    expect(long.map(({ at }) => at)).toEqual([]);
  });

  it('link to headings that the pages have', () => {
    const links = lines.flatMap(({ at, line }) =>
      [...line.matchAll(/(docs\/[\w-]+\.md)(#[\w-]*)/g)].map(([, page = '', anchor = '']) => ({
        at,
        page,
        anchor,
      })),
    );

    expect(links.length).toBeGreaterThan(100);
    expect(links.filter(({ page, anchor }) => !leadsSomewhere(page, anchor))).toEqual([]);
  });

  it('cite no section of the design by its number', () => {
    expect(lines.filter(({ line }) => /design\s+§|^\s*\* §\d/.test(line)).map(({ at }) => at)).toEqual([]);
  });
});

describe.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'src/storage/storage-schema.md'])(
  '%s',
  (page) => {
    it('names files that there are', () => {
      const files = ['src', 'inspector', 'test', 'tools', 'fixtures', 'bench']
        .filter((folder) => existsSync(join(ROOT, folder)))
        .flatMap((folder) =>
          readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
            (path) => `/${folder}/${path}`,
          ),
        );
      const named = [...read(page).matchAll(/(?<![\w/.-])((?:[\w-]+\/)*[\w-]+\.ts)\b/g)].map(
        ([, path]) => path ?? '',
      );

      expect(named.filter((path) => !files.some((file) => file.endsWith(`/${path}`)))).toEqual([]);
    });
  },
);

it.each(PAGES)('%s has no table cell of over 300 characters, without addresses', (page) => {
  const cells = withoutCode(read(page))
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => line.slice(1, -1).split(/(?<!\\)\|/))
    .map((cell) => cell.replaceAll(/\]\([^)]*\)|(?<=-)-+/g, '').trim());

  expect(cells.filter((cell) => cell.length > 300)).toEqual([]);
});

it('README is one screen and its links', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(150);
});

function withoutCode(text: string): string {
  return text.replace(/^( *)```[\s\S]*?^ *```$/gm, '');
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined) return true;
  const headings = [...withoutCode(read(target)).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    anchorOf(heading ?? ''),
  );
  return headings.includes(anchor);
}
