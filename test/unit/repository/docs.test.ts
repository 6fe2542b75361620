/** The pages of `docs/` must agree with the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { WARNINGS } from '../../../src/memory/plan/warnings.ts';
import { knownFields, MODES, parseStrategy } from '../../../src/memory/strategy/strategy.ts';
import { ERRORS } from '../../../src/request/error-codes.ts';
import { ROUTES } from '../../../src/routes/table.ts';
import { families } from '../../../src/storage/metrics/families.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
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

function variables(): string[] {
  const schema = /const variables = z\.object\(\{([\s\S]*?)\n\}\)/.exec(read('src/config.ts'))?.[1] ?? '';
  return [...schema.matchAll(/^ {2}([A-Z_]+): /gm)].map(([, name]) => name ?? '');
}

function routes(): string[] {
  return ROUTES.flatMap(({ path, handlers }) =>
    Object.keys(handlers).map((method) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
  );
}

/** Names of our own headers, read or written. */
const headers = new Set([...sources.matchAll(/'(x-memory-[a-z-]*[a-z])'/g)].map(([, name]) => name ?? ''));

describe('the documented variables', () => {
  it('are those of the configuration', () => {
    const known = variables();
    const told = rowsOf('docs/deploying.md', '## Variables').flatMap(([names]) => codesIn(names));

    expect(known.length).toBeGreaterThan(10);
    expect(told.toSorted()).toEqual(known.toSorted());
  });
});

