import { describe, expect, it } from 'vitest';
import { readOptions, refusedRun } from '../../../demo/options.ts';
import { ended } from '../../support/ended.ts';

describe('the command line of the demo', () => {
  it('prints its usage with --help', async () => {
    const { code, stdout } = await ended(() => readOptions(['--help']));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^usage: precis demo \[--mode <mode>\] \[--inspect\]$/m);
  });

  it.each([['--insepct'], ['--port', '9'], ['compact'], ['--mode']])(
    'refuses arguments that it does not know: %s',
    async (...args) => {
      expect(await ended(() => readOptions(args))).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('usage: precis demo'),
      });
    },
  );

  it('refuses a mode that it does not know', async () => {
    const { code, stderr } = await ended(() => readOptions(['--mode', 'bogus']));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^--mode takes auto, compact, /)]);
  });
});

describe('a run with a key of OpenAI that the API refuses', () => {
  it('ends with a sentence that says how to run without, and other errors stay errors', () => {
    const refused = Object.assign(new Error('401 Incorrect API key provided'), { status: 401 });

    expect(refusedRun(refused)).toMatch(/OPENAI_API_KEY is set, and got: 401 Incorrect .*\nUnset it/);
    expect(refusedRun(new TypeError('not a function'))).toBeUndefined();
  });
});
