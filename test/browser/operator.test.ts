/** The operator's screen, with a deployment of callers with access keys, and with others. */
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectShownWell, inspect, signOut } from '../support/browser/browser.ts';
import { untilDayLasts } from '../support/day.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';
import { ofTurn } from '../support/deployment/in-turn.ts';
import { until } from '../support/deployment/polling.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const ALICE = 'the-access-key-of-alice-0001';
const SECRET = 'words that no operator reads';
const MODEL = 'gpt-4.1-mini';

const CALLER_LIMITS = JSON.stringify({
  alice: { usd_per_day: 5, requests_per_minute: 60, models: ['gpt-6*', MODEL] },
});

const precis = deploy({
  vars: {
    ADMIN_TOKEN,
    ACCESS_KEYS: `alice=${ALICE},bob=the-access-key-of-bob-000001`,
    UPSTREAM_API_KEY: KEY,
    CALLER_LIMITS,
  },
});
const ownKeys = deploy({ vars: { ADMIN_TOKEN } });
const withoutOperator = deploy();
const { open } = inspect(precis);
const { open: openOwnKeys } = inspect(ownKeys);
const { open: openWithout } = inspect(withoutOperator);

const ask = (key: string, url = precis.url): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-conversation-id': 'a-conversation' },
    body: JSON.stringify({
      model: MODEL,
      memory_strategy: { mode: 'compact', token_budget: 4_000, archive: true },
      messages: [{ role: 'user', content: SECRET }],
    }),
  });

async function enterToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('ADMIN_TOKEN').fill(token);
  await page.getByRole('button', { name: 'Open' }).click();
}

async function openScreen(expected: readonly number[] = []): Promise<Page> {
  const page = await open({ at: '#/operator', expected });
  await enterToken(page, ADMIN_TOKEN);
  await expect.poll(() => page.locator('.caller').count()).toBeGreaterThan(1);
  return page;
}

interface Counted {
  readonly requests: number;
}

const cardOf = (page: Page, name: string) =>
  page.locator('.caller').filter({ has: page.getByText(name, { exact: true }) });