describe('the documented metrics', () => {
  it('are those that are counted, each with its labels', () => {
    const known = Object.entries(families).map(([name, { labels }]) => [name, ...labels]);
    const told = rowsOf('docs/operating.md', '## Metrics').map(([name, labels]) => [
      ...codesIn(name),
      ...codesIn(labels),
    ]);

    expect(known.length).toBeGreaterThan(10);
    expect(told.toSorted()).toEqual(known.toSorted());
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

describe('the documented errors', () => {
  it('are those that are answered, each with its status', () => {
    const known = Object.entries(ERRORS).map(([code, { status }]) => [code, `${status}`]);
    const rows = rowsOf('docs/answers-and-errors.md', '## Errors');

    expect(known.length).toBeGreaterThan(10);
    expect(rows.map(([code]) => codesIn(code)[0]).toSorted()).toEqual(known.map(([code]) => code).toSorted());
    const statuses = new Map(rows.map(([code, status = '']) => [codesIn(code)[0], status.split(', ')]));
    expect(known.filter(([code, status]) => !statuses.get(code)?.includes(status ?? ''))).toEqual([]);
  });
});

describe('the documented warnings', () => {
  it('are those of the report', () => {
    const known = Object.keys(WARNINGS);
    const told = rowsOf('docs/answers-and-errors.md', '## Warnings').map(([code]) => codesIn(code)[0]);

    expect(known.length).toBeGreaterThan(5);
    expect(told.toSorted()).toEqual(known.toSorted());
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

  it('of an answer stand in its table', () => {
    const answered = [...sources.matchAll(/set\('(x-memory-[a-z-]+)'/g)].map(([, name]) => name ?? '');
    const told = rowsOf('docs/answers-and-errors.md', '## Headers').flatMap(([name]) => codesIn(name));

    const ofRefs = read('docs/refs-and-retrieval.md');

    const isTold = (name: string): boolean => told.includes(name) || ofRefs.includes(`\`${name}`);
    expect(answered.filter((name) => !isTold(name))).toEqual([]);
  });
});

describe('the documented routes', () => {
  it('are those of the app', () => {
    const known = routes();
    const told = rowsOf('docs/deploying.md', '## Routes')
      .flatMap(([names]) => codesIn(names))
      .flatMap(expanded);

    expect(known.length).toBeGreaterThan(10);
    expect(known.filter((route) => !told.includes(route))).toEqual([]);
    // HEAD works on every route with GET.
    const all = new Set([...known, ...known.map((route) => route.replace(/^GET /, 'HEAD '))]);
    expect(told.filter((route) => !all.has(route) && !route.includes('*'))).toEqual([]);
  });
});

/** `GET, POST /a` as one route each. */
function expanded(text: string): string[] {
  const [, methods, path] = /^([A-Z, ]+) (\/\S*)$/.exec(text) ?? [];
  return methods && path ? methods.split(', ').map((method) => `${method} ${path}`) : [];
}

describe('the documented fields of a strategy', () => {
  const page = 'docs/strategy-reference.md';
  const COMMON = '## Fields of every mode but `none` and `native`';
  const own = (heading: string): string[] => rowsOf(page, heading).map(([field]) => codesIn(field)[0] ?? '');

  it.each(MODES)('are told for %s', (mode) => {
    const sections = {
      trim: [COMMON, '## `trim`'],
      compact: [COMMON, '## `compact`'],
      summarize: [COMMON, '## `summarize`'],
      rolling_summary: [COMMON, '## `rolling_summary`'],
      auto: [COMMON, '## `compact`', '## `summarize`', '## `auto`'],
      native: ['## `none` and `native`'],
      none: ['## `none` and `native`'],
    }[mode];

    const ofNative = 'compact_threshold';
    const told = new Set(sections.flatMap(own).filter((field) => mode !== 'none' || field !== ofNative));

    expect([...told].toSorted()).toEqual(
      knownFields(mode)
        .filter((field) => field !== 'mode')
        .toSorted(),
    );
  });

  it.each(['trim', 'compact', 'summarize', 'rolling_summary', 'auto'])(
    'have the defaults that are told for %s',
    (mode) => {
      const parsed = parseStrategy(mode);
      if (!parsed.ok) throw new Error(parsed.reason.message);
      const defaults: Readonly<Record<string, unknown>> = parsed.value;
      const rows = rowsOf(page, `## \`${mode}\``);
      const told = rows.map(([field, value = '']) => [codesIn(field)[0], value.replace(/\s/g, '')]);

      const real = rows.map(([field]) => {
        const name = codesIn(field)[0] ?? '';
        return [name, defaults[name] === undefined ? undefined : JSON.stringify(defaults[name])];
      });
      const wrong = real.filter(
        ([name, value]) =>
          value !== undefined && !told.some(([field, text]) => field === name && plain(text) === value),
      );
      expect(wrong).toEqual([]);
    },
  );
});

function plain(cell = ''): string {
  return cell.replaceAll('`', '');
}

describe('the origins of the features', () => {
  const page = 'docs/origins.md';
  const themes = [...read(page).matchAll(/^## .+$/gm)].map(([heading]) => heading);
  const rows = themes.flatMap((theme) => rowsOf(page, theme));
  const told = new Set(rows.flatMap(([feature]) => codesIn(feature)));

  const injection =
    /const settings = z\.strictObject\(\{([\s\S]*?)\n\}\)/.exec(
      read('src/memory/strategy/injection.ts'),
    )?.[1] ?? '';
  const known: [what: string, names: readonly string[]][] = [
    ['mode', MODES],
    ['field of a strategy', [...new Set(MODES.flatMap(knownFields))].filter((field) => field !== 'mode')],
    ['field of an injection', [...injection.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name ?? '')],
    ['variable', variables()],
    ['route', routes()],
    ['warning', Object.keys(WARNINGS)],
    ['header', [...headers]],
  ];

  it.each(known)('have a row for each %s', (_, names) => {
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !told.has(name))).toEqual([]);
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

  it('link to headings that the design has', () => {
    const links = lines.flatMap(({ at, line }) =>
      [...line.matchAll(/docs\/design\.md(#[\w-]*)/g)].map(([, anchor = '']) => ({ at, anchor })),
    );

    expect(links.length).toBeGreaterThan(50);
    expect(links.filter(({ anchor }) => !leadsSomewhere('docs/design.md', anchor))).toEqual([]);
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

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}
