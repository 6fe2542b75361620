/**
 * Writes the tables of the pages that say what the code knows (`npm run docs`): fields, headers,
 * warnings, causes of cache misses, errors, variables, routes, metrics, pages, what an isolate
 * believes. Each is between `<!-- code NAME -->` and `<!-- /code -->`. A test writes them anew and
 * compares, so a page can't drift from the code.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { type Table, withTable } from '../bench/page-tables.ts';
import { variables } from '../src/config.ts';
import type { Kind } from '../src/lib/isolate-memory.ts';
import { edits } from '../src/memory/modes/strategy.ts';
import { type MemoryStrategy, type Mode, modes } from '../src/memory/modes/table.ts';
import { WARNINGS } from '../src/memory/plan/warnings.ts';
import { blocksSchema } from '../src/memory/strategy/memory-blocks.ts';
import { BLOCKS_FIELDS, OWN_FIELDS, STRATEGY_FIELDS } from '../src/reference/fields.ts';
import { REPORT_HEADERS, REQUEST_HEADERS, RESPONSE_HEADERS } from '../src/reference/headers.ts';
import type { Operation } from '../src/reference/operation.ts';
import { GROUPS, PAGES } from '../src/reference/pages.ts';
import { OPERATIONS } from '../src/reference/table.ts';
import { BELIEFS } from '../src/request/beliefs.ts';
import { ERRORS } from '../src/request/error-codes.ts';
import { families } from '../src/storage/metrics/families.ts';
import { MISSES } from './miss-causes.ts';
import { VARIABLE_MEANINGS } from './variables.ts';

const ROOT = join(import.meta.dirname, '..');
const MARK = 'code';

/** A JSON Schema, as far as the tables read it. */
interface Schema {
  readonly deprecated?: boolean;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

type Meanings = Readonly<Record<string, string>>;

const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;

const code = (text: string): string => `\`${text}\``;
const codes = (words: readonly string[]): string => words.map(code).join(', ');

/** A number with commas, as the pages write it. */
const grouped = (value = 0): string => value.toLocaleString('en-US');

/** What a value may be. */
function rangeOf(schema: Schema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(rangeOf))].filter(Boolean).join(' or ');
  if (schema.enum) return codes(schema.enum);
  if (schema.deprecated) return 'any';
  const most = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  switch (schema.type) {
    case 'integer':
    case 'number': {
      if (schema.exclusiveMinimum !== undefined) return `> ${schema.exclusiveMinimum}`;
      return most === undefined
        ? `≥ ${grouped(schema.minimum)}`
        : `${grouped(schema.minimum)} to ${grouped(most)}`;
    }
    case 'string':
      return schema.maxLength === undefined ? 'a string' : `≤ ${grouped(schema.maxLength)} characters`;
    case 'array':
      return `≤ ${schema.maxItems} strings`;
    case 'null':
      return '';
    default:
      return schema.type === undefined ? 'a string' : `${schema.type}`;
  }
}

/** A value that is written in a body; a dash where there is none, or where it depends. */
function defaultOf({ default: value }: Schema): string {
  return value === undefined ? '–' : code(JSON.stringify(value));
}

/** With borders of columns as text. */
const cell = (text: string): string => text.replace(/(?<!\\)\|/g, '\\|');

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): Table {
  return { head, rows: rows.map((row) => row.map(cell)) };
}

function membersTable(properties: Fields, meanings: Meanings): Table {
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(name),
    defaultsOf(name, schema),
    rangeOf(schema),
    meanings[name] ?? '',
  ]);
  return tableOf(['field', 'default', 'range', 'meaning'], rows);
}

type Fields = Readonly<Record<string, Schema>>;

/** The fields of a mode. A strategy that names none has all defaults, also of nested schemas. */
function fieldsOf(mode: Mode): Fields {
  const { schema } = modes[mode];
  const usual: Readonly<Record<string, unknown>> = schema.parse({ mode });
  const { mode: _, ...fields } = schemaOf(schema).properties ?? {};
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, default: usual[name] }]),
  );
}

const isSame = (one: Schema | undefined, { default: _, ...other }: Schema): boolean => {
  const { default: __, ...same } = one ?? { type: 'absent' };
  return JSON.stringify(same) === JSON.stringify(other);
};

/** The fields that no other table has with the same range. */
function without(fields: Fields, ...others: readonly Fields[]): Fields {
  const own = Object.entries(fields).filter(
    ([name, schema]) => !others.some((other) => isSame(other[name], schema)),
  );
  return Object.fromEntries(own);
}

