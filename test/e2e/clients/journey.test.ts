/**
 * The first hour of a user: the README's command in a fresh copy of the repository, a request of
 * their own, the content that it removed, and the inspector.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import { calls, result } from '../../support/conversations/chat.ts';
import { until } from '../../support/deployment/polling.ts';
import { commandsIn } from '../../support/documents/shell.ts';
import { SNIPPETS } from '../../support/documents/snippets.ts';

/** The files that a commit of everything would hold; undefined outside of a repository. */
function committable(): string[] | undefined {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout } = spawnSync('git', listed, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.split('\0').filter((file) => existsSync(join(ROOT, file || '?'))) : undefined;
}

/** A copy of these files; the packages are those that are installed here. */
function freshCopy(files: readonly string[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'precis-journey-'));
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The README's first command after the packages are installed: `npm run demo`. */
const [command] = SNIPPETS.filter(({ page, language }) => page === 'README.md' && language === 'sh')
  .flatMap(({ code }) => commandsIn(code))
  .filter(({ words }) => words[0] === 'npm' && words[1] === 'run');

/** The strategy of the README's first example in a client. */
const STRATEGY = { mode: 'auto', token_budget: 32_000 };

/** An agent's array of about 50,000 tokens. */
const output = (number: number): string =>
  Array.from({ length: 300 }, (_, line) => `part ${number}, line ${line}: ${number * line}`).join('\n');
const messages = [
  { role: 'user', content: 'Read the parts, one after the other.' },
  ...Array.from({ length: 16 }, (_, number) => [
    calls([`call_${number}`, 'read_part', `{"part":${number}}`]),
    result(`call_${number}`, output(number)),
  ]).flat(),
] as OpenAI.ChatCompletionMessageParam[];

interface Report {
  readonly tokens: { readonly before: number; readonly after: number };
  readonly refs: readonly { readonly ref: string; readonly tool_call_id: string }[];
}

const files = committable();

describe.skipIf(files === undefined)('in a fresh copy of the repository', () => {
  let copy = '';
  let demo: ChildProcess | undefined;
  let printed = '';
  /** The address that the demo prints, and the Worker's. */
  const address = (): URL | undefined => {
    const [, found] = /^Inspect {2}(\S+)$/m.exec(printed) ?? [];
    return found === undefined ? undefined : new URL(found);
  };
  const get = (path: string) => fetch(`${address()?.origin}${path}`);

  beforeAll(async () => {
    copy = freshCopy(files ?? []);
    // Its own Worker is part of what a user gets. By day it has the one of all tests.
    const { OPENAI_API_KEY: _, PRECIS_TESTED_WORKER: built, ...own } = process.env;
    const env = inject('properties').full ? own : { ...own, PRECIS_TESTED_WORKER: built };
    // As npm does when the packages are installed.
    execFileSync('npm', ['run', 'prepare'], { cwd: copy, env, stdio: 'pipe' });
    demo = spawn('npm', [...(command?.words.slice(1) ?? []), '--', '--inspect'], {
      cwd: copy,
      env,
      detached: true,
    });
    for (const stream of [demo.stdout, demo.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    const running = demo;
    await until(
      'the demo prints the address',
      () => address() !== undefined || running.exitCode !== null,
      120_000,
    );
  }, 180_000);

  afterAll(async () => {
    const running = demo;
    if (running?.pid !== undefined && running.exitCode === null) {
      process.kill(-running.pid, 'SIGINT');
      await until('the demo ends', () => running.exitCode !== null || running.signalCode !== null, 30_000);
    }
    rmSync(copy, { recursive: true, force: true });
  });

  it('the README’s command plays an agent, and says what it saved', () => {
    expect(command?.words).toEqual(['npm', 'run', 'demo']);
    expect(address(), printed).toBeDefined();
    expect(printed).toMatch(/^Paid \$0\.\d{4}; without Precis it would have been \$0\.\d{4}: \d+ % less\.$/m);
    expect(printed).toContain('The answer, after the model fetched ');
  });

  it('the first own request is shortened, and what it lacks is fetched by its ref', async () => {
    const client = new OpenAI({ baseURL: `${address()?.origin}/v1`, apiKey: 'any' });
    const completion = await client.chat.completions.create({
      model: 'gpt-6-sol',
      messages,
      tools: [{ type: 'function', function: { name: 'read_part' } }],
      memory_strategy: STRATEGY,
      memory_report: true,
      conversation_id: 'mine',
    } as OpenAI.ChatCompletionCreateParamsNonStreaming);

    expect(completion.choices[0]?.message.content).not.toBe('');
    const { memory } = completion as OpenAI.ChatCompletion & { memory: Report };
    expect(memory.tokens.after).toBeLessThanOrEqual(STRATEGY.token_budget);
    expect(memory.tokens.after).toBeLessThan(memory.tokens.before);
    const removed = memory.refs.find(({ tool_call_id }) => tool_call_id === 'call_1');
    expect(await (await get(`/v1/refs/${removed?.ref}`)).text()).toBe(output(1));
  });

  it('the inspector has the page, its files, and both conversations', async () => {
    const page = await get(`${address()?.pathname}`);
    const html = await page.text();
    const linked = [...html.matchAll(/(?:src|href)="(\/?inspect\/[^"]+)"/g)].map(([, path = '']) => path);

    expect(page.status).toBe(200);
    expect(linked.length).toBeGreaterThan(1);
    for (const path of linked) expect((await get(`/${path.replace(/^\//, '')}`)).status, path).toBe(200);
    for (const id of ['demo', 'mine'])
      await until(`${id} has an event`, async () => {
        const { data } = (await (await get(`/v1/conversations/${id}/requests`)).json()) as {
          data?: unknown[];
        };
        return (data ?? []).length > 0;
      });
  });
});
