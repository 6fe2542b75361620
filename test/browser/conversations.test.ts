import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { axeViolations, enterKey, expectShownWell, inspect } from '../support/browser/browser.ts';
import { play } from '../support/browser/played.ts';
import { sampleTraces } from '../support/conversations/traces.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const OTHER_KEY = 'sk-the-key-of-another-caller-0001';

const precis = deploy({ vars: { CAPTURE: 'true' }, summarizer: true });
const { open } = inspect(precis);

const COMPACT = { mode: 'compact', token_budget: 8_000, low_watermark_pct: 0.6, archive: true };
const SUMMARIZE = {
  mode: 'summarize',
  token_budget: 9_000,
  low_watermark_pct: 0.5,
  summary_max_tokens: 500,
  archive: true,
};

describe('conversations that were made through the Worker', () => {
  let requests = 0;

  beforeAll(async () => {
    const messages = exampleConversation();
    requests = await play(precis, {
      id: 'refunds',
      user: 'ann',
      strategy: COMPACT,
      messages,
      capture: true,
    });
    await play(precis, { id: 'refunds-summarised', strategy: SUMMARIZE, messages, every: 3 });
    await play(precis, { id: 'not-archived', strategy: { ...COMPACT, archive: false }, messages, every: 5 });
    await play(precis, { id: 'observed', strategy: COMPACT, messages, observed: true, every: 2 });
    for (const { file, messages: recorded, tools } of sampleTraces())
      await play(precis, {
        id: `recorded-${file}`,
        strategy: { mode: 'auto', token_budget: 4_000, archive: true },
        messages: recorded,
        ...(tools ? { tools } : {}),
        every: Math.ceil(recorded.length / 10),
      });
  });

  it('are listed, searched, and shown well', async () => {
    const page = await open({ key: KEY });
    const cards = page.locator('.card');
    await expect.poll(() => cards.count()).toBe(4 + sampleTraces().length);
    await expect.poll(() => page.locator('svg.spark').count()).toBeGreaterThan(2);
    await expectShownWell(page, 'conversations');

    await page.getByLabel('Search by conversation or user').fill('ANN');
    await expect.poll(() => cards.allInnerTexts()).toEqual([expect.stringContaining('refunds')]);
    await page.getByLabel('Search by conversation or user').fill('nobody');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('No conversation matches.');
    await page.getByLabel('Search by conversation or user').fill('');
    await page.getByLabel('Status').selectOption('stuck');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('No conversation matches.');
  });

  it('have a plot that is read and opened by keyboard', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds?user=ann' });
    const plot = page.getByRole('slider');
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(5);
    await expectShownWell(page, 'conversation');

    await plot.focus();
    await page.keyboard.press('Home');
    await expect.poll(() => plot.getAttribute('aria-valuenow')).toBe('1');
    expect(await plot.getAttribute('aria-valuetext')).toContain('Request 1:');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => plot.getAttribute('aria-valuenow')).toBe(String(requests - 1));
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.getByRole('heading', { level: 1 }).innerText())
      .toBe(`Request ${requests - 1}`);
  });

  it('tell a request on hover, and open it on click', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds?user=ann' });
    const over = page.locator('.u-over');
    await over.hover();
    await expect
      .poll(() => page.locator('.plot figcaption').innerText())
      .toMatch(/^Request \d+: [\d,]+ tokens/);
    await over.click();

    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toMatch(/^Request \d+$/);
  });

  it('close a dialog when the page goes back', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds?user=ann' });
    await page.locator('.request-row').first().click();
    await page.locator('.row.placeholder button.ref').first().click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    await page.goBack();
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(5);

    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.evaluate("location.hash = '#/conversations/refunds-summarised'");
    await page.getByRole('button', { name: 'Read them' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain('ann');

    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('are where they were scrolled to when the page goes back', async () => {
    const page = await open({ key: KEY, at: `#/conversations/refunds/requests/${requests}?user=ann` });
    await expect.poll(() => page.locator('.row .original .passage').count()).toBeGreaterThan(5);
    const top = () => page.evaluate<number>('scrollY');
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 1_200);
    await expect.poll(top).toBe(1_200);
    await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
    const list = page.locator('.virtual');
    await expect.poll(() => list.count()).toBe(1);
    await expect.poll(top).toBe(0);
    await list.hover();
    await page.mouse.wheel(0, 200);
    const listTop = () => page.evaluate<number>("document.querySelector('.virtual').scrollTop");
    await expect.poll(listTop).toBe(200);
    await page.locator('.request-row').nth(6).click();
    await expect.poll(() => page.locator('.transcript').count()).toBe(1);
    await expect.poll(top).toBe(0);

    await page.goBack();
    await expect.poll(() => list.count()).toBe(1);
    await expect.poll(listTop).toBe(200);
    await page.goBack();
    await expect.poll(() => page.locator('.row .original .passage').count()).toBeGreaterThan(5);
    await expect.poll(top).toBe(1_200);
  });

  it.each(['pointerdown', 'touchstart', 'wheel', 'keydown'])(
    'stay where a person scrolls them by %s while further rows load',
    async (event) => {
      const page = await open({ key: KEY, at: '#/conversations' });
      // 200 requests on two pages, of which the second one can be held back.
      let held: Promise<void> = Promise.resolve();
      await page.route(/\/requests\?/, async (route) => {
        const isFirst = !new URL(route.request().url()).searchParams.has('cursor');
        if (!isFirst) await held;
        const answer = await route.fetch({
          url: route
            .request()
            .url()
            .replace(/cursor=[^&]*/, ''),
        });
        const { data, ...rest } = (await answer.json()) as { data: object[] };
        const from = isFirst ? 200 : 100;
        const rows = Array.from({ length: 100 }, (_, at) => ({ ...data[at % data.length], n: from - at }));
        const place = isFirst ? { has_more: true, cursor: 'more' } : { has_more: false, cursor: null };
        await route.fulfill({ json: { ...rest, data: rows, ...place } });
      });
      const list = page.locator('.virtual');
      const scrollTo = (top: number) =>
        page.evaluate(`document.querySelector('.virtual').scrollTop = ${top}`);
      const listTop = () => page.evaluate<number>("document.querySelector('.virtual').scrollTop");
      const label = () => list.getAttribute('aria-label');
      await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
      await expect.poll(label).toMatch(/^200 /);
      await scrollTo(7_000);
      await expect
        .poll(() => page.locator('.request-row').allInnerTexts())
        .toContainEqual(expect.stringMatching(/^4\d\b/));
      await page.evaluate("location.hash = '#/conversations'");
      await expect.poll(() => list.count()).toBe(0);
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      await page.goBack();
      await expect.poll(label).toMatch(/^100 /);
      await expect.poll(listTop).toBeGreaterThan(3_000);

      await list.dispatchEvent(event);
      await scrollTo(500);
      resolve();
      await expect.poll(label).toMatch(/^200 /);
      await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(10);

      expect(await listTop()).toBe(500);
    },
  );

  it('tell what was only observed as what would have been', async () => {
    const page = await open({ key: KEY, at: '#/conversations/observed' });
    const figure = (name: string) => page.locator('.figures > div').filter({ hasText: name }).locator('dd');
    await expect.poll(() => figure('tokens sent, of those that came').innerText()).toMatch(/^100 %/);
    expect(await figure('would be sent').innerText()).toMatch(/^\d{2}(\.\d)? %/);
    expect(await figure('potential savings').innerText()).toMatch(/^\$0\.\d+/);
    expect(await figure('moves of the frontier').innerText()).toBe('0');
    expect(await page.locator('.request-row').first().innerText()).toMatch(/would be [\d.]+ k, saving \$/);
    expect(await page.locator('.legend').innerText()).toContain('would be after');
    await expectShownWell(page, 'observed-conversation');
  });

  it('show a summary with its versions and its transcript', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds-summarised' });
    await page.getByRole('button', { name: 'Read them' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.locator('pre').innerText()).toContain('## User Intent');
    await expectShownWell(page, 'summary');
    await dialog.getByRole('button', { name: /^Transcript ref_/ }).click();

    await expect.poll(() => dialog.last().locator('pre').innerText()).toContain('### ');
  });

  it.each(sampleTraces().map(({ file }) => file))('show a recorded conversation (%s)', async (file) => {
    const page = await open({ key: KEY, at: `#/conversations/recorded-${file}` });
    await page.locator('.request-row').first().click();
    await expect.poll(() => page.locator('.row, .run').count()).toBeGreaterThan(0);

    expect(await axeViolations(page)).toEqual([]);
  });

  it('are not there for another key', async () => {
    const page = await open({ key: OTHER_KEY, expected: [404] });
    await expect
      .poll(() => page.locator('.empty').innerText())
      .toContain('Nothing is kept under this key yet.');
    await expectShownWell(page, 'empty');
    await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('conversation_not_found');
    await page.evaluate("location.hash = '#/conversations/refunds/requests/1?user=ann'");
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('conversation_not_found');

    expect(await page.locator('body').innerText()).not.toContain('engineer');
  });
});

it('keeps the key in the memory of the tab alone', async () => {
  const page = await open({ key: KEY });
  await expect.poll(() => page.locator('.card').count()).toBeGreaterThan(0);
  const kept =
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])';
  expect(await page.evaluate(kept)).not.toContain(KEY);
  expect(await page.content()).not.toContain(KEY);
  expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });

  await page.reload();
  await expect.poll(() => page.getByLabel('API key').inputValue()).toBe('');
  await enterKey(page, KEY);
  await expect.poll(() => page.locator('.card').count()).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Forget the key' }).click();
  await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
  expect(await page.locator('.card').count()).toBe(0);
});
