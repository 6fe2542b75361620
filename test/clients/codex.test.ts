/** Codex, configured by the `config.toml` of docs/clients.md alone, as its users do. */
import { beforeEach, describe, expect, it } from 'vitest';
import { hasTools, type Reader, ReadingModel } from '../support/clients/reading-model.ts';
import { deploy } from '../support/deployment/deployment.ts';
import { configurationText, LOCAL } from '../support/documents/client-configurations.ts';
import { type Ended, fileOf, KEY_VARIABLE, lastMessage, runClient } from './command-line.ts';
import { BY_HEADER, expectRead, NAMINGS, type Naming, stepsOf } from './reading-run.ts';

/** Tokens that a command may print. The clients truncate longer output. */
const LONGEST_OUTPUT = 20_000;

/** By a function or by a script, depending on what Codex offers for the model. */
const reader: Reader = (number, id, { tools }) => {
  const command = JSON.stringify({ cmd: `cat ${fileOf(number)}`, max_output_tokens: LONGEST_OUTPUT });
  if (Array.isArray(tools) && tools.some(({ name }) => name === 'exec_command'))
    return { toolCalls: [{ id, name: 'exec_command', arguments: command }] };
  const script = [
    `// @exec: {"max_output_tokens": ${LONGEST_OUTPUT}}`,
    `notify('reading ${number}');`,
    `text((await tools.exec_command(${command})).output);`,
  ].join('\n');
  return { customCalls: [{ id, name: 'exec', arguments: script }] };
};

const model = new ReadingModel(reader);
const deployment = deploy({ upstream: { strict: { jsonArguments: true }, responses: model.behaviour } });
beforeEach(() => {
  deployment.upstream.requests.length = 0;
});

/** A table of TOML on one line. */
const table = (values: Naming['headers']): string =>
  `{ ${Object.entries(values)
    .map(([header, value]) => `"${header}" = '${value}'`)
    .join(', ')} }`;

/**
 * The published configuration with the deployment, model and headers of a test, and without what
 * would need a network or a person.
 *
 * @param root lines before all tables @param provider lines for the provider
 */
function config(name: string, { path, headers }: Naming, { root = '', provider = '' } = {}): string {
  const published = configurationText('codex.toml')
    .replace('gpt-6-sol', name)
    .replace(LOCAL, `${deployment.url}${path}`)
    .replace('OPENAI_API_KEY', KEY_VARIABLE)
    .replace(/^http_headers = .*$/m, () => `http_headers = ${table(headers)}`);
  return `
${root}
approval_policy = "never"
sandbox_mode = "danger-full-access"
tool_output_token_limit = ${LONGEST_OUTPUT}
check_for_update_on_startup = false
${published}
${provider}

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"

[features]
plugins = false
apps = false
remote_plugin = false
`;
}

async function read(book: string, chapters: number, toml: string, prepare = () => {}): Promise<Ended> {
  model.read(...stepsOf(chapters));
  prepare();
  const args = ['exec', '--skip-git-repo-check', '--json', `Read ${book} and tell me the words.`];
  return runClient({ client: 'codex', args, home: { '.codex/config.toml': toml }, book, chapters });
}

describe.each([
  ['by functions', 'gpt-5.4'],
  ['by scripts', 'gpt-5.6-sol'],
])('Codex with a model that works %s', (way, name) => {
  it.each(NAMINGS)('reads a long book with the strategy of %s', async (how, naming) => {
    const book = `Codex ${way} ${how}`;
    const ended = await read(book, naming.chapters, config(name, naming));
    await expectRead({ ended, said: lastMessage(ended), book, chapters: naming.chapters }, deployment);
  });
});

describe('Codex', () => {
  it('sees nothing of what its model looks up within an answer', async () => {
    const book = 'Codex looks up';
    const { chapters } = BY_HEADER;
    const ended = await read(book, chapters, config('gpt-5.4', BY_HEADER), () => model.lookUp());
    await expectRead({ ended, said: lastMessage(ended), book, chapters, lookedUp: true }, deployment);
  });

  it('goes on over HTTP when it asks for a WebSocket and Precis serves none', async () => {
    const book = 'Codex over a socket';
    const { chapters } = BY_HEADER;
    const toml = config('gpt-5.4', BY_HEADER, { provider: 'supports_websockets = true' });
    const ended = await read(book, chapters, toml);
    expect(ended.stderr).toContain('WebSocket');
    await expectRead({ ended, said: lastMessage(ended), book, chapters }, deployment);
  });

  it.each([
    ['must summarise its conversation without a strategy', { 'x-memory-strategy': 'none' }, true],
    ['need not with one', BY_HEADER.headers, false],
  ])('%s, since the usage that it sees is the view’s', async (what, headers, summarises) => {
    const root = 'model_auto_compact_token_limit = 50_000';
    const book = `Codex ${what}`;
    const ended = await read(
      book,
      BY_HEADER.chapters,
      config('gpt-5.4', { ...BY_HEADER, headers }, { root }),
    );
    expect(ended.code, ended.stderr).toBe(0);
    // Its own compaction is the only request of a run without tools.
    const asked = deployment.upstream.requests.filter(({ path }) => path.endsWith('/responses'));
    expect(asked.some(({ body }) => !hasTools(body))).toBe(summarises);
  });
});