describe('a deployment with access keys', () => {
  beforeAll(async () => {
    await untilDayLasts(60_000);
    const answer = await ask(ALICE);
    expect(answer.status, await answer.text()).toBe(200);
    // It is counted after its answer, and the screen reads that once.
    await until('the request is counted', async () => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const read = async (path: string) =>
        (await fetch(`${precis.url}/v1/admin/${path}`, { headers })).json();
      const { today } = (await read('callers/alice')) as { today: Record<'requests' | 'counted', Counted> };
      const { total } = (await read('overview?days=7')) as { total: Counted };
      return [today.requests, today.counted, total].every((one) => one?.requests === 1);
    });
  });

  it('shows its parts and its callers, and no contents', async () => {
    const page = await openScreen();
    const parts = page.getByRole('region', { name: 'Parts of the deployment' });
    await expect.poll(() => parts.innerText()).toMatch(/bucket\s+works/);
    expect(await parts.innerText()).toMatch(/metrics\s+off\s+METRICS_TOKEN is not set/);
    expect(await page.title()).toBe('Operator · Precis');
    await expect.poll(() => cardOf(page, 'alice').innerText()).toMatch(/1 request, <\$0\.01, \d+ tokens/);
    const alice = await cardOf(page, 'alice').innerText();
    expect(alice).toMatch(/<\$0\.01 of \$5\.00 a day\n+60 requests a minute\n+only gpt-6\*, gpt-4\.1-mini/);
    expect(alice).toContain('today (UTC)');
    expect(await cardOf(page, 'bob').innerText()).toMatch(/key in ACCESS_KEYS[\s\S]*none[\s\S]*never/);
    await expectShownWell(page, 'operator');
    expect(await page.locator('.caller strong').allInnerTexts()).toEqual(['alice', 'bob']);
    await page.getByLabel('Sort by').selectOption('name');

    expect(await page.locator('body').innerText()).not.toContain(SECRET);
    expect(await page.locator('body').innerText()).not.toContain('a-conversation');
  });

  it('begins with what all callers have spent, and what needs attention', async () => {
    const page = await openScreen([503]);
    const all = page.getByRole('region', { name: 'All callers together' });
    await expect.poll(() => all.locator('.forwarded p').innerText()).toMatch(/^This week \(.+, UTC\): /);
    expect(await all.innerText()).toMatch(/active in these days, by \d+ calls of storage/);
    expect(await all.getByRole('region', { name: 'Callers who spend most' }).innerText()).toMatch(
      /alice\s+\d+\s+\d+\s+<?\$0\.\d+/,
    );
    const alerts = page.getByRole('list', { name: 'What needs attention' });
    expect(await alerts.innerText()).toMatch(/gpt-4\.1-mini (?:retires in|was switched off)/);
    await page.getByRole('link', { name: 'alice', exact: true }).click();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('caller-alice');
    expect(new URL(page.url()).hash).toBe('#/operator?show=caller-alice');
    await alerts.getByRole('link', { name: 'See the models' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('models');
    await page.goBack();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('caller-alice');
    const here = await open({ at: '#/operator?show=parts' });
    await enterToken(here, ADMIN_TOKEN);
    await expect.poll(() => here.evaluate('document.activeElement.id')).toBe('parts');
    await page.route('**/v1/admin/overview?days=1', (route) => route.fulfill({ status: 503 }));
    await all.getByText('today').click();
    const again = all.getByRole('button', { name: 'Try again' });
    await expect.poll(() => again.count()).toBe(1);
    expect(await all.innerText()).toMatch(
      /The sums of these days could not be read\.[\s\S]*What follows was read earlier\./,
    );
    await page.unroute('**/v1/admin/overview?days=1');
    await again.click();

    await expect.poll(() => all.locator('.forwarded p').innerText()).toMatch(/^Today /);
    expect(await page.locator('body').innerText()).not.toContain('a-conversation');
  });

  it('has a caller disabled, and enabled again', async () => {
    const page = await openScreen();
    await page.getByRole('button', { name: 'Disable alice' }).click();
    await expect.poll(() => cardOf(page, 'alice').locator('.status').innerText()).toBe('disabled');
    // Her limits are counted, so her own object refuses her at once.
    const refused = await ask(ALICE);
    expect(await refused.json()).toMatchObject({ error: { code: 'caller_disabled' } });
    await page.getByRole('button', { name: 'Enable alice' }).click();
    await expect.poll(() => cardOf(page, 'alice').locator('.status').innerText()).toBe('active');

    expect(await page.getByRole('status').allInnerTexts()).toContain('alice is enabled.');
  });

  it('has the limits of a caller set, and the configuration’s again', async () => {
    const page = await openScreen([400]);
    await page.getByRole('button', { name: 'Limits of alice' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Dollars a day').inputValue()).toBe('5');
    await expectShownWell(page, 'operator-limits');
    await dialog.getByLabel('Dollars a month').fill('2000000');
    await dialog.getByRole('button', { name: 'Set the limits' }).click();
    await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('usd_per_month');
    await dialog.getByLabel('Dollars a month').fill('80.5');
    await dialog.getByLabel('Requests a minute').fill('');
    await dialog.getByLabel('Allowed models').fill('none');
    await dialog.getByRole('button', { name: 'Set the limits' }).click();
    await expect
      .poll(() => cardOf(page, 'alice').innerText())
      .toMatch(/set here[\s\S]*of \$5\.00 a day\n+<\$0\.01 of \$80\.50 a month\n+no model/);
    expect(await dialog.count()).toBe(0);
    await page.getByRole('button', { name: 'Limits of alice' }).click();
    await dialog.getByRole('button', { name: 'Reset to CALLER_LIMITS' }).click();

    await expect.poll(() => cardOf(page, 'alice').innerText()).toContain('60 requests a minute');
  });

  it('has a caller added, whose key is shown once, and deleted by its name', async () => {
    const page = await openScreen([404]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const name = page.getByLabel('Name of a new caller');
    await name.fill('bob');
    await page.getByRole('button', { name: 'Add, and make a key' }).click();
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('already');
    await name.fill('carol');
    await page.getByRole('button', { name: 'Add, and make a key' }).click();
    const made = page.getByRole('region', { name: 'The key of carol' });
    const key = await made.locator('pre').innerText();
    expect(key).toMatch(/^precis-[\w-]{43}$/);
    await expect.poll(() => cardOf(page, 'carol').count()).toBe(1);
    await made.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => made.getByRole('status').innerText()).toBe('Copied.');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await expectShownWell(page, 'operator-key');
    await made.getByRole('button', { name: 'Hide it' }).click();
    expect(await page.content()).not.toContain(key);

    await page.getByRole('button', { name: 'Delete carol' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Delete the caller' });
    await dialog.getByRole('textbox').fill('caro');
    expect(await confirm.isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    await expectShownWell(page, 'operator-delete');
    await dialog.getByRole('textbox').fill('carol');
    await confirm.click();

    await expect.poll(() => cardOf(page, 'carol').count()).toBe(0);
    expect(await page.getByRole('status').allInnerTexts()).toContainEqual(
      expect.stringContaining('carol was deleted'),
    );
  });

  it('says what of a caller of the configuration stays when it is deleted, and adds it again', async () => {
    const page = await openScreen();
    await page.getByRole('button', { name: 'Delete bob' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('bob');
    await page.keyboard.press('Enter');
    await expect.poll(() => cardOf(page, 'bob').locator('.status').innerText()).toBe('deleted');
    await page.getByRole('button', { name: 'Add again bob' }).click();

    await expect.poll(() => cardOf(page, 'bob').locator('.status').innerText()).toBe('active');
  });
});

describe('the token', () => {
  it('is refused in words, and goes to the operator’s routes alone', async () => {
    const page = await open({ key: ALICE, expected: [401] });
    const asked: Request[] = [];
    page.on('request', (request) => asked.push(request));
    await page.evaluate("location.hash = '#/operator'");
    await enterToken(page, 'a-wrong-token-of-an-operator');
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toContain('does not accept this ADMIN_TOKEN');
    await expectShownWell(page, 'operator-refused');
    await enterToken(page, ADMIN_TOKEN);
    await expect.poll(() => page.locator('.caller').count()).toBeGreaterThan(1);
    for (const screen of ['deployment', 'conversations', 'operator']) {
      await page.evaluate(`location.hash = '#/${screen}'`);
      await expect.poll(() => page.locator('main h1').innerText()).not.toBe('');
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
    }
    await expect.poll(() => page.locator('.caller').count()).toBeGreaterThan(1);
    const bearers = (ofOperator: boolean) => [
      ...new Set(
        asked
          .filter((one) => new URL(one.url()).pathname.startsWith('/v1/admin/') === ofOperator)
          .map((one) => one.headers().authorization),
      ),
    ];
    expect(bearers(true)).toEqual(['Bearer a-wrong-token-of-an-operator', `Bearer ${ADMIN_TOKEN}`]);
    expect(bearers(false)).not.toContain(`Bearer ${ADMIN_TOKEN}`);
    expect(bearers(false)).toContain(`Bearer ${ALICE}`);
    expect(asked.filter((one) => one.url().includes(ADMIN_TOKEN))).toEqual([]);
    const kept =
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])';
    expect(await page.evaluate(kept)).not.toContain(ADMIN_TOKEN);
    expect(await page.content()).not.toContain(ADMIN_TOKEN);
    await signOut(page, 'Sign out here', 'Sign out as operator');

    await expect.poll(() => page.getByLabel('ADMIN_TOKEN').inputValue()).toBe('');
    expect(await page.locator('.caller').count()).toBe(0);
  });

  it('can be signed out of after the deployment has lost its operator', async () => {
    const page = await open({ at: '#/operator', expected: [404] });
    await page.getByLabel('Stay signed in').selectOption('In this tab, for 12 hours');
    await enterToken(page, ADMIN_TOKEN);
    await expect.poll(() => page.locator('.caller').count()).toBeGreaterThan(1);
    const error = { code: 'not_forwarded', message: 'GET /v1/admin/overview is a route of the operator.' };
    await page.route('**/v1/admin/**', (route) => route.fulfill({ status: 404, json: { error } }));
    await page.reload();
    await expect
      .poll(() => page.getByRole('alert').first().innerText())
      .toContain('This deployment has no operator: it sets no ADMIN_TOKEN.');
    expect(await page.locator('main').innerText()).not.toContain('/v1/');
    await signOut(page, 'Sign out here', 'Sign out as operator');

    await expect.poll(() => page.getByLabel('ADMIN_TOKEN').count()).toBe(1);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it.each(
    ofTurn(1, ['Until this page is reloaded', 'In this tab, for 12 hours', 'In this browser, for 7 days']),
  )('is checked before somebody stays signed in with it: %s', async (choice) => {
    const refused = await open({ at: '#/operator', expected: [401] });
    await refused.getByLabel('Stay signed in').selectOption(choice);
    await enterToken(refused, 'a-wrong-token-of-an-operator');
    const alert = (page: Page) => page.getByRole('alert').innerText();
    await expect.poll(() => alert(refused)).toContain('does not accept this ADMIN_TOKEN. Enter the one');
    const without = await openWithout({ at: '#/operator', expected: [404] });
    await without.getByLabel('Stay signed in').selectOption(choice);
    await enterToken(without, ADMIN_TOKEN);
    await expect.poll(() => alert(without)).toContain('sets no ADMIN_TOKEN. Set one');

    for (const page of [refused, without]) {
      expect(await alert(page)).not.toMatch(/session|route|\/v1\//);
      expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });
    }
  });
});

describe('a deployment whose callers bring keys of their own', () => {
  it('names them in short, without limits, and adds none', async () => {
    const asked = await ask(KEY, ownKeys.url);
    expect(asked.status, await asked.text()).toBe(200);
    // The register learns of a tenant after the answer.
    const callers = { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } };
    await expect
      .poll(async () => (await fetch(`${ownKeys.url}/v1/admin/callers`, callers)).text())
      .toContain('"tenant-');
    const page = await openOwnKeys({ at: '#/operator', expected: [404] });
    await enterToken(page, ADMIN_TOKEN);
    const only = page.locator('.caller');
    await expect.poll(() => only.innerText()).toMatch(/^tenant-[0-9a-f]{12}[\s\S]*it spends its own money/);
    expect(await only.getByRole('button', { name: /^Limits/ }).count()).toBe(0);
    await page.getByLabel('Name of a new caller').fill('dora');
    await page.keyboard.press('Enter');

    await expect.poll(() => page.getByRole('alert').innerText()).toContain('ACCESS_KEYS');
  });
});
