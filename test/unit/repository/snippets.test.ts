/** Code in README.md and docs/: TypeScript compiles with the client's types, the rest parses. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';

interface Snippet {
  /** The page and the line of its fence: `docs/modes.md:12`. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
}

const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);
const SNIPPETS = PAGES.flatMap(snippetsIn);
const of = (language: string): [string, string][] =>
  SNIPPETS.filter((snippet) => snippet.language === language).map(({ place, code }) => [place, code]);

function snippetsIn(page: string): Snippet[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: language = '', 2: code = '', index }) => ({
      place: `${page}:${text.slice(0, index).split('\n').length}`,
      language,
      code,
    }),
  );
}

/** Within the repository, where packages are found. */
const DIRECTORY = join(ROOT, 'node_modules/.cache/precis-snippets');
afterAll(() => rmSync(DIRECTORY, { recursive: true, force: true }));

/** What a reader has at hand: a client, and what it sends. */
const AT_HAND = `
declare const client: OpenAI;
declare const model: string;
declare const messages: OpenAI.ChatCompletionMessageParam[];
declare const tools: never[];
declare const input: OpenAI.Responses.ResponseInput;`;

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
  it('has snippets in each language', () => {
    expect(of('ts').length).toBeGreaterThan(5);
    expect(of('python').length).toBeGreaterThan(1);
    expect(of('js').length).toBeGreaterThan(0);
  });

  it('compiles, with the types of the client', () => {
    mkdirSync(DIRECTORY, { recursive: true });
    const names = new Map(of('ts').map(([place, code], index) => [`${index}.ts`, { place, code }]));
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

  it.skipIf(!hasPython()).each(of('python'))('parses: %s', (_, code) => {
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: code });
  });

  it.each(of('js'))('parses: %s', (_, code) => {
    expect(() => new Script(code.replace('export default', 'const policy ='))).not.toThrow();
  });
});

function hasPython(): boolean {
  return spawnSync('python3', ['--version']).status === 0;
}

/** What the compiler says of the snippets; empty if nothing. */
function compile(): string {
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', DIRECTORY], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
