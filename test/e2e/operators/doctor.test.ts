/** `precis doctor` against deployments with something wrong, and against none. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';

const { doctor: examine } = (await import(join(ROOT, 'bin/doctor.js'))) as {
  doctor(url: string | undefined, tokens: { key?: string; adminToken?: string }): Promise<number>;
};

/** The command itself. */
const command = (vars: Record<string, string>, ...args: string[]): Promise<{ code: number; said: string }> =>
  new Promise((resolve) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, ...vars };
    execFile(process.execPath, ['bin/precis.js', 'doctor', ...args], { env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), said: out + err }),
    );
  });

/** The same in this process, where no argument is to be read. */
async function doctor(vars: Record<string, string>): Promise<{ code: number; said: string }> {
  const { PRECIS_URL: url, OPENAI_API_KEY: key = '', PRECIS_ADMIN_TOKEN: adminToken = '' } = vars;
  let said = '';
  const log = vi.spyOn(console, 'log').mockImplementation((line) => {
    said += `${line}\n`;
  });
  const code = await examine(url, { key, adminToken }).finally(() => log.mockRestore());
  return { code, said };
}

describe('precis doctor', () => {
  const deployment = deploy({ vars: { ADMIN_TOKEN } });
  const all = () => ({
    PRECIS_URL: `${deployment.url}/v1`,
    OPENAI_API_KEY: KEY,
    PRECIS_ADMIN_TOKEN: ADMIN_TOKEN,
  });

  it('says of each part that it works, and ends with 0', async () => {
    const { code, said } = await command(all());
    expect(said.split('\n').filter((line) => !line.startsWith('✓'))).toEqual(['Nothing fails.', '']);
    const names = said.split('\n').flatMap((line) => /^✓ ([\w' ]+?)(?: {2}|$)/.exec(line)?.[1] ?? []);
    expect(names).toEqual([
      ...['configuration', "caller's key", 'version', 'models', 'clock', 'secret', 'bucket', 'conversations'],
      ...['users', 'tenants', 'metrics', 'upstream', 'anthropic', 'summarizer', 'embeddings'],
    ]);
    expect(code).toBe(0);
  });

  it('says what it can’t see without a token or a key', async () => {
    const { code, said } = await doctor({ PRECIS_URL: deployment.url });
    expect(said).toMatch(/^\? caller's key +not checked.*OPENAI_API_KEY is not set$/m);
    expect(said).toMatch(
      /^\? parts +bucket, objects and servers not checked: PRECIS_ADMIN_TOKEN is not set$/m,
    );
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
    ['no deployment is named', [], 'Name a deployment by --url or PRECIS_URL.'],
    [
      'an argument is too much',
      ['more', '--url', 'http://127.0.0.1:9'],
      'precis doctor [--url <deployment>]',
    ],
  ])('says so where %s', async (_, args, words) => {
    const { code, said } = await command({}, ...args);
    expect(said).toContain(words);
    expect(code).toBe(words.startsWith('✗') ? 1 : 2);
  });

  it('says so where something else answers', async () => {
    const { said, code } = await doctor({ PRECIS_URL: deployment.upstream.url });
    expect(said).toMatch(/^✗ deployment +answered \d+, but this is not Precis/m);
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
      CAPTURE: 'true',
    },
  });

  it('names it and the variables to look at', async () => {
    const vars = { PRECIS_URL: deployment.url, PRECIS_ADMIN_TOKEN: ADMIN_TOKEN, OPENAI_API_KEY: KEY };
    const { code, said } = await doctor(vars);
    expect(said).toMatch(/^✗ upstream .*unreachable\n {4}→ Check UPSTREAM_BASE_URL/m);
    expect(said).toMatch(/^✗ summarizer .*unreachable\n {4}→ Check SUMMARIZER_BASE_URL/m);
    expect(said).toMatch(
      /^✗ models +gpt-4\.1-mini \(SUMMARIZER_MODEL\) ends on 2027-01-14\n {4}→ Set SUMMARIZER_MODEL to/m,
    );
    expect(said).toMatch(/^✓ variables +CAPTURE is set, and no longer does anything$/m);
    expect(said).toMatch(/^✓ bucket/m);
    expect(code).toBe(1);
  });
});

describe('precis doctor with a caller’s key alone', () => {
  const well = deploy({});
  const down = deploy({ vars: { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1', VERIFY_KEYS: 'false' } });

  it('says whether the upstream answers', async () => {
    const { code, said } = await doctor({ OPENAI_API_KEY: KEY, PRECIS_URL: well.url });
    expect(said).toMatch(/^✓ upstream/m);
    expect(code).toBe(0);
  });

  it('fails where the upstream does not answer', async () => {
    const { code, said } = await doctor({ OPENAI_API_KEY: KEY, PRECIS_URL: down.url });
    expect(said).toMatch(/^✗ upstream .*\n {4}→ Check UPSTREAM_BASE_URL/m);
    expect(said).not.toContain('Nothing fails.');
    expect(code).toBe(1);
  });

  it.each(['127.0.0.1', 'localhost'])('takes an address without a scheme: %s', async (host) => {
    const { port } = new URL(well.url);
    const { code, said } = await command({}, '--url', `${host}:${port}`);
    expect(said).toMatch(/^✓ configuration/m);
    expect(code).toBe(0);
  });

  it.each(['ftp://precis.example.com', 'http://', 'a b'])('refuses what is no address: %s', async (url) => {
    const { code, said } = await command({}, '--url', url);
    expect(said).toContain(`${url} is not the address of a deployment`);
    expect(code).toBe(2);
  });
});

describe('precis --version', () => {
  it('is the package’s', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
    const { stdout } = spawnSync(process.execPath, ['bin/precis.js', '--version'], { encoding: 'utf8' });
    expect(stdout).toBe(`${version}\n`);
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

describe('precis doctor, where another server answers some of the requests', () => {
  const OPEN = { '/healthz': [200, { status: 'ok' }] };
  const ASKS = [401, { error: { code: 'invalid_api_key', message: 'This needs the ADMIN_TOKEN.' } }];

  /** @param answers by path, and by path and token: status and JSON; 404 for any other */
  async function examined(answers: Record<string, readonly unknown[]>) {
    const tokens: string[] = [];
    const keys: string[] = [];
    const server = createServer(({ url = '', headers: { authorization } }, response) => {
      if (authorization?.includes(KEY)) keys.push(url);
      if (url === '/v1/admin/health' && authorization) tokens.push(authorization);
      const [status, json] = (authorization && answers[`${url} with a token`]) || answers[url] || [404, {}];
      response.writeHead(Number(status), { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const vars = { PRECIS_URL: `http://127.0.0.1:${port}`, OPENAI_API_KEY: KEY };
    const printed = await doctor({ ...vars, PRECIS_ADMIN_TOKEN: ADMIN_TOKEN });
    server.close();
    return { ...printed, tokens, keys };
  }

  it.each([[{}], [null], [[]], ['fine'], [{ object: 'memory.health' }], [{ parts: [] }]])(
    'says that the answer about the parts is not Precis’s: %j',
    async (json) => {
      const { code, said } = await examined({
        ...OPEN,
        '/v1/admin/health': ASKS,
        '/v1/admin/health with a token': [200, json],
      });
      expect(said).toMatch(/^✗ parts +the answer does not come from Precis\n {4}→/m);
      expect(said).not.toContain('TypeError');
      expect(code).toBe(1);
    },
  );

  const KEYLESS = [401, { error: { code: 'invalid_api_key', message: "You didn't provide an API key." } }];

  it.each<[string, Record<string, readonly unknown[]>]>([
    ['says ok of its health', {}],
    ['asks for a key of its own', { '/v1/deployment': KEYLESS }],
    ['has an answer to everything', { '/v1/deployment': [200, { status: 'ok', object: 'list', data: [] }] }],
    ['is misconfigured', { '/healthz': [503, { status: 'misconfigured' }], '/v1/deployment': KEYLESS }],
  ])('B11: gives no key to one that only %s', async (_, answers) => {
    const { code, said, keys } = await examined({ ...OPEN, ...answers });
    expect(keys).toEqual([]);
    expect(said).toMatch(/^✗ (?:caller's key|configuration) /m);
    expect(code).toBe(1);
  });

  it('B11: prints no control characters of a server', async () => {
    const message = 'bad\u001b[2J\u001b]0;owned\u0007\u009b31m\r\n✓ parts  fine\u202e\u2028\u0000end';
    const { said } = await examined({
      ...OPEN,
      '/v1/admin/health': ASKS,
      '/v1/admin/health with a token': [500, { error: { message } }],
      '/v1/deployment': [
        401,
        { error: { code: 'invalid_api_key', message: 'This needs the API key under which' } },
      ],
      '/v1/deployment with a token': [500, { error: { message } }],
    });
    expect(said).toContain('owned');
    expect(said.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(said).not.toMatch(/^✓ parts/m);
  });

  it('looks at the upstream where it can’t be asked about the key', async () => {
    const asks = { code: 'invalid_api_key', message: 'This needs the API key under which' };
    const { said } = await examined({
      ...OPEN,
      '/v1/deployment': [401, { error: asks }],
      '/v1/deployment with a token': [503, { error: { code: 'key_not_checked', message: 'No answer.' } }],
    });
    expect(said).toMatch(/^✗ caller's key +No answer\.\n {4}→ Check UPSTREAM_BASE_URL/m);
  });

  it.each([[{}], [null], [{ object: 'list', data: [] }]])(
    'takes no such answer for one about key and models: %j',
    async (json) => {
      const { code, said } = await examined({ ...OPEN, '/v1/deployment': [200, json] });
      expect(said).toMatch(/^✗ caller's key +the answer does not come from Precis\n {4}→/m);
      expect(said).not.toMatch(/^. (?:models|version)/m);
      expect(code).toBe(1);
    },
  );

  it.each<[number, unknown]>([
    [200, { object: 'memory.health', parts: [] }],
    [401, { error: { code: 'invalid_api_key', message: 'Incorrect API key provided.' } }],
    [401, { error: { message: 'ADMIN_TOKEN' } }],
    [401, null],
    [404, {}],
    [500, {}],
  ])('sends no token to a server that does not ask for it: %d %j', async (...answer) => {
    const { said, tokens } = await examined({ ...OPEN, '/v1/admin/health': answer });
    expect(tokens).toEqual([]);
    expect(said).toMatch(/^\? parts +bucket, objects and servers not checked: /m);
  });
});
