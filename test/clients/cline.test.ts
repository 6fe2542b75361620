/** Cline's command line, configured by the `providers.json` of docs/clients.md alone. */
import { beforeEach, describe, it } from 'vitest';
import { ReadingModel } from '../support/clients/reading-model.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';
import { configurationText } from '../support/documents/client-configurations.ts';
import { type Ended, fileOf, runClient } from './command-line.ts';
import { BY_HEADER, expectRead, NAMINGS, type Naming, stepsOf } from './reading-run.ts';

/** Cline leaves the middle out of what is longer than 8,000 characters. */
const AROUND_THE_WORD = { start_line: 100, end_line: 185 };

const model = new ReadingModel((number, id) => ({
  toolCalls: [
    {
      id,
      name: 'read_files',
      arguments: JSON.stringify({ files: [{ path: fileOf(number), ...AROUND_THE_WORD }] }),
    },
  ],
}));
const deployment = deploy({ upstream: { strict: { jsonArguments: true }, chat: model.chatBehaviour } });
beforeEach(() => {
  deployment.upstream.requests.length = 0;
});

interface Providers {
  readonly providers: { readonly 'openai-compatible': { readonly settings: object } };
}
const published = JSON.parse(configurationText('cline.json')) as Providers;

/** The published configuration with the deployment, model, key and headers of a test. */
function config({ path, headers }: Naming): object {
  const provider = published.providers['openai-compatible'];
  const settings = {
    ...provider.settings,
    apiKey: KEY,
    model: 'gpt-5.4',
    baseUrl: `${deployment.url}${path}`,
    headers,
  };
  return { ...published, providers: { 'openai-compatible': { ...provider, settings } } };
}

async function read(book: string, naming: Naming, prepare = () => {}): Promise<Ended> {
  model.read(...stepsOf(naming.chapters));
  prepare();
  return runClient({
    client: 'cline',
    args: ['--json', '-P', 'openai-compatible', `Read ${book} and tell me the words.`],
    home: {
      '.cline/data/settings/providers.json': JSON.stringify(config(naming)),
      '.cline/data/settings/global-settings.json': JSON.stringify({ telemetryOptOut: true }),
    },
    // Its feature flags are asked for all the same, but not in tests.
    env: { CLINE_NO_AUTO_UPDATE: '1', IS_TEST: 'true' },
    book,
    chapters: naming.chapters,
  });
}

/** The answer, in the last of the events that it prints. */
const saidIn = ({ stdout }: Ended): string => JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}').text;

describe('Cline', () => {
  it.each(NAMINGS)('reads a long book with the strategy of %s', async (how, { chapters, ...naming }) => {
    const book = `Cline ${how}`;
    // It reads a third of each chapter.
    const more = Math.ceil(chapters * 1.7);
    const ended = await read(book, { ...naming, chapters: more });
    await expectRead({ ended, said: saidIn(ended), book, chapters: more }, deployment);
  });

  it('sees nothing of what its model looks up within an answer', async () => {
    const book = 'Cline looks up';
    const chapters = 17;
    const ended = await read(book, { ...BY_HEADER, chapters }, () => model.lookUp());
    await expectRead({ ended, said: saidIn(ended), book, chapters, lookedUp: true }, deployment);
  });
});
