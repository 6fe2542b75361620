/** The screens that need no conversation. */
import { describe, expect, inject, it } from 'vitest';
import { PAGES } from '../../src/reference/pages.ts';
import { docsSite } from '../../tools/docs-site/site.ts';
import { enterKey, expectShownWell, inspect, signOut } from '../support/browser/browser.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

/** Pages of each kind by day; all of them in the full run. */
const READ = inject('properties').full
  ? [...PAGES.keys()].map((name) => name.replace(/\.md$/, ''))
  : ['benchmark', 'concepts', 'strategy-reference'];

const METRICS_TOKEN = 'the-token-of-the-operator';

const precis = deploy({ vars: { METRICS_TOKEN } });
const misconfigured = deploy({ vars: { LOG_LEVEL: 'loud' } });
const { open } = inspect(precis);
const local = deploy({ vars: { LOCAL_TENANT: 'me' } });
const { open: openMisconfigured } = inspect(misconfigured);
const { open: openLocal } = inspect(local);

describe('the key', () => {
  it('is refused in words if the upstream refuses it', async () => {
    const page = await open({ key: 'sk-invalid-0123456789abcdef', expected: [401] });
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('does not accept this API key');
    await expectShownWell(page, 'wrong-key');
    await page.getByLabel('API key').fill('short');
    await page.getByRole('button', { name: 'Open' }).click();

    await expect.poll(() => page.getByRole('alert').innerText()).toContain('of at least');
  });

  it('is not needed before the first paint, which loads no other screen', async () => {
    const page = await open();
    await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
    expect(await page.evaluate('document.activeElement.type')).toBe('password');
    const loaded =
      'performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname).sort()';

    const files = await page.evaluate<string[]>(loaded);
    expect(files).toEqual(expect.arrayContaining(['/inspect/inspector.css', '/inspect/inspector.js']));
    expect(
      files.filter((file) => !/^\/inspect\/(?:inspector\.(?:js|css)|chunk-\w{8}\.js)$/.test(file)),
    ).toEqual([]);
  });
});

describe('a part that is loaded late', () => {
  it('says what may be wrong where it can’t be loaded, and is tried again', async () => {
    const page = await open({ key: KEY, expected: [404] });
    await page.route('**/inspect/try-it-*.js', (route) => route.fulfill({ status: 404 }));
    await page.evaluate("location.hash = '#/try'");
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('reload the page');
    await expectShownWell(page, 'part-failed');
    await page.unroute('**/inspect/try-it-*.js');
    await page.getByRole('button', { name: 'Try again' }).click();

    await expect.poll(() => page.locator('h1').innerText()).toBe('Try it');
  });
});

describe('this deployment', () => {
  it('is shown without secrets, and with its metrics for the operator', async () => {
    const page = await open({ key: KEY, at: '#/deployment', expected: [401] });
    await expect.poll(() => page.locator('.status').innerText()).toContain('Healthy');
    await page.getByLabel('METRICS_TOKEN').fill('a-wrong-token-of-an-operator');
    await page.getByRole('button', { name: 'Show the metrics' }).click();
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('METRICS_TOKEN');
    await page.getByLabel('METRICS_TOKEN').fill(METRICS_TOKEN);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('region', { name: 'Metrics' }).innerText()).toContain('precis_');
    await expectShownWell(page, 'deployment');

    expect(await page.locator('body').innerText()).not.toContain('secret-of-the');
  });
});

describe('a deployment for callers without a key', () => {
  it('says whose conversations are shown, also for a key that is too short to name a caller', async () => {
    const page = await openLocal();
    await expect.poll(() => page.locator('.top').innerText()).toContain('no key');
    await page.getByRole('button', { name: 'Use a key' }).click();
    await enterKey(page, 'short');
    await expect
      .poll(() => page.locator('.local-note').innerText())
      .toContain('too short to identify a caller');
    await expect.poll(() => page.locator('.empty').count()).toBe(1);
    await expectShownWell(page, 'local-tenant');
    await signOut(page);
    await enterKey(page, KEY);
    await expect.poll(() => page.locator('.empty').count()).toBe(1);

    expect(await page.locator('body').innerText()).not.toContain('no key');
  });
});

describe('a deployment that is misconfigured', () => {
  it('says so, and names the variable', async () => {
    const page = await openMisconfigured({ key: KEY, at: '#/deployment', expected: [500, 503] });
    await expect.poll(() => page.getByRole('alert').first().innerText()).toContain('LOG_LEVEL');
    await expectShownWell(page, 'misconfigured');
    await page.goto(misconfigured.url);

    expect(await page.locator('main').innerText()).toContain('It is misconfigured');
    expect(await page.locator('main').innerText()).not.toContain('LOG_LEVEL');
  });
});

it('the front page leads to the inspector', async () => {
  const page = await open();
  await page.goto(precis.url);
  await expectShownWell(page, 'front');
  const links = await page.locator('main a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  expect(links).toEqual(['inspect', 'docs/getting-started', 'docs', 'openapi.json', 'llms.txt']);
  for (const link of links) expect((await page.request.get(`${precis.url}/${link}`)).status()).toBe(200);
  const [openai, anthropic] = await page.locator('pre').allInnerTexts();
  expect(openai).toContain(`curl ${precis.url}/v1/chat/completions`);
  expect(anthropic).toContain(`curl ${precis.url}/v1/messages`);
  await page.getByRole('list').getByRole('link', { name: 'Inspector' }).click();
  await page.waitForURL('**/inspect');

  await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
});

it('the documentation is shown well, and a search leads to its section', async () => {
  const page = await open();
  await page.goto(`${precis.url}/docs/troubleshooting`);
  await page.getByRole('searchbox').fill('budget goal');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/search?**');
  await expectShownWell(page, 'docs-search');
  await page.getByRole('link', { name: 'Modes: A budget is a goal' }).click();
  await page.waitForURL('**/docs/modes#a-budget-is-a-goal');

  expect(await page.locator('#a-budget-is-a-goal').isVisible()).toBe(true);
});

it.each(READ)('the page %s is shown well', async (name) => {
  const page = await open();
  await page.goto(`${precis.url}/docs/${name}`);

  await expectShownWell(page, `docs-${name}`);
});

it('the site of the documentation is shown well from its files, and searches them', async () => {
  const files = await docsSite();
  const page = await open();
  await page.route('**/site/**', (route) => {
    const name = new URL(route.request().url()).pathname.split('/').at(-1) ?? '';
    const file = files.get(name);
    const contentType = { svg: 'image/svg+xml', png: 'image/png', js: 'text/javascript' }[
      name.split('.')[1] ?? ''
    ];
    return file === undefined
      ? route.fulfill({ status: 404 })
      : route.fulfill({ contentType: contentType ?? 'text/html', body: Buffer.from(file) });
  });
  await page.goto(`${precis.url}/site/index.html`);
  await expectShownWell(page, 'site-index');
  await page.getByRole('link', { name: 'Troubleshooting' }).first().click();
  await page.waitForURL('**/site/troubleshooting.html');
  await expectShownWell(page, 'site-page');
  await page.getByRole('searchbox').fill('budget goal');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('#found li').count()).toBeGreaterThan(2);
  await expectShownWell(page, 'site-search');
  await page.getByRole('link', { name: 'Modes: A budget is a goal' }).click();
  await page.waitForURL(`${precis.url}/site/modes.html#a-budget-is-a-goal`);

  expect(await page.locator('#a-budget-is-a-goal').isVisible()).toBe(true);
});
