/** `npm run demo`, as a person runs it: a mode that summarizes, and what the command refuses. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { askedLiteral } from '../../../fixtures/recording.ts';
import { ROOT } from '../../../tools/worker-server.ts';

const execute = promisify(execFile);

/** An empty key, as a shell exports one that is not set. */
const demo = (...args: string[]): Promise<{ stdout: string }> =>
  execute(process.execPath, [join(ROOT, 'demo/run.ts'), ...args], {
    cwd: ROOT,
    env: { ...process.env, OPENAI_API_KEY: '' },
  });

describe('the demo', () => {
  it.each(['summarize', 'rolling_summary'])(
    'with an empty key plays its own model, saves, and answers by what it fetches: %s',
    async (mode) => {
      const { stdout } = await demo('--mode', mode);

      expect(stdout).toMatch(/^Upstream http:\/\/127\.0\.0\.1:/m);
      expect(stdout).toMatch(
        /^Paid \$0\.\d{4}; without Precis it would have been \$0\.\d{4}: \d+ % less\.$/m,
      );
      expect(stdout.match(/ summarize {2}moved /g)?.length).toBeGreaterThan(1);
      expect(stdout).toMatch(/The answer, after the model fetched \d+ refs/);
      expect(stdout).toContain(askedLiteral().literal);
    },
  );

  it('prints its usage, and runs nothing, with --help', async () => {
    const { stdout } = await demo('--help');
    expect(stdout).toMatch(/^usage: precis demo \[--mode <mode>\] \[--inspect\]$/m);
    expect(stdout).not.toMatch(/^Worker /m);
  });

  it.each([['--insepct'], ['--port', '9'], ['compact'], ['--mode']])(
    'refuses arguments that it does not know: %s',
    async (...args) => {
      await expect(demo(...args)).rejects.toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('usage: precis demo'),
      });
    },
  );

  it('refuses a mode that it does not know', async () => {
    await expect(demo('--mode', 'bogus')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^--mode takes auto, compact, /),
    });
  });
});
