/** What a large body may cost before its key is known to be good. */
import { beforeEach, describe, expect, it } from 'vitest';
import { assistant, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { startApp, watchedBucket } from '../support.ts';

beforeEach(quiet);

const large = 'word '.repeat(220_000);
const small = 'word '.repeat(190_000);
const strategy = { mode: 'trim', token_budget: 1_000 };

/** An app, and a request to it in either protocol. */
function start(variables: object = {}) {
  const app = startApp(watchedBucket().bucket, { VERIFY_KEYS: 'true', ...variables });
  const bodyOf = (path: string, text: string, fields: object) => ({
    model: 'gpt-4.1',
    [path === '/v1/responses' ? 'input' : 'messages']: [user(text), assistant('Yes.'), user('Why?')],
    ...fields,
  });
  const ask = async (path: string, text: string, fields: object = {}, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const sent = app.sent.length;
    const body = JSON.stringify(bodyOf(path, text, { memory_strategy: strategy, ...fields }));
    const response = await app.request(path, { method: 'POST', headers, body });
    return {
      status: response.status,
      counted: response.headers.has('x-memory-tokens-before'),
      warning: response.headers.get('x-memory-warning'),
      code: ((await response.json()) as { error?: { code: string } }).error?.code,
      sent: app.sent.slice(sent).map(({ url }) => url.replace(/^.*\/v1/, '')),
      last: app.sent.at(-1)?.body ?? '',
    };
  };
  return { app, ask, came: (path: string, text: string) => JSON.stringify(bodyOf(path, text, {})) };
}

describe.each(['/v1/chat/completions', '/v1/responses'])('F6: a body of over 1 MiB to %s', (path) => {
  const route = path.slice('/v1'.length);

  it('is counted after the upstream has accepted its key, which is asked about once', async () => {
    const { ask } = start();

    const first = await ask(path, large);
    const second = await ask(path, large);

    expect(first).toMatchObject({ status: 200, counted: true, sent: ['/models', route] });
    expect(second).toMatchObject({ status: 200, counted: true, sent: [route] });
  });

  it.each([401, 403, 404, 500])(
    'is not counted under a key that the upstream does not accept, by %i, and is sent unchanged',
    async (status) => {
      const { app, ask, came } = start();
      app.answer.modelsStatus = status;
      app.answer.status = 401;

      const refused = await ask(path, large, { memory_report: true });

      expect(refused).toMatchObject({ status: 401, counted: false, warning: 'unverified_key' });
      expect(refused.sent).toEqual(['/models', route]);
      expect(refused.last).toBe(came(path, large));
    },
  );

  it('is not counted under a key that strangers share, nor without one', async () => {
    const { ask, came } = start();

    for (const key of ['EMPTY', '']) {
      const shared = await ask(path, large, { memory_report: true }, key);

      expect(shared).toMatchObject({ status: 200, counted: false, warning: 'unverified_key', sent: [route] });
      expect(shared.last).toBe(came(path, large));
    }
  });

  it('is counted where keys are not verified, and under access keys', async () => {
    const access = {
      ACCESS_KEYS: 'one=sk-a-caller-of-the-worker-tests',
      UPSTREAM_API_KEY: 'sk-the-key-of-the-deployer',
    };

    const trusted = await start({ VERIFY_KEYS: 'false' }).ask(path, large, {}, 'EMPTY');
    const named = await start(access).ask(path, large);

    for (const { counted, sent } of [trusted, named]) expect([counted, sent]).toEqual([true, [route]]);
  });

  it('needs no word of the upstream when it is smaller', async () => {
    const { ask } = start();

    expect(await ask(path, small)).toMatchObject({ status: 200, counted: true, sent: [route] });
  });
});

describe.each([
  ['/v1/compact', {}],
  ['/v1/compact', { format: 'opaque' }],
  ['/v1/responses/compact', {}],
])('F6: a body of over 1 MiB to %s %j, which goes nowhere', (path, fields) => {
  const at = (text: string, key?: string) => async (status: number) => {
    const { app, ask } = start();
    app.answer.modelsStatus = status;
    const body = path === '/v1/compact' ? fields : { messages: undefined, input: [user(text), user('Why?')] };
    return ask(path, text, body, key);
  };

  it('is refused under a key that the upstream refuses, and without one', async () => {
    for (const answer of [await at(large)(401), await at(large, 'EMPTY')(200)])
      expect(answer).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it('is not counted while the upstream says nothing', async () => {
    const { status, counted, warning } = await at(large)(500);

    expect([status, counted, warning]).toEqual([200, false, 'unverified_key']);
  });
});
