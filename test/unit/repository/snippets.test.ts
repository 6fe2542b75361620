/** Every fenced block of the pages: it compiles or parses, and says in which language it is. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { experimental_readRawConfig } from 'wrangler';
import { parse } from 'yaml';
import { APIS, type Api, SNIPPETS as COPIED } from '../../../inspector/read/snippets.ts';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import { ROOT } from '../../../tools/worker-server.ts';
import { fencesOf, inLanguage, PAGES, regionOf, SNIPPETS } from '../../support/documents/snippets.ts';

/** `text` is for what no program reads: placeholders, headers of an answer, a tree of files. */
const LANGUAGES = ['ts', 'js', 'json', 'python', 'sh', 'text', 'toml', 'yaml'];

/** Within the repository, where packages are found. */
const DIRECTORY = join(ROOT, 'node_modules/.cache/precis-snippets');
const FILES = mkdtempSync(join(tmpdir(), 'precis-snippets-'));
afterAll(() => {
  rmSync(DIRECTORY, { recursive: true, force: true });
  rmSync(FILES, { recursive: true, force: true });
});

/** What a reader has at hand: a client, and what it sends. */
const AT_HAND = `
declare const client: OpenAI;
declare const baseURL: string;
declare const apiKey: string;
declare const strategy: object;
declare const model: string;
declare const messages: OpenAI.ChatCompletionMessageParam[];
declare const tools: never[];
declare const input: OpenAI.Responses.ResponseInput;`;

function copiedFromInspector(): { readonly place: string; readonly code: string }[] {
  const copied = { baseUrl: 'http://127.0.0.1:8787', model: 'm', strategy: { mode: 'auto' } };
  const apis = Object.keys(APIS) as Api[];
  return apis.map((api) => ({
    place: `the inspector's for ${api}`,
    code: COPIED.TypeScript({ ...copied, api }),
  }));
}

/** A snippet as a module: its imports first, the rest where it may name what is at hand anew. */
function moduleOf(code: string): string {
  const imports = code.match(/^import .*$/gm) ?? [];
  const rest = code.replaceAll(/^import .*$/gm, '').replaceAll(/^(type|interface) /gm, 'export $1 ');
  const openai = imports.some((line) => line.startsWith('import OpenAI '))
    ? []
    : ["import OpenAI from 'openai';"];
  const types = /^export (type|interface) /m.test(rest);
  return [...openai, ...imports, AT_HAND, types ? rest : `export async function run() {\n${rest}\n}`].join(
    '\n',
  );
}

describe('the code in the documents', () => {
  it.each(PAGES)('is in blocks that begin and end, each with its language: %s', (page) => {
    const snippets = SNIPPETS.filter((snippet) => snippet.page === page);

    expect(snippets.length * 2).toBe(fencesOf(page));
    const others = snippets.filter(({ language }) => !LANGUAGES.includes(language));
    expect(others.map(({ place, language }) => `${place} ${language}`)).toEqual([]);
  });

  it('is there in each language', () => {
    for (const language of LANGUAGES) expect(inLanguage(language), language).not.toEqual([]);
  });

  it('compiles, with the types of the clients', () => {
    mkdirSync(DIRECTORY, { recursive: true });
    const all = [...inLanguage('ts').map(([, snippet]) => snippet), ...copiedFromInspector()];
    const names = new Map(all.map((snippet, index) => [`${index}.ts`, snippet]));
    for (const [name, { code }] of names) writeFileSync(join(DIRECTORY, name), moduleOf(code));
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { noEmit: true, noUnusedLocals: false, noUnusedParameters: false },
      include: ['*.ts'],
    };
    writeFileSync(join(DIRECTORY, 'tsconfig.json'), JSON.stringify(config));

    const faults = compile().replaceAll(
      /^.*?(\d+\.ts)\(/gm,
      (whole, name) => `${names.get(name)?.place ?? whole}, (`,
    );
    expect(faults).toBe('');
  });

  it.skipIf(!hasPython()).each(inLanguage('python'))('compiles: %s', (_, { code }) => {
    const compiler = 'import sys; compile(sys.stdin.read(), "snippet", "exec")';
    expect(() => execFileSync('python3', ['-c', compiler], { input: code, stdio: 'pipe' })).not.toThrow();
  });

  it.each(inLanguage('js'))('parses: %s', (_, { code }) => {
    expect(() => new Script(code.replace('export default', 'const policy ='))).not.toThrow();
  });

  it.each(inLanguage('toml'))('parses: %s', (place, { code }) => {
    const config = join(FILES, `${place.replaceAll(/\W/g, '-')}.toml`);
    writeFileSync(config, code);
    expect(Object.keys(experimental_readRawConfig({ config }).rawConfig)).not.toEqual([]);
  });

  it.each(inLanguage('yaml'))('parses: %s', (_, { code }) => {
    expect(parse(code)).toBeTypeOf('object');
  });

  // A shortened value has its … within quotes, so that the rest still parses.
  it.each(inLanguage('json'))('parses, and its strategies are valid: %s', (_, { code }) => {
    const value: unknown = JSON.parse(code);
    for (const strategy of strategiesIn(value)) expect(parseStrategy(strategy)).toMatchObject({ ok: true });
  });

  const repeated = SNIPPETS.filter(({ source }) => source !== undefined);

  it.each(repeated.map((snippet) => [snippet.place, snippet.source ?? '', snippet] as const))(
    'is its source’s: %s, %s',
    (_, source, { code }) => expect(code).toBe(regionOf(source)),
  );
});

/** What is under `memory_strategy`, at any depth. */
function strategiesIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'memory_strategy' && member !== null ? [member] : strategiesIn(member),
  );
}

function hasPython(): boolean {
  return spawnSync('python3', ['--version']).status === 0;
}

/** What the compiler says of the snippets; empty if nothing. */
function compile(): string {
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['--singleThreaded', '-p', DIRECTORY], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
