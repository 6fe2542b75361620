/** `precis run` and `precis mcp` with the clients themselves, which nobody has configured. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ReadingModel } from '../support/clients/reading-model.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';
import { fileOf, lastMessage, OPENCODE_ALONE, PRECIS, runClient } from './command-line.ts';
import { type ClientName, executable } from './installed.ts';
import { expectRead, NAMINGS, stepsOf } from './reading-run.ts';

const model = new ReadingModel((number, id, { tools }) => {
  const isCodex = JSON.stringify(tools).includes('"exec_command"');
  const [name, input] = isCodex
    ? ['exec_command', { cmd: `cat ${fileOf(number)}`, max_output_tokens: 20_000 }]
    : ['read', { filePath: fileOf(number) }];
  return { toolCalls: [{ id, name, arguments: JSON.stringify(input) }] };
});
const deployment = deploy({ upstream: { strict: { jsonArguments: true }, responses: model.behaviour } });
beforeEach(() => {
  deployment.upstream.requests.length = 0;
});

/** What a test of Codex needs beside `precis run`: no questions, and no other host. */
const CODEX = `
model = "gpt-5.4"
approval_policy = "never"
sandbox_mode = "danger-full-access"
tool_output_token_limit = 20000
check_for_update_on_startup = false
analytics.enabled = false
feedback.enabled = false
otel.exporter = "none"
features.plugins = false
features.apps = false
features.remote_plugin = false
`;

describe('precis run', () => {
  it.each<[ClientName, string[], Record<string, string>, Record<string, string>]>([
    ['codex', ['exec', '--skip-git-repo-check', '--json'], { '.codex/config.toml': CODEX }, {}],
    [
      'opencode',
      ['run'],
      {
        '.config/opencode/opencode.json': JSON.stringify(OPENCODE_ALONE.config),
        ...OPENCODE_ALONE.home,
      },
      OPENCODE_ALONE.env,
    ],
  ])('leads %s through the agent `coding`', async (client, args, home, env) => {
    const book = `${client} by precis run`;
    const chapters = NAMINGS[0]?.[1].chapters ?? 0;
    model.read(...stepsOf(chapters));
    const ended = await runClient({
      client,
      through: deployment.url,
      args: [...args, `Read ${book} and tell me the words.`],
      home,
      env: { ...env, OPENAI_API_KEY: KEY },
      book,
      chapters,
    });
    const said = client === 'codex' ? lastMessage(ended) : ended.stdout.trim();
    await expectRead({ ended, said, book, chapters }, deployment);
  });
});

describe('precis mcp', () => {
  it.each<[ClientName, string]>([
    ['codex', '.codex/config.toml'],
    ['opencode', '.config/opencode/opencode.jsonc'],
  ])('has %s add the server with the name of the key’s variable, and remove it', async (client, path) => {
    const home = await mkdtemp(join(tmpdir(), 'precis-mcp-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    await mkdir(join(home, dirname(path)), { recursive: true });
    const precis = (...args: string[]) =>
      spawnSync(process.execPath, [PRECIS, 'mcp', ...args], {
        env: {
          PATH: [dirname(executable(client)), process.env.PATH].join(delimiter),
          HOME: home,
          XDG_CONFIG_HOME: join(home, '.config'),
          CODEX_HOME: join(home, '.codex'),
          OPENAI_API_KEY: KEY,
        },
        encoding: 'utf8',
      });
    const config = async () => (existsSync(join(home, path)) ? await readFile(join(home, path), 'utf8') : '');

    const added = precis('add', client, '--url', deployment.url);
    expect([added.status, added.stderr]).toEqual([0, expect.anything()]);
    expect(await config()).toContain(`${deployment.url}/mcp`);
    expect(await config()).toContain('OPENAI_API_KEY');
    expect(await config()).not.toContain(KEY);

    expect(precis('remove', client).status).toBe(0);
    expect(await config()).not.toContain('precis');
  });
});
