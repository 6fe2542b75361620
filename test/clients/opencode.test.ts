/** opencode, configured by the `opencode.json` of docs/clients.md alone, as its users do. */
import { beforeEach, describe, it } from 'vitest';
import { ReadingModel } from '../support/clients/reading-model.ts';
import { deploy } from '../support/deployment/deployment.ts';
import { configurationText } from '../support/documents/client-configurations.ts';
import { type Ended, fileOf, KEY_VARIABLE, OPENCODE_ALONE, runClient } from './command-line.ts';
import { BY_HEADER, expectRead, NAMINGS, type Naming, stepsOf } from './reading-run.ts';

const model = new ReadingModel((number, id) => ({
  toolCalls: [{ id, name: 'read', arguments: JSON.stringify({ filePath: fileOf(number) }) }],
}));
const deployment = deploy({ upstream: { strict: { jsonArguments: true }, responses: model.behaviour } });
beforeEach(() => {
  deployment.upstream.requests.length = 0;
});

const published = JSON.parse(configurationText('opencode.json')) as {
  provider: { openai: { options: object } };
};

/** The published configuration with the deployment, model and headers of a test. */
const config = ({ path, headers }: Naming): object => ({
  ...published,
  ...OPENCODE_ALONE.config,
  provider: {
    openai: {
      options: {
        ...published.provider.openai.options,
        baseURL: `${deployment.url}${path}`,
        apiKey: `{env:${KEY_VARIABLE}}`,
        headers,
      },
    },
  },
});

async function read(book: string, naming: Naming, prepare = () => {}): Promise<Ended> {
  model.read(...stepsOf(naming.chapters));
  prepare();
  return runClient({
    client: 'opencode',
    args: ['run', `Read ${book} and tell me the words.`],
    home: {
      '.config/opencode/opencode.json': JSON.stringify(config(naming)),
      ...OPENCODE_ALONE.home,
    },
    env: OPENCODE_ALONE.env,
    book,
    chapters: naming.chapters,
  });
}

describe('opencode', () => {
  it.each(NAMINGS)('reads a long book with the strategy of %s', async (how, naming) => {
    const book = `opencode ${how}`;
    const ended = await read(book, naming);
    await expectRead({ ended, said: ended.stdout.trim(), book, chapters: naming.chapters }, deployment);
  });

  it('sees nothing of what its model looks up within an answer', async () => {
    const book = 'opencode looks up';
    const { chapters } = BY_HEADER;
    const ended = await read(book, BY_HEADER, () => model.lookUp());
    await expectRead({ ended, said: ended.stdout.trim(), book, chapters, lookedUp: true }, deployment);
  });
});
