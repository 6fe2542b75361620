import { describe, expect, it, vi } from 'vitest';
import { type Env, readConfig } from '../../../src/config.ts';
import { retiringModels, warnOfRetirements } from '../../../src/request/retiring-models.ts';

const NOW = Date.parse('2026-11-25T00:07:00Z');
const BINDINGS = { REFS: {}, CONVERSATION_MEMORY: {}, USER_MEMORY: {}, TENANT_MEMORY: {} };
const BASE = { PRECIS_SECRET: 'a-secret-for-tests-only', ...BINDINGS };
const summarizedBy = (model: string, others?: string) => ({
  ...BASE,
  SUMMARIZER_BASE_URL: 'http://summarizer.test/v1',
  SUMMARIZER_API_KEY: 'sk-the-key-of-the-summarizer',
  SUMMARIZER_MODEL: model,
  ...(others === undefined ? {} : { SUMMARIZER_MODELS: others }),
});
const envOf = (variables: object) => variables as unknown as Env;
const retiring = (variables: object, now = NOW) => retiringModels(readConfig(envOf(variables)), now);

/** The vendor's answer of each model; any other model is unknown there. */
function vendorSays(models: Readonly<Record<string, unknown>>) {
  return vi.spyOn(globalThis, 'fetch').mockImplementation((input) => {
    const name =
      String(input instanceof Request ? input.url : input)
        .split('/')
        .at(-1) ?? '';
    const known = name in models;
    return Promise.resolve(Response.json(known ? models[name] : {}, { status: known ? 200 : 404 }));
  });
}

describe('models that retire', () => {
  it('are the settings’, within 60 days', async () => {
    vendorSays({});
    expect(await retiring(summarizedBy('gpt-4.1-mini', 'gpt-6-luna,gpt-5-mini'))).toEqual([
      { setting: 'SUMMARIZER_MODEL', model: 'gpt-4.1-mini', on: '2027-01-14', replacement: 'gpt-6-luna' },
      { setting: 'SUMMARIZER_MODELS', model: 'gpt-5-mini', on: '2026-12-11', replacement: 'gpt-6.1-terra' },
    ]);
    expect(await retiring(summarizedBy('gpt-4.1-mini'), Date.parse('2026-11-14'))).toEqual([]);
    const strategy = '{"mode":"summarize","summarizer_model":"gpt-4o"}';
    expect(await retiring({ ...BASE, DEFAULT_MEMORY_STRATEGY: strategy })).toMatchObject([
      { setting: 'DEFAULT_MEMORY_STRATEGY', model: 'gpt-4o' },
    ]);
  });

  it('are reported until they are replaced, also after their last day', async () => {
    vendorSays({});
    expect(await retiring(summarizedBy('gpt-4.1-mini'), Date.parse('2027-02-01'))).toHaveLength(1);
  });

  it.each([
    ['a date', '2026-12-24'],
    ['a time', '2026-12-24T12:00:00Z'],
    ['seconds since the epoch', Date.parse('2026-12-24') / 1_000],
  ])('are those that their server names by %s', async (_, date) => {
    const asked = vendorSays({ 'a-model': { id: 'a-model', shutdown_date: date } });
    expect(await retiring(summarizedBy('a-model'))).toMatchObject([{ model: 'a-model', on: '2026-12-24' }]);
    const headers = new Headers(asked.mock.calls[0]?.[1]?.headers);
    expect(headers.get('authorization')).toBe('Bearer sk-the-key-of-the-summarizer');
  });

  it.each([
    [{}],
    [{ shutdown_date: null }],
    [{ shutdown_date: 'soon' }],
    [{ shutdown_date: {} }],
    [{ shutdown_date: 0 }],
    // Milliseconds, and more than a date can have.
    [{ shutdown_date: Date.parse('2026-12-24') }],
    [{ shutdown_date: 1e15 }],
    [[]],
    ['none'],
  ])('are not the ones of which their server says %j', async (answer) => {
    vendorSays({ 'a-model': answer });
    expect(await retiring(summarizedBy('a-model'))).toEqual([]);
  });
});

describe('the warning of models that retire', () => {
  const warned = vi.fn();
  const warn = async (at: string) => {
    vendorSays({});
    warned.mockClear();
    vi.spyOn(console, 'warn').mockImplementation(warned);
    await warnOfRetirements(envOf(summarizedBy('gpt-4.1-mini')), Date.parse(at));
    return warned.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown);
  };

  it('is logged by the first run of a day', async () => {
    expect(await warn('2026-11-25T00:07:00Z')).toMatchObject([
      {
        level: 'warn',
        code: 'model_retires',
        setting: 'SUMMARIZER_MODEL',
        model: 'gpt-4.1-mini',
        on: '2027-01-14',
        replacement: 'gpt-6-luna',
      },
    ]);
  });

  it.each(['2026-11-25T00:15:00Z', '2026-11-25T12:00:00Z'])('is not logged at %s', async (at) => {
    expect(await warn(at)).toEqual([]);
  });
});
