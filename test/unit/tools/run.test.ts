/** `precis run` and `precis mcp`: what clients are started with. Stand-ins print it. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ofTurn } from '../../support/deployment/in-turn.ts';

const PRECIS = join(import.meta.dirname, '../../../bin/precis.js');
const HOST = 'https://precis.example';
/** What a stand-in prints: its arguments, and the variables that Precis may set. */
const CLIENT = `#!${process.execPath}
const named = Object.entries(process.env).filter(([name]) => /BASE|^CLAUDE_|^OPENCODE_/.test(name));
console.log(JSON.stringify({ args: process.argv.slice(2), vars: Object.fromEntries(named) }));
process.exitCode = 7;
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'precis-run-'));
  for (const name of ['claude', 'codex', 'opencode', 'aider']) {
    await writeFile(join(folder, name), CLIENT);
    await chmod(join(folder, name), 0o700);
  }
});
afterAll(() => rm(folder, { recursive: true }));

async function precis(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [PRECIS, ...args], {
    env: { PATH: folder, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [code, out, err] = await Promise.all([
    new Promise((resolve) => child.once('close', resolve)),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, out, err, client: out.startsWith('{') ? JSON.parse(out.split('\n')[0] ?? '') : undefined };
}

describe('precis run', () => {
  // On Linux, where Node makes no such folder, and does not end either.
  it.runIf(existsSync('/proc'))('ends and says so where its folder can’t be made', async () => {
    const { code, err } = await precis(['run', '--data', '/proc/precis', '--', 'claude']);
    expect(err).toContain("--data /proc/precis can't be written: ENOENT.");
    expect(code).toBe(2);
  });

  it.each([
    ['claude', [], { ANTHROPIC_BASE_URL: `${HOST}/agents/coding`, CLAUDE_CODE_GATEWAY_HINT_HEADERS: '1' }],
    [
      'codex',
      [
        'model_provider="precis"',
        'model_providers.precis.name="Precis"',
        `model_providers.precis.base_url="${HOST}/agents/coding/v1"`,
        'model_providers.precis.env_key="OPENAI_API_KEY"',
        'model_providers.precis.wire_api="responses"',
      ].flatMap((value) => ['-c', value]),
      {},
    ],
    [
      'opencode',
      [],
      {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          provider: {
            openai: { options: { baseURL: `${HOST}/agents/coding/v1` } },
            anthropic: { options: { baseURL: `${HOST}/agents/coding/v1` } },
          },
        }),
      },
    ],
    [
      'aider',
      [],
      {
        OPENAI_BASE_URL: `${HOST}/agents/coding/v1`,
        OPENAI_API_BASE: `${HOST}/agents/coding/v1`,
        ANTHROPIC_BASE_URL: `${HOST}/agents/coding`,
      },
    ],
  ])('leads %s to the base URL, and ends with its status', async (name, before, vars) => {
    const { code, client } = await precis(['run', '--url', HOST, '--', name, '--own', 'a b']);

    expect(client).toEqual({ args: [...before, '--own', 'a b'], vars });
    expect(code).toBe(7);
  });

  it('takes the agent and the deployment that are named, also by PRECIS_URL', async () => {
    const { client } = await precis(['run', '--agent', 'mine', '--', 'claude'], { PRECIS_URL: `${HOST}/v1` });

    expect(client.vars.ANTHROPIC_BASE_URL).toBe(`${HOST}/agents/mine`);
    const ofAgent = { PRECIS_URL: `${HOST}/agents/chat/v1` };
    for (const [given, agent] of [
      [[], 'chat'],
      [['--agent', 'mine'], 'mine'],
    ] as const) {
      const { client } = await precis(['run', ...given, '--', 'claude'], ofAgent);
      expect(client.vars.ANTHROPIC_BASE_URL).toBe(`${HOST}/agents/${agent}`);
    }
  });

  it.each([
    ['no command', ['run', '--url', HOST, 'claude'], 2, /come after --\.[\s\S]*usage: precis run/],
    ['a port that is none', ['run', '--port', '0', '--', 'claude'], 2, /takes 1 to 65,535, not 0/],
    [
      'a folder that is none',
      ['run', '--data', PRECIS, '--', 'claude'],
      2,
      /^--data .* can't be written: ENOTDIR\.$/m,
    ],
    ['an unknown option', ['run', '--no', '--', 'claude'], 2, /--no[\s\S]*usage: precis run/],
    ['a command that is not there', ['run', '--url', HOST, '--', 'gone'], 127, /gone is not installed/],
  ])('says what is wrong with %s', async (_, args, status, says) => {
    const { code, err } = await precis(args);

    expect(code).toBe(status);
    expect(err).toMatch(says);
  });

  /** As a Precis answers that asks for a key. */
  async function listening(answered: () => void = () => undefined) {
    const server = createServer((_, response) => {
      const message = 'This needs the API key under which it was stored.';
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'invalid_api_key', message } }), answered);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const port = String((server.address() as AddressInfo).port);
    const args = ['run', '--port', port, '--data', join(folder, 'data'), '--', 'claude'];
    return { port, args, holders: join(folder, 'data/holders', port), close: () => server.close() };
  }

  /** What a Precis notes that was started for commands, and forwards to a server. */
  function note(holders: string, url: string): void {
    const upstreams = createHash('sha256')
      .update(JSON.stringify([url, '']))
      .digest('hex');
    writeFileSync(join(holders, 'server'), JSON.stringify({ pid: process.pid, upstreams }));
  }

  it('uses a Precis that its user has started, unless the command names another server', async () => {
    const { port, args, holders, close } = await listening();

    expect((await precis(args)).client.vars.ANTHROPIC_BASE_URL).toBe(
      `http://127.0.0.1:${port}/agents/coding`,
    );
    for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_BASE', 'ANTHROPIC_BASE_URL', 'UPSTREAM_BASE_URL'])
      expect(await precis(args, { [name]: 'https://corp.example/v1' })).toMatchObject({
        code: 2,
        err: expect.stringContaining('may forward to another server'),
      });
    // As `precis start` has its user export them.
    const own = `http://localhost:${port}`;
    expect(await precis(args, { OPENAI_BASE_URL: `${own}/v1`, ANTHROPIC_BASE_URL: own })).toMatchObject({
      code: 7,
    });
    note(holders, 'https://corp.example/v1');
    expect(await precis(args, { OPENAI_API_BASE: 'https://corp.example/v1' })).toMatchObject({ code: 7 });
    expect(await precis(args)).toMatchObject({ code: 2 });
    close();
  });

  it('waits for what a Precis notes that another command has just started', async () => {
    const url = 'https://corp.example/v1';
    const { args, holders, close } = await listening(() => setTimeout(() => note(holders, url), 300));
    await mkdir(holders, { recursive: true });
    await writeFile(join(holders, `started-${process.pid}`), '');

    expect(await precis(args, { OPENAI_API_BASE: url })).toMatchObject({ code: 7 });
    close();
  });

  it('overwrites no configuration of opencode', async () => {
    const { code, err } = await precis(['run', '--url', HOST, '--', 'opencode'], {
      OPENCODE_CONFIG_CONTENT: '{}',
    });

    expect([code, err]).toEqual([2, expect.stringContaining('OPENCODE_CONFIG_CONTENT is already set')]);
  });
});

