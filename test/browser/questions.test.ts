/**
 * Six questions of the one who pays and the one who runs it. Each is answered within two clicks of
 * somebody who reads only the page: by names that are on it, from the screen after the sign-in.
 */
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { inspect } from '../support/browser/browser.ts';
import { COMPACT, play, recorded } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const ALICE = 'the-access-key-of-alice-0001';
const BOB = 'the-access-key-of-bob-000001';

const precis = deploy({
  vars: { ADMIN_TOKEN, ACCESS_KEYS: `alice=${ALICE},bob=${BOB}`, UPSTREAM_API_KEY: KEY },
});
const { open } = inspect(precis);

const MOST_CLICKS = 2;

/** Clicks one after the other. */
async function click(...path: Locator[]): Promise<void> {
  expect(path.length).toBeLessThanOrEqual(MOST_CLICKS);
  for (const step of path) await step.click();
}

const link = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('link', { name, exact: typeof name === 'string' });
const button = (page: Page, name: string): Locator => page.getByRole('button', { name });

/** Presses the tabulator until something with this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const focused = "(({ ariaLabel, textContent }) => ariaLabel ?? textContent ?? '')(document.activeElement)";
  for (let times = 0; times < 60; times++) {
    await page.keyboard.press('Tab');
    if (name.test(await page.evaluate<string>(focused))) return;
  }
  throw new Error(`Nothing that the tabulator reaches is named ${name}.`);
}

beforeAll(async () => {
  const messages = exampleConversation(14);
  await play(precis, { id: 'refunds', strategy: COMPACT, messages }, ALICE);
  await play(precis, { id: 'short', strategy: COMPACT, messages: messages.slice(0, 2) }, ALICE);
  precis.upstream.next(
    ...Array.from({ length: 6 }, () => {
      return { type: 'error' as const, status: 429, body: { error: { message: 'Rate limit reached.' } } };
    }),
  );
  for (let n = 0; n < 6; n++) {
    const body = { model: 'gpt-4.1', conversation_id: 'broken', memory_strategy: COMPACT, messages };
    const answer = await precis.chat(body, { authorization: `Bearer ${BOB}` });
    expect(answer.status).toBe(429);
  }
  await recorded(precis, { id: 'broken' }, 6, BOB);
});

describe('who pays asks', () => {
  it('what was saved this week, and where?', async () => {
    const page = await open({ key: ALICE });
    const sums = page.getByRole('region', { name: 'All conversations together' });
    await expect.poll(() => sums.innerText()).toMatch(/In 7 days: \d+ requests, .* (?:saved|lost) net\./);
    await click(button(page, 'Saved'));

    const saved = page.getByRole('columnheader', { name: 'Saved' });
    await expect.poll(() => saved.getAttribute('aria-sort')).toBe('descending');
    // Without a cache, what was removed does not pay for what had to be read again.
    const rows = page.getByRole('row');
    await expect
      .poll(async () => (await rows.allInnerTexts()).slice(1).map((row) => row.split('\n')[1]))
      .toEqual(['short', 'refunds']);
    expect(await rows.last().innerText()).toMatch(/−\$0\.\d\d/);
  });

  it('what did the model see in a request, and why?', async () => {
    const page = await open({ key: ALICE });
    await click(link(page, 'refunds'), link(page, /^9\b/));
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('Request 9');

    await expect.poll(() => page.locator('main').innerText()).toMatch(/placeholder/);
    expect(await page.locator('main').innerText()).toMatch(/because the budget of 8,000 was exceeded/);
    await expect.poll(() => page.getByText('What the model saw').count()).toBeGreaterThan(0);
  });

  it('what would another strategy have cost?', async () => {
    const page = await open({ key: ALICE });
    await click(link(page, 'refunds'), link(page, 'Try another strategy'));
    await expect
      .poll(() => page.getByRole('heading', { level: 1 }).innerText())
      .toBe('Try this conversation');

    await expect
      .poll(() => page.getByRole('table').first().innerText())
      .toMatch(/\bA\b[\s\S]*\bB\b[\s\S]*\$\d+\.\d+[\s\S]*\$\d+\.\d+/);
  });

  it('what is wrong?', async () => {
    const page = await open({ key: BOB, expected: [404] });
    await click(link(page, /^6 failed/));
    await expect.poll(() => page.getByRole('row').nth(1).innerText()).toMatch(/broken[\s\S]*429/);
  });

  it('the same by keyboard alone', async () => {
    const page = await open();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('password');
    await page.keyboard.type(ALICE);
    await page.keyboard.press('Enter');
    await expect.poll(() => link(page, 'refunds').count()).toBe(1);
    await tabTo(page, /^refunds$/);
    await page.keyboard.press('Enter');
    await expect.poll(() => link(page, 'Try another strategy').count()).toBe(1);
    await tabTo(page, /^Delete…$/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
    await tabTo(page, /^Tokens by request/);
    await tabTo(page, /^9(?!\d)/);
    await page.keyboard.press('Enter');

    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('Request 9');
  });

  it('how is the data of a conversation deleted?', async () => {
    const page = await open({ key: ALICE });
    await click(link(page, 'short'), button(page, 'Delete…'));
    const dialog = page.getByRole('dialog', { name: 'Delete the conversation' });
    await dialog.getByRole('textbox').fill('short');
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();

    await expect.poll(() => link(page, 'short').count()).toBe(0);
    await expect.poll(() => link(page, 'refunds').count()).toBe(1);
  });
});

describe('who runs it asks', () => {
  const operator = async (): Promise<Page> => {
    const page = await open({ key: ALICE });
    await click(link(page, 'Operator'));
    await page.getByLabel('ADMIN_TOKEN').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    return page;
  };

  it('what is wrong, and who is failing?', async () => {
    const page = await operator();
    const alerts = page.getByRole('list', { name: 'What needs attention' });
    await expect.poll(() => alerts.innerText()).toContain('bob: 100 % of requests fail with 429 (6 of 6).');
    const bob = alerts.getByRole('listitem').filter({ hasText: 'bob: 100 %' });
    await click(bob.getByRole('link', { name: 'See the caller' }));

    await expect
      .poll(() => page.evaluate('document.activeElement.textContent'))
      .toMatch(/^bob[\s\S]*6 failed/);
  });

  it('who spends most?', async () => {
    const page = await operator();
    const callers = page.getByRole('region', { name: 'Callers who spend most' });

    const alice = callers.getByRole('row').nth(1);
    await expect.poll(() => alice.innerText()).toMatch(/^alice\s[\s\S]*\s\$\d+\.\d+\s+−?\$\d+\.\d+$/);
    expect(await alice.getByTitle(/^−?\$\d+\.\d{5,}$/).count()).toBe(2);
  });

  it('how is the data of a caller deleted?', async () => {
    const page = await operator();
    const colorOf = (name: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('[aria-label="${name}"]')).color`);
    await expect.poll(() => button(page, 'Delete bob').count()).toBe(1);
    expect(await colorOf('Delete bob')).not.toBe(await colorOf('Disable bob'));
    await click(button(page, 'Delete bob'));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill('bob');
    await dialog.getByRole('button', { name: 'Delete the caller' }).click();

    await expect
      .poll(() =>
        page
          .getByRole('listitem')
          .filter({ hasText: 'key in ACCESS_KEYS', has: page.getByText('bob', { exact: true }) })
          .innerText(),
      )
      .toContain('deleted');
  });
});
