import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { axeViolations, enterKey, expectShownWell, inspect, signOut } from '../support/browser/browser.ts';
import { COMPACT, fewTraces, play, recorded, SUMMARIZE } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';
import { ofTurn } from '../support/deployment/in-turn.ts';

const OTHER_KEY = 'sk-the-key-of-another-caller-0001';

const precis = deploy({ summarizer: true });
const { open } = inspect(precis);

describe('conversations that were made through the Worker', () => {
  let requests = 0;

  beforeAll(async () => {
    const messages = exampleConversation(14);
    requests = await play(precis, {
      id: 'refunds',
      user: 'ann',
      strategy: COMPACT,
      messages,
    });
    await play(precis, { id: 'refunds-summarised', strategy: SUMMARIZE, messages, every: 3 });
    await play(precis, { id: 'not-archived', strategy: { ...COMPACT, archive: false }, messages, every: 5 });
    await play(precis, { id: 'observed', strategy: COMPACT, messages, observed: true, every: 2 });
    for (const { file, messages: recorded, tools } of fewTraces())
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
    const rows = page.locator('.listing tbody tr');
    await expect.poll(() => rows.count()).toBe(4 + fewTraces().length);
    await expect.poll(() => page.locator('svg.spark').count()).toBeGreaterThan(2);
    const lead = page.locator('.totals-panel .lead');
    await expect
      .poll(() => lead.innerText())
      .toMatch(
        /^In 7 days: \d+ requests, \d+\.\d % of the tokens not sent[\s?]*, \$[\d.]+ (?:saved|lost) net/,
      );
    expect(await page.locator('.day-bars li').count()).toBe(7);
    expect(await page.locator('.day-bars li').last().innerText()).toMatch(
      /: \d+ requests, .* tokens came in/,
    );
    expect(await page.title()).toBe('Conversations · Precis');
    await expectShownWell(page, 'conversations');
    await page.setViewportSize({ width: 905, height: 900 });
    expect((await page.locator('.listing .name').first().boundingBox())?.width).toBeGreaterThan(100);
    await page.getByLabel('30 days').check({ force: true });
    await expect.poll(() => lead.innerText()).toContain('In 30 days');
    const header = (name: string) => page.getByRole('columnheader', { name });
    await header('Saved').getByRole('button').click();
    await header('Saved').getByRole('button').click();
    await expect.poll(() => header('Saved').getAttribute('aria-sort')).toBe('ascending');
    await expect.poll(() => rows.first().locator('.net').innerText()).toMatch(/^−/);
    await header('Requests').getByRole('button').click();
    await expect.poll(() => rows.first().innerText()).toMatch(/refunds\s+ann/);
    expect(await rows.first().locator('td.cost').getAttribute('title')).toMatch(/^\$\d\.\d{2,}$/);

    const search = page.getByLabel('Search by conversation, user or model');
    await search.fill('ANN');
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('refunds')]);
    expect(new URL(page.url()).hash).toBe('#/conversations?q=ANN&sort=requests');
    await rows.getByRole('link', { name: 'refunds' }).click();
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(0);
    await page.goBack();
    await expect.poll(() => search.inputValue()).toBe('ANN');
    await expect.poll(() => rows.count()).toBe(1);
    await search.fill('nobody');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('No conversation matches.');
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await page.getByLabel('Status').selectOption('Summaries stuck');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('No conversation matches.');
    await page.getByLabel('Status').selectOption('Any status');
    await page.getByRole('combobox', { name: 'User' }).fill('ann');
    await page.getByRole('combobox', { name: 'Last used' }).selectOption('Last hour');
    await page.getByRole('combobox', { name: 'Cost' }).selectOption('$0.01 or more');
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('refunds')]);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Summary').check();
    await page.getByLabel('Tokens, newest').uncheck();
    expect(await page.getByRole('columnheader').allInnerTexts()).not.toContain('Tokens, newest');
    await expectShownWell(page, 'filtered');
  });

  it('are opened by their name from anywhere, and requests by their id', async () => {
    const page = await open({ key: KEY });
    await expect.poll(() => page.locator('.listing tbody tr').count()).toBeGreaterThan(0);
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: /^A conversation/ });
    await field.fill('summarised');
    await expect.poll(() => page.getByRole('option').first().innerText()).toContain('refunds-summarised');
    await expectShownWell(page, 'palette');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('h1').innerText()).toContain('refunds-summarised');
    const answer = await precis.fetch('/v1/conversations/refunds/requests?user=ann&limit=1');
    const { data } = (await answer.json()) as { data: { n: number; request_id: string }[] };
    await page.keyboard.press('Control+k');
    await field.fill(data[0]?.request_id ?? '');
    await expect
      .poll(() => page.getByRole('option').first().innerText())
      .toContain(`Request ${data[0]?.n} of refunds`);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('h1').innerText()).toBe(`Request ${data[0]?.n}`);
  });

  it('are exported, and deleted once the words are typed', async () => {
    for (const id of ['gone-1', 'gone-2', 'gone-3'])
      await play(precis, { id, strategy: COMPACT, messages: exampleConversation(14).slice(0, 4) });
    const page = await open({ key: KEY, at: '#/conversations?q=gone-', expected: [404] });
    const rows = page.locator('.listing tbody tr');
    await expect.poll(() => rows.count()).toBe(3);
    // What is on trial is loaded last, and moves the rows: the button might be up beside its box.
    await expect.poll(() => page.getByRole('region', { name: /on trial$/ }).count()).toBe(1);
    await page.getByLabel('Choose gone-1').check();
    await page.getByLabel('Choose gone-2').check();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    const written = JSON.parse(await readFile(await file.path(), 'utf8')) as { conversations: object[] };
    expect(written.conversations).toMatchObject([
      { id: 'gone-2', memory: { health: 'healthy' }, messages: expect.any(Array) },
      { id: 'gone-1', requests: [{ n: 1 }, { n: 2 }] },
    ]);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog');
    const remove = dialog.getByRole('button', { name: 'Delete' });
    expect(await remove.isDisabled()).toBe(true);
    await expectShownWell(page, 'delete');
    await dialog.getByRole('textbox').fill('delete 2 conversations');
    await remove.click();
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('gone-3')]);
    await rows.getByRole('link').first().click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await dialog.getByRole('textbox').fill('gone-3');
    await remove.click();
    await expect.poll(() => page.title()).toBe('Conversations · Precis');
    expect((await precis.fetch('/v1/conversations/gone-3/memory')).status).toBe(404);
  });

  it('grow on the page while it is seen, and no longer once that has failed', async () => {
    const messages = exampleConversation(14).slice(0, 4);
    const requests = await play(precis, { id: 'grows', strategy: COMPACT, messages });
    const page = await open({ at: '#/conversations/grows', expected: [404, 503] });
    await page.clock.install();
    await page.reload();
    await enterKey(page, KEY);
    const rows = page.locator('.request-row');
    await expect.poll(() => rows.count()).toBe(requests);
    await play(precis, { id: 'grows', strategy: COMPACT, messages });
    await recorded(precis, { id: 'grows' }, 2 * requests);
    await page.clock.runFor(11_000);
    await expect.poll(() => rows.count()).toBe(2 * requests);
    let asked = 0;
    await page.route('**/grows/requests?**', (route) => {
      asked++;
      const error = { message: 'Storage does not answer.', code: 'store_failed' };
      return route.fulfill({ status: 503, json: { error }, headers: { 'x-request-id': 'req_failed' } });
    });
    await page.clock.runFor(11_000);
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/store_failed · req_failed/);
    expect(await rows.count()).toBe(2 * requests);
    await page.clock.runFor(60_000);
    expect(asked).toBe(1);
    await page.unroute('**/grows/requests?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    // Its clock belongs to the context, and would stay for the next test.
    await page.close();
  });

  it('have a plot that is read and opened by keyboard', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds?user=ann' });
    const plot = page.getByRole('slider');
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(5);
    await expectShownWell(page, 'conversation');
    expect(await page.title()).toBe('refunds · Precis');
    expect(await page.locator('.lead').innerText()).toMatch(
      /^Paid \$[\d.]+[\s?]*; without Precis it would have been \$[\d.]+[\s?]*: \d+ % (?:less|more)\.$/,
    );
    const steps = await page.locator('.step').allInnerTexts();
    expect(steps.map((step) => step.split('\n')[0])).toEqual([
      'without Precis',
      'removed',
      'cache read again',
      'paid',
    ]);
    expect((await page.locator('.tag.move').allInnerTexts()).join()).toMatch(
      /compacted for \$[\d.]+: (?:paid back at request \d+|not paid back yet)/,
    );
    expect(await page.locator('.tag.warning').count()).toBe(0);
    expect(await page.locator('.tag').filter({ hasText: 'waits' }).count()).toBe(0);

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
    const over = page.locator('.plot-box .u-over');
    const tip = page.locator('.plot-tip');
    expect(await tip.isVisible()).toBe(false);
    await over.hover();
    await expect
      .poll(() => tip.innerText())
      .toMatch(/^Request \d+: [\d,]+ tokens came in, [\d,]+ were sent\n+budget: 8,000\n/);
    const [inside, around] = [await tip.boundingBox(), await page.locator('.plot').boundingBox()];
    expect(inside?.x).toBeGreaterThanOrEqual(around?.x ?? 0);
    expect((inside?.x ?? 0) + (inside?.width ?? 0)).toBeLessThanOrEqual(
      (around?.x ?? 0) + (around?.width ?? 0),
    );
    await page.locator('.plot-strip .u-over').hover();
    await expect.poll(() => tip.innerText()).toMatch(/saved [−$\d.]+ net/);
    await over.hover();
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

  it('keep a dialog open that opens right after another one', async () => {
    const page = await open({ key: KEY });
    await page.getByRole('button', { name: 'Go to…' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    // Closes it and opens the next one within a frame.
    await page.evaluate(`(async () => {
      const press = () => dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
      press();
      await new Promise((drawn) => setTimeout(drawn));
      press();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    })()`);
    expect(await page.getByRole('dialog').count()).toBe(1);
  });

  it('are where they were scrolled to when the page goes back', async () => {
    const page = await open({ key: KEY, at: `#/conversations/refunds/requests/${requests}?user=ann` });
    await expect.poll(() => page.locator('.row .original .passage').count()).toBeGreaterThan(5);
    const top = () => page.evaluate<number>('scrollY');
    // What is loaded above a text moves it: the texts that the model saw are the last.
    await expect.poll(() => page.locator('.row.placeholder .edit pre').count()).toBeGreaterThan(5);
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

  it.each(ofTurn(2, ['pointerdown', 'touchstart', 'wheel', 'keydown']))(
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
      await scrollTo(6_300);
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
      // The plot is drawn once, and has its place until then.
      expect(await page.locator('.plot').getAttribute('class')).toBe('plot waiting');

      await list.dispatchEvent(event);
      await scrollTo(500);
      resolve();
      await expect.poll(label).toMatch(/^200 /);
      await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(10);

      expect(await listTop()).toBe(500);
      await expect.poll(() => page.locator('.plot-box canvas').count()).toBe(1);
    },
  );

  it('tell what was only observed as what would have been', async () => {
    const page = await open({ key: KEY, at: '#/conversations/observed' });
    const figure = (name: string) => page.locator('.figures > div').filter({ hasText: name }).locator('dd');
    await expect.poll(() => figure('tokens sent').innerText()).toMatch(/^100 %/);
    expect(await figure('would be sent').innerText()).toMatch(/^\d{2}(\.\d)? %/);
    expect(await figure('compacted').innerText()).toBe('never');
    expect(await page.locator('.lead').innerText()).toMatch(
      /^Only observed[\s?]*: paid \$[\d.]+; with what was planned it would have been \$[\d.]+, \d+ % less\.$/,
    );
    expect(await page.locator('.waterfall').count()).toBe(0);
    const row = await page.locator('.request-row').first().innerText();
    expect(row).toMatch(/would be [\d.]+ k[\s\S]*would save\s+\$/);
    // It is said above, for all of them.
    expect(row).not.toContain('only observed');
    expect(await page.locator('.legend').innerText()).toContain('would be sent');
    await expectShownWell(page, 'observed-conversation');
  });

  it('show a summary with its versions and its transcript', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refunds-summarised' });
    await page.getByRole('button', { name: 'Read them' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.locator('.markdown').innerText()).toContain('Current State');
    await expectShownWell(page, 'summary');
    await dialog.getByRole('button', { name: /^Transcript ref_/ }).click();

    await expect.poll(() => dialog.last().locator('pre').innerText()).toContain('### ');
  });

  it('say of short requests that they were sent unchanged', async () => {
    await play(precis, {
      id: 'short',
      strategy: { mode: 'auto' },
      messages: exampleConversation(14).slice(0, 2),
    });
    const page = await open({ key: KEY, expected: [404] });
    const card = page
      .locator('.listing tbody tr')
      .filter({ has: page.getByRole('link', { name: 'short', exact: true }) });
    await expect.poll(() => card.locator('.tokens').innerText()).toBe('short');
    expect(await card.locator('.requests').innerText()).toBe('1');
    await card.getByRole('link').first().click();
    await expect.poll(() => page.locator('.request-row').innerText()).toContain('sent unchanged');
    expect(await page.locator('.lead').innerText()).toContain('nothing was removed');
    expect(await page.locator('.plot').count()).toBe(0);
    await expectShownWell(page, 'short');
  });

  it.each(fewTraces().map(({ file }) => file))('show a recorded conversation (%s)', async (file) => {
    const page = await open({ key: KEY, at: `#/conversations/recorded-${file}`, theme: 'light' });
    await page.locator('.request-row').first().click();
    await expect.poll(() => page.locator('.row, .run').count()).toBeGreaterThan(0);

    expect(await axeViolations(page)).toEqual([]);
  });

  it('show nothing of the one before, while another is loading and where there is none', async () => {
    const page = await open({ key: KEY, at: '#/conversations/observed', expected: [404] });
    await expect.poll(() => page.locator('.lead').innerText()).toContain('Only observed');
    const held = Promise.withResolvers<void>();
    await page.route('**/conversations/refunds-summarised/**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.evaluate("location.hash = '#/conversations/refunds-summarised'");
    await expect.poll(() => page.locator('h1').innerText()).toContain('refunds-summarised');
    expect(await page.locator('body').innerText()).not.toContain('Only observed');
    expect(await page.locator('.request-row').count()).toBe(0);
    held.resolve();
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(0);
    await page.evaluate("location.hash = '#/conversations/nobody-knows'");
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('conversation_not_found');
    expect(await page.locator('.request-row, .lead, .plot').count()).toBe(0);
  });

  it('stay on the page while the browser is offline, and are read again after that', async () => {
    // Its console names no status.
    const page = await open({ key: KEY, expected: [404, Number.NaN] });
    const rows = page.locator('.listing tbody tr');
    await expect.poll(() => rows.count()).toBeGreaterThan(0);
    // The page is complete: Chromium doesn't load a module again that has failed.
    await expect.poll(() => page.getByRole('region', { name: 'on trial' }).count()).toBe(1);
    await page.context().setOffline(true);
    await page.locator('.totals-panel').getByText('30 days').click();
    const alert = page.getByRole('alert').first();
    await expect.poll(() => alert.innerText()).toMatch(/This browser is offline\.[\s\S]*Try again/);
    expect(await rows.count()).toBeGreaterThan(0);
    await page.context().setOffline(false);

    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await expect.poll(() => page.locator('.totals-panel .lead').innerText()).toContain('In 30 days');
  });

  it('are not there for another key', async () => {
    const page = await open({ key: OTHER_KEY, expected: [404] });
    await expect
      .poll(() => page.locator('.empty').innerText())
      .toContain('This key has no conversations yet');
    // Nothing is there to be searched.
    expect(await page.getByRole('searchbox').count()).toBe(0);
    await expectShownWell(page, 'empty');
    await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('conversation_not_found');
    expect(await page.locator('.failed').innerText()).toMatch(/another key[\s\S]*user[\s\S]*deleted/);
    expect(await page.getByRole('heading', { name: 'Summaries' }).count()).toBe(0);
    await expectShownWell(page, 'not-found');
    await page.evaluate("location.hash = '#/conversations/refunds/requests/1?user=ann'");
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('conversation_not_found');

    expect(await page.locator('body').innerText()).not.toContain('engineer');
  });
});

it('keeps the key in the memory of the tab alone', async () => {
  const page = await open({ key: KEY });
  await expect.poll(() => page.locator('.listing tbody tr').count()).toBeGreaterThan(0);
  const kept =
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])';
  expect(await page.evaluate(kept)).not.toContain(KEY);
  expect(await page.content()).not.toContain(KEY);
  expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });

  await page.reload();
  await expect.poll(() => page.getByLabel('API key').inputValue()).toBe('');
  await enterKey(page, KEY);
  await expect.poll(() => page.locator('.listing tbody tr').count()).toBeGreaterThan(0);
  await signOut(page);
  await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
  expect(await page.locator('.listing tbody tr').count()).toBe(0);
});