describe('precis mcp', () => {
  it.each(['claude', 'codex', 'opencode'])('has %s add the server, and never names a key', async (name) => {
    const { client, code } = await precis(['mcp', 'add', name, '--url', HOST], {
      OPENAI_API_KEY: 'sk-a-key-of-a-caller',
    });

    expect(client.args.join(' ')).toContain(`${HOST}/mcp`);
    expect(client.args.join(' ')).toMatch(/OPENAI_API_KEY|PRECIS_KEY/);
    expect(client.args.join(' ')).not.toContain('sk-a-key');
    // The client's own.
    expect(code).toBe(7);
  });

  it('has claude and codex remove it, and removes it from the file of opencode', async () => {
    expect((await precis(['mcp', 'remove', 'claude'])).client.args.slice(0, 2)).toEqual(['mcp', 'remove']);
    expect((await precis(['mcp', 'remove', 'codex'])).client.args).toEqual(['mcp', 'remove', 'precis']);
    const file = join(folder, '.config/opencode/opencode.json');
    await mkdir(join(folder, '.config/opencode'), { recursive: true });
    await writeFile(file, JSON.stringify({ model: 'm', mcp: { precis: {}, other: { type: 'local' } } }));

    expect(await precis(['mcp', 'remove', 'opencode'])).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      model: 'm',
      mcp: { other: { type: 'local' } },
    });
    expect(await precis(['mcp', 'remove', 'opencode'])).toMatchObject({ code: 1 });
    await writeFile(file, '// mine\n{}');
    const { code, err } = await precis(['mcp', 'remove', 'opencode']);
    expect([code, err]).toEqual([2, expect.stringContaining('Remove `mcp.precis` from')]);
    expect(await readFile(file, 'utf8')).toBe('// mine\n{}');
  });

  it.each([
    ['add', 'vim', /vim is not one of claude, codex, opencode/],
    ['put', 'codex', /mcp takes add or remove, not put/],
  ])('says what is wrong with %s %s', async (action, client, says) => {
    const { code, err } = await precis(['mcp', action, client, '--url', HOST]);

    expect(code).toBe(2);
    expect(err).toMatch(says);
  });
});

