/** `precis doctor` against deployments with something wrong, and against none. */
import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';

const doctor = (vars: Record<string, string>, ...args: string[]): Promise<{ code: number; said: string }> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...vars };
    execFile(process.execPath, ['bin/precis.js', 'doctor', ...args], { env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), said: out + err }),
    );
  });

describe('precis doctor', () => {
  const deployment = deploy({ vars: { ADMIN_TOKEN } });
  const all = () => ({
    PRECIS_URL: `${deployment.url}/v1`,
    OPENAI_API_KEY: KEY,
    PRECIS_ADMIN_TOKEN: ADMIN_TOKEN,
  });

  it('says of each part that it works, and ends with 0', async () => {
    const { code, said } = await doctor(all());
    expect(said.split('\n').filter((line) => !line.startsWith('✓'))).toEqual(['Nothing fails.', '']);
    const names = said.split('\n').flatMap((line) => /^✓ ([\w' ]+?)(?: {2}|$)/.exec(line)?.[1] ?? []);
    expect(names).toEqual([
      ...['configuration', "caller's key", 'version', 'models', 'clock', 'secret', 'bucket', 'conversations'],
      ...['users', 'tenants', 'metrics', 'upstream', 'summarizer', 'embeddings'],
    ]);
    expect(code).toBe(0);
  });

  it('says what it can’t see without a token or a key', async () => {
    const { code, said } = await doctor({ PRECIS_URL: deployment.url });
    expect(said).toMatch(/^\? caller's key +not seen.*OPENAI_API_KEY is not set$/m);
    expect(said).toMatch(/^\? parts +bucket, objects and servers not seen: PRECIS_ADMIN_TOKEN is not set$/m);
    expect(code).toBe(0);
  });

  it('ends with 1 and says what to do about a token or a key that is refused', async () => {
    const { code, said } = await doctor({ ...all(), OPENAI_API_KEY: 'short', PRECIS_ADMIN_TOKEN: 'another' });
    expect(said).toMatch(/^✗ caller's key .*\n {4}→ Use a key/m);
    expect(said).toMatch(/^✗ parts .*ADMIN_TOKEN.*\n {4}→ Set PRECIS_ADMIN_TOKEN/m);
    expect(said).toContain('2 parts fail.');
    expect(code).toBe(1);
  });

  it('never says a token or a key', async () => {
    const { said } = await doctor(all());
    expect(said).not.toContain(KEY);
    expect(said).not.toContain(ADMIN_TOKEN);
  });

  it.each<[string, string[], string]>([
    [
      'nobody listens',
      ['--url', 'http://127.0.0.1:59999'],
      "✗ deployment      can't be reached: ECONNREFUSED",
    ],
    ['no deployment is named', [], 'No deployment is named.'],
    ['an argument is too much', ['more', '--url', 'http://127.0.0.1:9'], 'usage: precis verify'],
  ])('says so where %s', async (_, args, words) => {
    const { code, said } = await doctor({}, ...args);
    expect(said).toContain(words);
    expect(code).toBe(words.startsWith('✗') ? 1 : 2);
  });

  it('says so where something else answers', async () => {
    const { said, code } = await doctor({ PRECIS_URL: deployment.upstream.url });
    expect(said).toMatch(/^✗ deployment +is no Precis/m);
    expect(code).toBe(1);
  });
});

describe('precis doctor, where a part fails', () => {
  const deployment = deploy({
    vars: {
      ADMIN_TOKEN,
      SUMMARIZER_BASE_URL: 'http://127.0.0.1:9/v1',
      SUMMARIZER_MODEL: 'gpt-4.1-mini',
      SUMMARIZER_API_KEY: 'sk-of-the-summarizer',
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
      VERIFY_KEYS: 'false',
    },
  });

  it('names it and the variables to look at', async () => {
    const vars = { PRECIS_URL: deployment.url, PRECIS_ADMIN_TOKEN: ADMIN_TOKEN, OPENAI_API_KEY: KEY };
    const { code, said } = await doctor(vars);
    expect(said).toMatch(/^✗ upstream .*unreachable\n {4}→ Look at UPSTREAM_BASE_URL/m);
    expect(said).toMatch(/^✗ summarizer .*unreachable\n {4}→ Look at SUMMARIZER_BASE_URL/m);
    expect(said).toMatch(
      /^✗ models +gpt-4\.1-mini of SUMMARIZER_MODEL ends on 2027-01-14\n {4}→ Set SUMMARIZER_MODEL to/m,
    );
    expect(said).toMatch(/^✓ bucket/m);
    expect(code).toBe(1);
  });
});

describe('precis doctor, where a variable is not valid', () => {
  const deployment = deploy({ vars: { RETENTION_DAYS: 'many' } });

  it('names the variable', async () => {
    const { code, said } = await doctor({ PRECIS_URL: deployment.url });
    expect(said).toMatch(/^✗ configuration +RETENTION_DAYS is not valid/m);
    expect(code).toBe(1);
  });
});
