/** Sign-ins of the inspector: what a browser keeps in place of a key, and what that opens. */
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { session as sessionSchema } from '../../../src/reference/schemas/stored.ts';
import { startApp } from '../support.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const PATHS = { caller: '/v1/session', operator: '/v1/admin/session' } as const;
const READS = { caller: '/v1/conversations', operator: '/v1/admin/callers' } as const;
type Whose = keyof typeof PATHS;

let made = 0;

/** All tests share the register, so each is later than the one before. */
let clock = Date.now();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  clock += 30 * DAY_MS;
  vi.setSystemTime(clock);
});
afterEach(() => {
  vi.useRealTimers();
});

function deployment(variables: Partial<Env> = {}) {
  const key = `sk-the-key-of-a-caller-who-signs-in-${made++}`;
  const started = startApp(env.REFS, { ADMIN_TOKEN, ...variables }, key);
  vi.mocked(globalThis.fetch).mockImplementation(async () => Response.json({ data: [] }));
  const secrets = { caller: key, operator: ADMIN_TOKEN };
  const ask = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    started.request(path, {
      method,
      // An empty one is none; without it the key is added.
      headers: { authorization: '', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const signIn = async (whose: Whose, keep: 'tab' | 'browser', more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${secrets[whose]}`, ...more };
    const answer = await ask('POST', PATHS[whose], headers, { keep });
    expect(answer.status).toBe(200);
    const cookie = answer.headers.get('set-cookie');
    return { ...sessionSchema.parse(await answer.json()), cookie };
  };
  const read = async (whose: Whose, token: string) =>
    (await ask('GET', READS[whose], { authorization: `Bearer ${token}` })).status;
  return { ...started, key, secrets, ask, signIn, read };
}

/** The cookie as a browser sends it back. */
function sentBack(setCookie: string | null): string {
  return (setCookie ?? '').split(';')[0] ?? '';
}

async function codeOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { error: { code: string } }).error.code;
}

describe.each(['caller', 'operator'] as const)('a sign-in of the %s', (whose) => {
  const other = whose === 'caller' ? 'operator' : 'caller';

  it('opens its routes in place of the secret, and none of the others', async () => {
    const { signIn, read, ask } = deployment();
    const { token } = await signIn(whose, 'tab');

    expect(await read(whose, token)).toBe(200);
    expect(await read(other, token)).toBe(401);
    const chat = await ask('POST', '/v1/chat/completions', { authorization: `Bearer ${token}` }, {});
    expect(chat.status).toBe(401);
    expect(await chat.json()).toMatchObject({
      error: { code: 'session_ended', message: expect.stringContaining('opens no such route') },
    });
    const models = await ask('GET', '/v1/models', { authorization: `Bearer ${token}` });
    expect(models.status).toBe(401);
  });

  it('shows the secret neither in what the browser keeps nor in the answer', async () => {
    const { signIn, secrets } = deployment();
    for (const keep of ['tab', 'browser'] as const) {
      const answer = JSON.stringify(await signIn(whose, keep));
      const decoded = [...answer.matchAll(/precis-session-\w+-([\w-]+)/g)].map(([, text = '']) =>
        Buffer.from(text, 'base64url').toString('latin1'),
      );
      expect(decoded.length).toBe(2);
      for (const text of [answer, ...decoded]) expect(text).not.toContain(secrets[whose]);
    }
  });

  it('ends after five minutes, and is renewed by what the tab keeps', async () => {
    const { signIn, read, ask } = deployment();
    const { token, kept = '', expires_in } = await signIn(whose, 'tab');
    expect(expires_in).toBe(300);
    vi.setSystemTime(Date.now() + 5 * MINUTE_MS);
    expect(await read(whose, token)).toBe(401);

    const answer = await ask('POST', PATHS[whose], { 'x-precis-session': kept });
    const renewed = sessionSchema.parse(await answer.json());
    expect(renewed.kept).toBeUndefined();
    expect(await read(whose, renewed.token)).toBe(200);
    expect(await read(whose, kept)).toBe(401);
    expect((await ask('POST', PATHS[other], { 'x-precis-session': kept })).status).toBe(401);
    vi.setSystemTime(Date.now() + DAY_MS / 2);
    expect(await codeOf(await ask('POST', PATHS[whose], { 'x-precis-session': kept }))).toBe('session_ended');
  });

  it('is renewed by a cookie that only its own route gets, with the word that belongs to it', async () => {
    const { signIn, read, ask } = deployment();
    const { cookie, csrf = '', kept } = await signIn(whose, 'browser');
    expect(kept).toBeUndefined();
    expect(cookie).toMatch(
      new RegExp(
        `^precis-session=precis-session-kept-[\\w-]+; Max-Age=604800; Path=${PATHS[whose]}; HttpOnly; `,
      ),
    );
    expect(cookie).toContain('SameSite=Strict');
    const sent = { cookie: sentBack(cookie) };
    vi.setSystemTime(Date.now() + 6 * DAY_MS);

    const answer = await ask('POST', PATHS[whose], { ...sent, 'x-precis-csrf': csrf });
    expect(await read(whose, sessionSchema.parse(await answer.json()).token)).toBe(200);
    for (const wrong of [sent, { ...sent, 'x-precis-csrf': crypto.randomUUID() }])
      expect(await codeOf(await ask('POST', PATHS[whose], wrong))).toBe('forbidden_origin');
    const elsewhere = { ...sent, 'x-precis-csrf': csrf, 'sec-fetch-site': 'cross-site' };
    expect(await codeOf(await ask('POST', PATHS[whose], elsewhere))).toBe('forbidden_origin');
    // The text of the cookie is no text of a tab.
    const text = sent.cookie.slice('precis-session='.length);
    expect(await codeOf(await ask('POST', PATHS[whose], { 'x-precis-session': text }))).toBe('session_ended');
    vi.setSystemTime(Date.now() + DAY_MS);
    const late = await ask('POST', PATHS[whose], { ...sent, 'x-precis-csrf': csrf });
    expect([late.status, await codeOf(late)]).toEqual([401, 'session_ended']);
  });

  it('ends everywhere, in five minutes at most, and others go on', async () => {
    const { signIn, read, ask } = deployment();
    const stranger = deployment();
    const here = await signIn(whose, 'browser');
    const there = await signIn(whose, 'tab');
    const strangers = await stranger.signIn('caller', 'tab');
    vi.setSystemTime(Date.now() + 1_000);
    const gone = await ask('DELETE', `${PATHS[whose]}?everywhere=true`, {
      authorization: `Bearer ${here.token}`,
    });
    expect(await gone.json()).toEqual({ object: 'memory.session.deleted', everywhere: true, deleted: true });
    expect(gone.headers.get('set-cookie')).toMatch(/^precis-session=; Max-Age=0; /);

    const renewals = [
      { cookie: sentBack(here.cookie), 'x-precis-csrf': here.csrf ?? '' },
      { 'x-precis-session': there.kept ?? '' },
    ];
    for (const headers of renewals)
      expect(await codeOf(await ask('POST', PATHS[whose], headers))).toBe('session_ended');
    vi.setSystemTime(Date.now() + 5 * MINUTE_MS);
    expect(await read(whose, there.token)).toBe(401);
    const renewed = await stranger.ask('POST', PATHS.caller, { 'x-precis-session': strangers.kept ?? '' });
    expect(renewed.status).toBe(200);
    const again = await signIn(whose, 'tab');
    expect((await ask('POST', PATHS[whose], { 'x-precis-session': again.kept ?? '' })).status).toBe(200);
  });

  it('ends here alone otherwise', async () => {
    const { signIn, ask } = deployment();
    const here = await signIn(whose, 'browser');
    const there = await signIn(whose, 'tab');
    const gone = await ask('DELETE', PATHS[whose], { authorization: `Bearer ${here.token}` });
    expect(await gone.json()).toMatchObject({ everywhere: false });

    expect((await ask('POST', PATHS[whose], { 'x-precis-session': there.kept ?? '' })).status).toBe(200);
  });

  it('refuses what is damaged, forged, or of another deployment', async () => {
    const { signIn, read, ask } = deployment();
    const { token, kept = '' } = await signIn(whose, 'tab');
    const elsewhere = deployment({ PRECIS_SECRET: 'another secret, as long as one must be' });
    expect(await elsewhere.read(whose, token)).toBe(401);
    for (const forged of [
      'precis-session-page-',
      'precis-session-page-AgAA',
      `${token.slice(0, -2)}AA`,
      `${token}=`,
    ])
      expect(await read(whose, forged)).toBe(401);
    for (const forged of ['', 'x', `${kept.slice(0, -2)}AA`, kept.replace('kept', 'page')])
      expect((await ask('POST', PATHS[whose], { 'x-precis-session': forged })).status).toBe(401);
  });

  it('wants to know where to keep it', async () => {
    const { ask, secrets } = deployment();
    const headers = { authorization: `Bearer ${secrets[whose]}` };
    for (const body of [{}, { keep: 'for ever' }, []]) {
      const answer = await ask('POST', PATHS[whose], headers, body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'keep' } });
    }
    const answer = await ask('DELETE', `${PATHS[whose]}?everywhere=yes`, headers);
    expect(await answer.json()).toMatchObject({ error: { param: 'everywhere' } });
  });
});

it('begins only with a key that the upstream accepts, or the operator’s token', async () => {
  const { ask, key } = deployment({ VERIFY_KEYS: 'true' });
  vi.mocked(globalThis.fetch).mockImplementation(async () => Response.json({ error: {} }, { status: 401 }));
  const body = { keep: 'tab' };
  expect((await ask('POST', PATHS.caller, { authorization: `Bearer ${key}` }, body)).status).toBe(401);
  expect((await ask('POST', PATHS.caller, {}, body)).status).toBe(401);
  expect((await ask('POST', PATHS.operator, { authorization: `Bearer ${key}` }, body)).status).toBe(401);
  const without = deployment({ ADMIN_TOKEN: undefined } as unknown as Partial<Env>);
  const answer = await without.ask('POST', PATHS.operator, { authorization: `Bearer ${ADMIN_TOKEN}` }, body);
  expect(answer.status).toBe(404);
});

it('holds a key of Anthropic’s in its own header', async () => {
  const { ask } = deployment({ VERIFY_KEYS: 'true' });
  const key = `sk-ant-the-key-of-a-caller-who-signs-in-${made++}`;
  const asked = vi.mocked(globalThis.fetch);
  const answer = await ask(
    'POST',
    PATHS.caller,
    { 'x-api-key': key, authorization: `Bearer ${key}` },
    { keep: 'tab' },
  );
  const { token } = sessionSchema.parse(await answer.json());
  expect((await ask('GET', READS.caller, { authorization: `Bearer ${token}` })).status).toBe(200);
  const requests = asked.mock.calls.map(([input, init]) => new Request(input, init));
  expect(requests.map(({ headers }) => headers.get('x-api-key'))).toEqual([key]);
  expect(requests.map(({ headers }) => headers.get('authorization'))).not.toContain(`Bearer ${token}`);
});
