import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** Not as an import that is typed: its types are a browser's, which other tests do not have. */
const { SignIn } = (await import(new URL('../../../inspector/api/sign-in.ts', import.meta.url).href)) as {
  SignIn: { remembered(whose: 'caller'): { credentials(): Promise<Record<string, string>> } };
};

const MINUTE_MS = 60_000;
/** How long the token of a page lasts. */
const LASTS_MS = 5 * MINUTE_MS;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A sign-in that a tab has kept. @param ahead how fast the browser's clock is, in milliseconds */
function signedIn(ahead: number) {
  const renewals: string[] = [];
  vi.stubGlobal('localStorage', { getItem: () => null });
  vi.stubGlobal('sessionStorage', { getItem: () => 'what the tab has kept' });
  vi.stubGlobal('fetch', async () => {
    const token = `token ${renewals.length}`;
    renewals.push(token);
    const endsAt = Math.floor((Date.now() - ahead + LASTS_MS) / 1_000);
    const until = endsAt + 1_000_000;
    const lasts = { ends_at: endsAt, expires_in: LASTS_MS / 1_000, kept_until: until };
    return Response.json({ object: 'memory.session', token, ...lasts });
  });
  const signIn = SignIn.remembered('caller');
  return { renewals, headers: () => signIn.credentials() };
}

it.each([
  ['right', 0],
  ['an hour fast', 60 * MINUTE_MS],
  ['an hour slow', -60 * MINUTE_MS],
])('renews a token shortly before it ends, by a clock that is %s', async (_, ahead) => {
  const { renewals, headers } = signedIn(ahead);
  expect(await headers()).toEqual({ authorization: 'Bearer token 0' });
  vi.setSystemTime(Date.now() + LASTS_MS - MINUTE_MS);
  expect(await headers()).toEqual({ authorization: 'Bearer token 0' });
  vi.setSystemTime(Date.now() + MINUTE_MS);

  expect(await headers()).toEqual({ authorization: 'Bearer token 1' });
  expect(renewals).toHaveLength(2);
});