describe('precis start', () => {
  it('says where another program has its port, or another Precis its folder, and makes nothing', async () => {
    const data = join(folder, 'used');
    await mkdir(data);
    const servers = [createServer(), createServer()] as const;
    await Promise.all([
      once(servers[0].listen(0), 'listening'),
      once(servers[1].listen(join(data, 'lock')), 'listening'),
    ]);
    const { port } = servers[0].address() as AddressInfo;
    const start = (...args: string[]) => precis(['start', '--data', data, ...args]);

    expect((await start('--port', String(port))).err).toBe(
      `Port ${port} of 127.0.0.1 is in use. End what listens there, or name another port by --port.\n`,
    );
    expect((await start('--port', '0')).err).toContain('Another Precis uses this folder.');
    expect((await start('--port', '0', '--host', '256.0.0.1')).err).toMatch(
      /^--host 256\.0\.0\.1 \(or HOST\) and --port 0 /,
    );
    expect(await readdir(join(data, 'storage'))).toEqual([]);
    for (const server of servers) server.close();
  });

  it('ends where another Precis, started in the same moment, has replaced its lock', async () => {
    const data = join(folder, 'raced');
    const lock = join(data, 'lock');
    const started = precis(['start', '--data', data, '--port', '0']);
    await expect.poll(() => existsSync(lock), { timeout: 60_000, interval: 1 }).toBe(true);
    await rm(lock);
    const other = createServer().listen(lock);

    expect(await started).toMatchObject({ code: 1, err: expect.stringContaining('Another Precis uses') });
    expect(existsSync(lock)).toBe(true);
    other.close();
  });

  it('says what to run where a Node can’t run a clone’s sources', async () => {
    const { code, err } = await precis(['start'], { NODE_OPTIONS: '--no-experimental-strip-types' });

    expect(code).toBe(2);
    expect(err).toBe(
      "This Node can't run a clone. Run `npx precis start` in it, which takes the clone's own.\n",
    );
  });

  it('takes an empty host, port or folder as not set', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const { out, err } = await precis(['start', '--data', ''], {
      HOST: '',
      DATA_DIR: folder,
      PORT: String(port),
    });

    expect(out).toContain(`with its data in ${folder}.`);
    expect(err).toContain(`Port ${port} of 127.0.0.1 is in use.`);
    server.close();
  });

  /** Each start loads all that it may need. */
  const VARIABLES: [flag: string, value: string, says: RegExp][] = [
    [
      '--var',
      'UPSTREAM_BASE_URl:sk-secret',
      /^--var takes UPSTREAM_BASE_URL:<value>, not UPSTREAM_BASE_URl:…$/m,
    ],
    ['--var', 'ADMIN_TOKEN=sk-secret', /^--var takes ADMIN_TOKEN:<value>, not ADMIN_TOKEN=…$/m],
    ['--var', 'OTHER:sk-secret', /^There is no variable OTHER: docs\/deploying\.md lists all\.$/m],
    [
      '--var',
      'UPSTREAM_BASE_URL:http://127.0.0.1:9/v1',
      /^UPSTREAM_BASE_URL is the address of this Precis itself/m,
    ],
  ];

  it.each([
    ['--port', 'eighty', /^--port, or PORT, takes 0 to 65,535, not eighty\.$/m],
    ['--prot', '80', /^Unknown option '--prot'\s+usage: precis start/m],
    ...ofTurn(0, VARIABLES),
  ])('says what is wrong with %s %s', async (flag, value, says) => {
    const { code, err } = await precis(['start', '--data', folder, flag, value], { PORT: '9' });

    expect(code).toBe(1);
    expect(err).toMatch(says);
    expect(err).not.toContain('sk-secret');
  });
});

describe('the command line', () => {
  it.each([
    [{ OPENAI_API_KEY: 'sk-secret\n2' }, HOST, /^OPENAI_API_KEY has a line break/],
    [{ PRECIS_ADMIN_TOKEN: '“sk-secret”' }, HOST, /^PRECIS_ADMIN_TOKEN has a line break, or a character/],
    [{}, 'https://me:sk-secret@precis.example', /no user and no password/],
    [{}, 'me:sk-secret@precis.example', /no user and no password/],
  ])('says what is wrong with %j and %s, without what is secret', async (env, url, says) => {
    const { code, err } = await precis(['doctor', '--url', url], env);

    expect(code).toBe(2);
    expect(err).toMatch(says);
    expect(err).not.toContain('sk-secret');
  });

  it.each([
    [['bakup', 'f'], /^There is no command bakup\.$/m],
    [['toString'], /^There is no command toString\.$/m],
    [['why', 'a', 'b'], /^precis why takes at most one argument beside its flags, not 2\.$/m],
    [['why', ''], /^precis why takes at most one argument beside its flags, not 0\.$/m],
    [['verify', 'a.json'], /^precis verify takes 2 arguments beside its flags, not 1\.$/m],
    [['doctor', '--caller', 'ann'], /^precis doctor has no --caller\.$/m],
    [['backup', 'f', '--conversation', 'c'], /^--conversation needs --caller\.$/m],
    [['why', '--user', 'ann'], /^--user needs --conversation\.$/m],
    [['doctor', 'now'], /^precis doctor takes no argument beside its flags, not 1\.$/m],
  ])('says what is wrong with %j, and then how it is used', async (args, says) => {
    const { code, err } = await precis([...args, '--url', HOST]);
    expect(code).toBe(2);
    expect(err).toMatch(says);
    expect(err).toContain('usage: precis demo');
  });
});
