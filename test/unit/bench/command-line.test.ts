/** What the benchmarks answer to a command line, with a fault in it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import { type Ended, ended } from '../../support/ended.ts';

const execute = promisify(execFile);

const dir = mkdtempSync(join(tmpdir(), 'command-line-'));
afterAll(() => rmSync(dir, { recursive: true }));

afterEach(() => {
  vi.unstubAllEnvs();
});

let runs = 0;

/** Runs a script within this process. */
async function run(script: string, ...args: string[]): Promise<Ended> {
  vi.stubEnv('TRACES_DIR', undefined);
  const { argv } = process;
  process.argv = [process.execPath, script, ...args];
  try {
    return await ended(() => import(`${join(ROOT, 'bench', `${script}.ts`)}?run=${++runs}`));
  } finally {
    process.argv = argv;
  }
}

/** Runs a script in a process of its own. */
function runApart(script: string, ...args: string[]): Promise<Ended> {
  const { TRACES_DIR: _, ...env } = process.env;
  return execute(process.execPath, [join(ROOT, 'bench', `${script}.ts`), ...args], { cwd: ROOT, env }).then(
    (output) => ({ ...output, code: 0 }),
    (error: Ended) => error,
  );
}

/** A conversation in which no value is needed again. */
const short = { messages: [{ role: 'user', content: 'Hello' }] };

describe('the command line of a benchmark', () => {
  it.each(['replay', 'proxy', 'soak'])('prints its options: %s', async (script) => {
    const { code, stdout } = await run(script, '--help');

    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^npm run bench:${script} -- `));
    expect(stdout).toContain('--json');
  });

  it.each([
    ['replay', ['--transcript', 'x.jsonl'], /Unknown option '--transcript'/],
    ['replay', ['--schedule', 'gpt-7'], /--schedule must be one of prefix-128, /],
    ['replay', ['--strategy', '{"mode": "auto", "token_bugdet": 1}'], /token_bugdet.*token_budget/],
    ['replay', ['--strategy', '{"mode": '], /is not JSON/],
    ['replay', ['--transcripts', 'missing.jsonl'], /missing\.jsonl can't be read: ENOENT/],
    ['replay', ['--policy', 'missing.mjs'], /missing\.mjs: there is no such file/],
    ['proxy', ['--modes', 'auto,compat'], /--modes takes none, .*'compat' is none of them/],
    ['proxy', ['--rounds', 'ten'], /--rounds must be a number over 0/],
    ['proxy', ['--bytes', '1000,'], /--bytes takes numbers/],
    ['proxy', ['--events', 'of'], /--events takes on, off/],
    ['proxy', ['--page', 'missing.md'], /missing\.md/],
    ['plan', ['many'], /bytes must be a number over 0/],
    ['soak', ['--minutes', '0'], /--minutes must be a number over 0/],
  ])('refuses a fault in a sentence, and ends with 2: %s %j', async (script, args, sentence) => {
    const { code, stderr } = await run(script, ...args);

    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(code).toBe(2);
  });

  it('is its process’s, which ends with its status', async () => {
    const [help, fault] = await Promise.all([
      runApart('plan', '--help'),
      runApart('proxy', '--rounds', 'ten'),
    ]);

    expect([help.code, help.stdout]).toEqual([0, expect.stringMatching(/^npm run bench:plan -- /)]);
    expect([fault.code, fault.stdout]).toEqual([2, '']);
    expect(fault.stderr).toMatch(/^--rounds must be a number over 0, and is 'ten'\.$/m);
  });

  it('says why it can tell nothing of what stays visible', async () => {
    const path = join(dir, 'short.jsonl');
    writeFileSync(path, JSON.stringify(short));
    const { code, stdout } = await run('replay', '--transcripts', path, '--strategy', 'auto');

    expect(code).toBe(0);
    expect(stdout).toContain('no value that an agent needed again after a long while');
  });
});
