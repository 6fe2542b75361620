/** Continue's command line, configured by the `config.yaml` of docs/clients.md alone. */
import { beforeEach, describe, it } from 'vitest';
import { ReadingModel } from '../support/clients/reading-model.ts';
import { deploy } from '../support/deployment/deployment.ts';
import { configurationText, LOCAL } from '../support/documents/client-configurations.ts';
import { type Ended, fileOf, KEY_VARIABLE, runClient } from './command-line.ts';
import { BY_HEADER, expectRead, NAMINGS, type Naming, stepsOf } from './reading-run.ts';

const model = new ReadingModel((number, id) => ({
  toolCalls: [{ id, name: 'Read', arguments: JSON.stringify({ filepath: fileOf(number) }) }],
}));
const deployment = deploy({ upstream: { strict: { jsonArguments: true }, responses: model.behaviour } });
beforeEach(() => {
  deployment.upstream.requests.length = 0;
});

/** The published configuration with the deployment, model and headers of a test. */
function config({ path, headers }: Naming): string {
  const named = Object.entries(headers).map(([name, value]) => `        ${name}: '${value}'`);
  return configurationText('continue.yaml')
    .replaceAll('gpt-6-sol', 'gpt-5.4')
    .replace(LOCAL, `${deployment.url}${path}`)
    .replace('secrets.OPENAI_API_KEY', `secrets.${KEY_VARIABLE}`)
    .replace(/^ {4}requestOptions:\n {6}headers:\n.*$/m, () =>
      named.length === 0 ? '' : ['    requestOptions:', '      headers:', ...named].join('\n'),
    );
}

async function read(book: string, naming: Naming, prepare = () => {}): Promise<Ended> {
  model.read(...stepsOf(naming.chapters));
  prepare();
  return runClient({
    client: 'cn',
    args: [
      '--config',
      '../home/.continue/config.yaml',
      '--auto',
      '-p',
      `Read ${book} and tell me the words.`,
    ],
    home: { '.continue/config.yaml': config(naming) },
    env: {
      CONTINUE_TELEMETRY_ENABLED: '0',
      CONTINUE_METRICS_ENABLED: '0',
      CONTINUE_CLI_ENABLE_TELEMETRY: '0',
    },
    book,
    chapters: naming.chapters,
  });
}

describe('Continue', () => {
  it.each(NAMINGS)('reads a long book with the strategy of %s', async (how, naming) => {
    const book = `Continue ${how}`;
    const ended = await read(book, naming);
    await expectRead({ ended, said: ended.stdout.trim(), book, chapters: naming.chapters }, deployment);
  });

  it('sees nothing of what its model looks up within an answer', async () => {
    const book = 'Continue looks up';
    const ended = await read(book, BY_HEADER, () => model.lookUp());
    await expectRead(
      { ended, said: ended.stdout.trim(), book, chapters: BY_HEADER.chapters, lookedUp: true },
      deployment,
    );
  });
});