/** The default of a field, and where a mode that edits has another, its own. */
function defaultsOf(name: string, schema: Schema): string {
  const usual = defaultOf(schema);
  const others = (Object.keys(modes) as Mode[]).flatMap((mode) => {
    const field = fieldsOf(mode)[name];
    // Whether a mode edits depends on no other field.
    const isEditing = edits({ mode } as MemoryStrategy);
    const differs = isEditing && field && isSame(field, schema) && defaultOf(field) !== usual;
    return differs ? [`; ${code(mode)} ${defaultOf(field)}`] : [];
  });
  return usual + others.join('');
}

/** The fields of a strategy, by the heading of their table. */
function strategyTables(): Record<string, Fields> {
  const all = { trim: fieldsOf('trim'), compact: fieldsOf('compact'), summarize: fieldsOf('summarize') };
  const editing = Object.fromEntries(
    Object.entries(all.trim).filter(([name]) => name in all.compact && name in all.summarize),
  );
  return {
    editing,
    trim: without(all.trim, editing),
    compact: without(all.compact, editing),
    summarize: without(all.summarize, editing, all.trim),
    auto: without(fieldsOf('auto'), editing, all.compact, all.summarize),
    rolling_summary: without(fieldsOf('rolling_summary'), editing, all.summarize),
    native: without(fieldsOf('native'), fieldsOf('none')),
  };
}

/** The object among the forms of a value. */
function objectIn(schema: Schema): Fields {
  return schema.anyOf?.find(({ properties }) => properties)?.properties ?? {};
}

/**
 * The fields of a body beside a strategy, and the headers that say the same, or something of their
 * own.
 */
function ownTable(): Table {
  const meanings: Meanings = OWN_FIELDS;
  const headerOf = (field: string): string | undefined =>
    [field, `x_${field}`]
      .map((name) => name.replaceAll('_', '-').replace(/^memory/, 'x-memory'))
      .find((name) => name in REQUEST_HEADERS);
  const fields = Object.keys(meanings).map((field) => [field, headerOf(field)] as const);
  const taken = fields.flatMap(([, header]) => header ?? []);
  const alone = Object.entries(REQUEST_HEADERS).filter(
    ([name]) => name.startsWith('x-memory-') && !taken.includes(name),
  );
  return tableOf(
    ['body field', 'header', 'meaning'],
    [
      ...fields.map(([field, header]) => [code(field), header ? code(header) : '–', meanings[field] ?? '']),
      ...alone.map(([name, { description }]) => ['–', code(name), description]),
    ],
  );
}

function headersTable(): Table {
  const rows = REPORT_HEADERS.map((name) => {
    const { description, schema } = RESPONSE_HEADERS[name];
    const words = 'enum' in schema ? (schema.enum as readonly string[]) : [];
    const isSaid = words.every((word) => description.includes(code(word)));
    return [code(name), isSaid ? description : `${description} One of ${codes(words)}.`];
  });
  return tableOf(['header', 'meaning'], rows);
}

function errorsTable(): Table {
  const rows = Object.entries(ERRORS).map(([name, { status, when }]) => [code(name), `${status}`, when]);
  return tableOf(['code', 'status', 'when'], rows);
}

function missesTable(): Table {
  const rows = Object.entries(MISSES).map(([cause, [means, remedy]]) => [code(cause), means, remedy]);
  return tableOf(['cause', 'what has happened', 'what to do'], rows);
}

function warningsTable(): Table {
  return tableOf(
    ['warning', 'meaning'],
    Object.entries(WARNINGS).map(([name, meaning]) => [code(name), meaning]),
  );
}

function variablesTable(): Table {
  const rows = Object.entries(schemaOf(variables).properties ?? {}).map(([name, { default: value }]) => [
    code(name),
    value === undefined || value === '' ? '–' : code(`${value}`),
    (VARIABLE_MEANINGS as Meanings)[name] ?? '',
  ]);
  return tableOf(['variable', 'default', 'meaning'], rows);
}

const ACCESS = {
  caller: 'a key',
  metrics: '`METRICS_TOKEN`',
  admin: '`ADMIN_TOKEN`',
  none: 'nothing',
} as const satisfies Record<Operation['access'], string>;

