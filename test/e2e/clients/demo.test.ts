/** `npm run demo`, as a person runs it: a mode that summarizes, and what runs nothing. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { askedLiteral } from '../../../fixtures/recording.ts';
import { ROOT } from '../../../tools/worker-server.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';

const execute = promisify(execFile);

/** An empty key, as a shell exports one that is not set. */
const demo = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  execute(process.execPath, [join(ROOT, 'demo/run.ts'), ...args], {
    cwd: ROOT,
    env: { ...process.env, OPENAI_API_KEY: '' },
  });

describe('the demo', () => {
  inTurn(
    ['summarize', 'rolling_summary'],
    (mode) => `in the mode ${mode}`,
    (mode) => {
      it('with an empty key plays its own model, saves, and answers by what it fetches', async () => {
        const { stdout } = await demo('--mode', mode);

        expect(stdout).toMatch(/^Upstream http:\/\/127\.0\.0\.1:/m);
        expect(stdout).toMatch(
          /^Paid \$0\.\d{4}; without Precis it would have been \$0\.\d{4}: \d+ % less\.$/m,
        );
        expect(stdout.match(/ summarize {2}moved /g)?.length).toBeGreaterThan(1);
        expect(stdout).toMatch(/The answer, after the model fetched \d+ refs/);
        expect(stdout).toContain(askedLiteral().literal);
      });
    },
  );

  it.each([
    [['--help'], 0, /^usage: precis demo \[--mode <mode>\] \[--inspect\]$/m, expect.any(String)],
    [['--insepct'], 2, /^$/, expect.stringContaining('usage: precis demo')],
  ])('runs nothing with %j', async (args, code, stdout, stderr) => {
    const ended = await demo(...args).then(
      (output) => ({ ...output, code: 0 }),
      (error: unknown) => error,
    );
    expect(ended).toMatchObject({ code, stdout: expect.stringMatching(stdout), stderr });
    expect(ended).toMatchObject({ stdout: expect.not.stringMatching(/^Worker /m) });
  });
});