it.each([
  ['tab', 'In this tab, for 12 hours'],
  ['browser', 'In this browser, for 7 days'],
] as const)('stays signed in where somebody wants that, without the key: %s', async (_, choice) => {
  const page = await open({ at: '#/conversations/refunds?user=ann', expected: [401] });
  await page.getByLabel('Stay signed in').selectOption(choice);
  await enterKey(page, KEY);
  await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(5);
  const bearers: (string | undefined)[] = [];
  page.on('request', (request) => bearers.push(request.headers().authorization));
  await page.reload();
  await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(5);
  expect(new URL(page.url()).hash).toBe('#/conversations/refunds?user=ann');
  const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])';
  const cookies = await page.context().cookies(`${precis.url}/v1/session`);
  for (const text of [await page.evaluate(kept), JSON.stringify(cookies), await page.content(), ...bearers])
    expect(`${text}`).not.toContain(KEY);
  expect(await page.evaluate('document.cookie')).toBe('');

  const other = await page.context().newPage();
  await other.goto(`${precis.url}/inspect`);
  if (choice === 'In this browser, for 7 days')
    await expect.poll(() => other.locator('.listing tbody tr').count()).toBeGreaterThan(0);
  else await expect.poll(() => other.getByLabel('API key').count()).toBe(1);
  await other.close();
  await signOut(page, 'Sign out everywhere');
  await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
  await page.reload();
  await expect.poll(() => page.getByLabel('API key').count()).toBe(1);
});
