/** Commands in the pages: they parse, and name scripts, options and routes that exist. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { experimental_getWranglerCommands } from 'wrangler';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import { ROUTES, routeOf } from '../../../src/routes/table.ts';
import { ROOT } from '../../../tools/worker-server.ts';
import { type Command, commandsIn, optionOf, variablesIn } from '../../support/documents/shell.ts';
import { inLanguage, PAGES } from '../../support/documents/snippets.ts';

const { scripts, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  bin: Record<string, string>;
};

/** npm's own commands. */
const NPM = ['ci', 'install', 'pack'];
/** Scripts that npm runs without `run`. */
const NPM_SCRIPTS = ['start', 'test'];
/** Programs of a reader's machine, whose options no test knows. */
const PROGRAMS = [
  'apt-get',
  'cat',
  'echo',
  'git',
  'ollama',
  'open',
  'docker',
  'openssl',
  'pip',
  'llama-server',
  'vllm',
];
/** Set by the reader; all others are set by the page. */
const OWN = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'METRICS_TOKEN'];
/** The host of a deployment, or its variable. */
const DEPLOYMENT = /^(?:https?:\/\/[^/]+|\$HOST)(?=\/)/;

const scriptsIn = inLanguage('sh');

describe('the commands in the documents', () => {
  it.skipIf(spawnSync('bash', ['--version']).status !== 0).each(scriptsIn)('parse: %s', (_, { code }) => {
    expect(spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' }).stderr).toBe('');
  });

  it.each(scriptsIn)('exist: %s', (_, { code }) => {
    const faults = commandsIn(code).map(faultOf);
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  it.each(PAGES)('read variables that are set: %s', (page) => {
    const codes = scriptsIn.flatMap(([, snippet]) => (snippet.page === page ? [snippet.code] : []));
    const set = codes.flatMap((code) => commandsIn(code).flatMap(({ assigned }) => Object.keys(assigned)));

    const read = codes.flatMap(variablesIn);
    expect(read.filter((name) => !OWN.includes(name) && !set.includes(name))).toEqual([]);
  });
});

/** What is wrong with a command; undefined if nothing is. */
function faultOf({ words }: Command): string | undefined {
  const [program = '', ...rest] = words;
  if (program === '' || PROGRAMS.includes(program)) return undefined;
  if (program === 'npm') return npmFault(rest);
  if (program === 'npx') return npxFault(rest);
  if (program === 'node') return existsSync(join(ROOT, rest[0] ?? '')) ? undefined : `no file ${rest[0]}`;
  if (program === 'curl') return curlFault(rest);
  return `unknown program ${program}`;
}

function npmFault([command = '', name = '']: readonly string[]): string | undefined {
  const script = command === 'run' ? name : NPM_SCRIPTS.find((each) => each === command);
  if (script !== undefined) return script in scripts ? undefined : `no script ${script}`;
  return NPM.includes(command) ? undefined : `npm has no ${command}`;
}

function npxFault([program = '', ...words]: readonly string[]): string | undefined {
  if (program === 'wrangler') return wranglerFault(words);
  return program in bin ? undefined : `no program ${program}`;
}

interface WranglerCommand {
  readonly subtree: ReadonlyMap<string, WranglerCommand>;
  readonly definition?: { readonly args?: Readonly<Record<string, { readonly alias?: string | string[] }>> };
}

/** The command must be whole, and know its options. */
function wranglerFault(words: readonly string[]): string | undefined {
  const { registry, globalFlags } = experimental_getWranglerCommands();
  let command = registry as unknown as WranglerCommand;
  const path: string[] = [];
  for (const word of words) {
    const next = command.subtree.get(word);
    if (!next) break;
    path.push(word);
    command = next;
  }
  if (command.subtree.size > 0 || command.definition?.args === undefined)
    return `wrangler has no command ${path.join(' ')}`;
  const { args } = command.definition;
  const aliases = Object.values(args).flatMap(({ alias = [] }) => alias);
  const known = [...Object.keys(args), ...aliases, ...Object.keys(globalFlags)];
  const unknown = words.map(optionOf).filter((option) => option !== undefined && !known.includes(option));
  return unknown.length > 0 ? `wrangler ${path.join(' ')} has no ${unknown.join(', ')}` : undefined;
}

function curlFault(words: readonly string[]): string | undefined {
  const optionValue = (...options: string[]): string | undefined =>
    words[words.findIndex((word) => options.includes(word)) + 1 || words.length];
  const data = optionValue('-d', '--data', '--data-binary');
  const method = optionValue('-X') ?? (data === undefined ? 'GET' : 'POST');
  const url = words.find((word) => DEPLOYMENT.test(word));
  const path = url?.replace(DEPLOYMENT, '').replace(/\?.*$/, '');
  if (path === undefined) return `no address in ${words.join(' ')}`;
  if (!isRoute(method, path)) return `no route ${method} ${path}`;
  const strategies = words.flatMap((word) => /^x-memory-strategy: (.*)$/s.exec(word)?.[1] ?? []);
  if (data === undefined || data.startsWith('@')) return strategyFault(strategies);
  const body = JSON.parse(data.replaceAll('[…]', '[]').replaceAll('{…}', '{}')) as Record<string, unknown>;
  const own = body.memory_strategy === undefined ? [] : [JSON.stringify(body.memory_strategy)];
  return strategyFault([...strategies, ...own]);
}

function isRoute(method: string, path: string): boolean {
  const { path: canonical } = routeOf(path);
  return ROUTES.some(
    ({ path: pattern, handlers, shared }) =>
      new RegExp(`^${pattern.replaceAll(/:\w+/g, '[^/]+')}$`).test(canonical) &&
      (shared === true || method in handlers),
  );
}

function strategyFault(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const parsed = parseStrategy(text.startsWith('{') ? JSON.parse(text) : text);
    if (!parsed.ok) return parsed.reason.message;
  }
  return undefined;
}