/** One row for each path, with its methods. */
function routesTable(): Table {
  const paths = Map.groupBy(OPERATIONS, ({ path }) => path);
  const rows = [...paths].map(([path, operations]) => {
    const [first] = operations;
    const methods = operations.flatMap(({ method }) =>
      method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
    );
    const said = operations.map(({ method, summary, page }) => {
      const link = `[${summary}](${page})`;
      return operations.length > 1 ? `${method.toUpperCase()}: ${link}` : link;
    });
    return [code(`${methods.join(', ')} ${path}`), ACCESS[first?.access ?? 'none'], said.join('. ')];
  });
  return tableOf(['route', 'needs', 'what it does'], rows);
}

function metricsTable(): Table {
  const rows = Object.entries(families).map(([name, family]) => [
    code(name),
    family.labels.length > 0 ? codes(family.labels) : '–',
    'buckets' in family ? `${family.help} A histogram.` : family.help,
  ]);
  return tableOf(['metric', 'labels', 'counts'], rows);
}

/** A row for each page, by what a reader wants. */
function pagesTable(): Table {
  const groups = Map.groupBy(PAGES, ([, { group }]) => group);
  const rows = GROUPS.flatMap((group) =>
    (groups.get(group) ?? []).map(([name, { title, about }], at) => [
      at === 0 ? `**${group}**` : '',
      `[${title}](docs/${name})`,
      about,
    ]),
  );
  return tableOf(['', 'page', 'what it has'], rows);
}

/** `docs/llms.txt` with the list of pages. */
export function withPages(text: string): string {
  const [before = ''] = text.split('## Documentation');
  const lines = (isBackground: boolean): string =>
    [...PAGES]
      .filter(([, { group }]) => (group === 'How it works') === isBackground)
      .map(([name, { title, about }]) => `- [${title}](/docs/${name}): ${about}`)
      .join('\n');
  return `${before}## Documentation\n\n${lines(false)}\n\n## Optional\n\n${lines(true)}\n`;
}

/** What an isolate believes. */
function beliefsTable(): Table {
  const rows = Object.entries<Kind>(BELIEFS).map(([name, kind]) => [
    code(name),
    kind.owner,
    grouped(kind.bytes / 1024),
    kind.holdsMs === undefined ? '–' : lengthOf(kind.holdsMs),
    'confirm' in kind ? 'yes' : '–',
    kind.about,
  ]);
  return tableOf(['kind', 'of a', 'KiB', 'relied on for', 'confirmed', 'what it is'], rows);
}

function lengthOf(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

/** All tables, by name. */
export function docsTables(): ReadonlyMap<string, Table> {
  const tables = strategyTables();
  return new Map([
    ...Object.entries(tables).map(
      ([name, fields]) => [`fields-${name}`, membersTable(fields, STRATEGY_FIELDS)] as const,
    ),
    ['blocks', membersTable(objectIn(schemaOf(blocksSchema)), BLOCKS_FIELDS)],
    ['own-fields', ownTable()],
    ['headers', headersTable()],
    ['misses', missesTable()],
    ['warnings', warningsTable()],
    ['errors', errorsTable()],
    ['variables', variablesTable()],
    ['routes', routesTable()],
    ['metrics', metricsTable()],
    ['pages', pagesTable()],
    ['beliefs', beliefsTable()],
  ]);
}

const PLACE = /^<!-- code (\S+) -->$/gm;

/**
 * A page with its tables as the code has them.
 *
 * @param path of the page, from the root
 * @throws Error for a table that there is not
 */
export function withTables(path: string, page: string, tables: ReadonlyMap<string, Table>): string {
  const own = `](${basename(path)}#`;
  return [...page.matchAll(PLACE)].reduce((text, [, name = '']) => {
    const table = tables.get(name);
    if (!table) throw new Error(`there is no table ${name}`);
    const rows = table.rows.map((row) => row.map((words) => words.replaceAll(own, '](#')));
    return withTable(text, MARK, name, { ...table, rows });
  }, page);
}

/** The pages that may have tables, from the root. */
export function pagesWithTables(): string[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'ARCHITECTURE.md', ...docs.map((name) => `docs/${name}`)];
}

/** Lists the pages for language models. */
const LLMS_TEXT = 'docs/llms.txt';

if (import.meta.main) {
  const tables = docsTables();
  const llms = join(ROOT, LLMS_TEXT);
  writeFileSync(llms, withPages(readFileSync(llms, 'utf8')));
  for (const page of pagesWithTables()) {
    const path = join(ROOT, page);
    writeFileSync(path, withTables(page, readFileSync(path, 'utf8'), tables));
  }
}
