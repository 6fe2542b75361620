import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { axeViolations, expectShownWell, inspect } from '../support/browser/browser.ts';
import { COMPACT, play, SUMMARIZE } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const precis = deploy({ summarizer: true });
const { open } = inspect(precis);

/** A budget that the newest outputs alone exceed. */
const TIGHT = { mode: 'auto', token_budget: 4_000, archive: true };

const headline = (page: Page) => page.locator('.headline').first();
const seen = (page: Page) => page.locator('.row.placeholder .edit pre').first();

describe('a request', () => {
  let requests = 0;
  let tight = 0;
  /** The texts of its last view. */
  let wentUp = '';

  beforeAll(async () => {
    const messages = exampleConversation(14);
    requests = await play(precis, {
      id: 'refunds',
      user: 'ann',
      strategy: COMPACT,
      messages,
    });
    const { messages: sent } = precis.lastChat().body as { messages: { content: unknown }[] };
    wentUp = sent.map(({ content }) => content).join('\n');
    await play(precis, { id: 'summarised', strategy: SUMMARIZE, messages, every: 3 });
    await play(precis, { id: 'not-archived', strategy: { ...COMPACT, archive: false }, messages, every: 5 });
    await play(precis, { id: 'observed', strategy: COMPACT, messages, observed: true, every: 4 });
    tight = await play(precis, { id: 'tight', strategy: TIGHT, messages, every: 4 });
    await play(precis, { id: 'short', strategy: COMPACT, messages: messages.slice(0, 2) });
  });

  const last = () => `#/conversations/refunds/requests/${requests}?user=ann`;

  it('says in front what was done, what it saved, what was removed, and what is unchanged, without a click', async () => {
    const page = await open({ key: KEY, at: last() });
    await expect
      .poll(() => headline(page).innerText())
      .toMatch(
        /^\d+ contents are placeholders; [\d,]+ → [\d,]+ tokens, because the budget of 8,000 was exceeded\.$/,
      );
    expect(await page.locator('.money-line').innerText()).toMatch(
      /^Paid \$0\.\d+; without Precis \$0\.\d+: [\d.]+ % less\./,
    );
    const removed = page.getByRole('region', { name: 'What changed' });
    await expect.poll(() => removed.locator('.changes > li').count()).toBe(5);
    const sizes = (await removed.locator('.changes .tokens').allInnerTexts()).map((text) =>
      Number(text.replaceAll(/\D/g, '')),
    );
    expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
    expect(await removed.innerText()).toMatch(/Message \d+, read_file\s+an old output\s+saves [\d,]+ tokens/);
    await expect.poll(() => seen(page).innerText()).toMatch(/^⟦removed: /);
    // Below, unchanged messages once, folded, with their tokens.
    const runs = page.locator('.run > .kept-run');
    await expect
      .poll(() => runs.allInnerTexts())
      .toContainEqual(expect.stringMatching(/^\d+ messages unchanged, [\d,]+ tokens/));
    expect(await page.locator('.kept-message').count()).toBe(0);
    await runs.last().locator('summary').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.kept-message').count()).toBeGreaterThan(2);
    const messages = page.locator('.kept-message');
    expect(await messages.last().innerText()).toContain('Which line is it?');
    expect(await messages.last().innerText()).toContain('It is one of the recent messages.');
    expect(await messages.last().getByRole('link', { name: 'The rule' }).getAttribute('href')).toBe(
      'docs/design#tail',
    );
    expect(await page.getByText('Which line is it?').count()).toBe(1);
    await expectShownWell(page, 'request');
  });

  it('shows the very text that the model saw, and what was removed under its ref', async () => {
    const page = await open({ key: KEY, at: last(), theme: 'light' });
    await expect
      .poll(() => seen(page).innerText())
      .toMatch(/^⟦removed: tool output for read_file \(call_id=/);
    // Each is the very text that was sent.
    const lines = await page.locator('.row.placeholder .edit pre').allInnerTexts();
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(wentUp).toContain(line);
    expect(wentUp).toMatch(/ref_[a-z2-7]{26}/);

    await page.locator('.row.placeholder button.ref').first().click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.locator('pre').innerText()).toContain('// src/orders/store.ts');
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByLabel('Text to search for').fill('ord_7');
    await page.keyboard.press('Enter');
    await expect.poll(() => dialog.locator('pre').innerText()).not.toContain('// src/orders/store.ts');
    expect(await dialog.locator('pre').innerText()).toContain("'ord_7'");
    await dialog.getByLabel('Text to search for').fill('nowhere in it');
    await page.keyboard.press('Enter');
    await expect.poll(() => dialog.locator('.empty').innerText()).toBe('No line contains “nowhere in it”.');
    await expectShownWell(page, 'no-hits');
    // The first one clears the search.
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.locator('pre').innerText()).toContain('// src/orders/store.ts');
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
  });

  it('goes to the next and the previous change by n and p, and by its list', async () => {
    const page = await open({ key: KEY, at: last() });
    await expect.poll(() => page.locator('.row.change').count()).toBeGreaterThan(5);
    const focused = () => page.evaluate<string>('document.activeElement.id');
    const ids = await page.locator('.row.change').evaluateAll((rows) => rows.map(({ id }) => id));
    await page.keyboard.press('n');
    await expect.poll(focused).toBe(ids[0]);
    await page.keyboard.press('n');
    await expect.poll(focused).toBe(ids[1]);
    await page.keyboard.press('p');
    await expect.poll(focused).toBe(ids[0]);
    expect(await page.locator('.steps').innerText()).toContain(`Change 1 of ${ids.length}`);
    await page.locator('.change-link').nth(3).click();
    const chosen = await page.locator('.change-link').nth(3).innerText();
    await expect.poll(focused).toBe(`message-${/\d+/.exec(chosen)?.[0]}`);
    await page.getByRole('button', { name: 'Previous p' }).click();
    await expect.poll(focused).not.toBe(`message-${/\d+/.exec(chosen)?.[0]}`);
  });

  it('explains each of its words, by keyboard too', async () => {
    const page = await open({ key: KEY, at: last() });
    await page.getByText('All figures').click();
    const says = 'The size in tokens above which the strategy removes something, as soon as that pays.';
    await expect
      .poll(() => page.locator('.term').filter({ hasText: 'budget' }).first().getAttribute('title'))
      .toBe(says);
    await expectShownWell(page, 'request-figures');
    await page.keyboard.press('?');
    const words = page.getByRole('dialog', { name: 'What the words mean' });
    await expect.poll(() => words.innerText()).toContain(says);
    await expectShownWell(page, 'words');
    await page.keyboard.press('Escape');
    await expect.poll(() => words.count()).toBe(0);
    // Of the page's own words: what the model saw has the codes of placeholders.
    const texts = await page.locator('main :is(h1, h2, p, dt, dd, summary, .chip, .fate)').allInnerTexts();
    expect(texts.join('\n')).not.toMatch(/token_budget|context_compaction|caller_left|trigger|frontier/);
  });

  it('says why it is over its budget, without a click', async () => {
    const page = await open({ key: KEY, at: `#/conversations/tight/requests/${tight}` });
    await expect
      .poll(() => page.locator('.over').innerText())
      .toMatch(/tokens over its budget of 4,000\. .+\. The rule$/);
    expect(await page.locator('.over a').getAttribute('href')).toBe('docs/modes#auto');
    await expectShownWell(page, 'over-budget');
  });

  it('has one row for all messages in a summary, with its text, its sources and what is new in it', async () => {
    const page = await open({ key: KEY, at: '#/conversations/summarised' });
    await page.locator('.request-row').first().click();
    await expect
      .poll(() => headline(page).innerText())
      .toMatch(/^\d+ messages are in a summary; [\d,]+ → [\d,]+ tokens/);
    const rows = page.locator('.row.summarized');
    // The user's message in the middle stays, since its turn goes on.
    expect(await rows.count()).toBeLessThan(3);
    const row = rows.first();
    await expect.poll(() => row.locator('.seen .markdown').first().innerText()).toContain('Current State');
    await expect
      .poll(() => row.locator('.original').innerText())
      .toMatch(/Messages \d+ to \d+\s+[\d,]+ tokens/);
    await row.getByText(/original messages/).click();
    await expect.poll(() => row.locator('.kept-message').count()).toBeGreaterThan(5);
    await row.getByText(/original messages/).click();
    await row.getByText(/What is new since version/).click();
    await expect.poll(() => row.locator('.diff-line').count()).toBeGreaterThan(0);
    await expectShownWell(page, 'summarised-request');
    await row.getByRole('button', { name: /^Transcript ref_/ }).click();
    await expect.poll(() => page.getByRole('dialog').locator('pre').innerText()).toContain('### ');
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'All versions' }).click();
    await expect
      .poll(() => page.getByRole('dialog').locator('.markdown').innerText())
      .toContain('Current State');
  });

  it('shows what was only observed as what would have been', async () => {
    const page = await open({ key: KEY, at: '#/conversations/observed' });
    await page.locator('.request-row').first().click();
    await expect.poll(() => page.locator('.observed-note').innerText()).toContain('only observed');
    await expect
      .poll(() => headline(page).innerText())
      .toMatch(/^Only observed: [\d,]+ tokens were sent unchanged\. Otherwise \d+ contents would be/);
    expect(await page.locator('.money-line').innerText()).toMatch(/potential savings\s+\$0\.\d+/);
    expect(await page.locator('.columns-head').innerText()).toContain('What the model would see');
    const edited = page.locator('.row.placeholder').first();
    await expect
      .poll(() => edited.innerText())
      .toMatch(/would be: a placeholder[\s\S]*would save[\s\S]*⟦removed: /);
    expect(await page.locator('.row button.ref').count()).toBe(0);
    await expectShownWell(page, 'observed-request');
  });

  it('says that a short one was sent unchanged', async () => {
    const page = await open({ key: KEY, at: '#/conversations/short/requests/1' });
    await expect.poll(() => headline(page).innerText()).toMatch(/^Short: 2 messages were sent unchanged/);
    expect(await page.locator('.row.change').count()).toBe(0);
    await expectShownWell(page, 'short-request');
  });

  it('shows without an archive what is stored, and how to have one', async () => {
    const at = '#/conversations/not-archived';
    const page = await open({ key: KEY, at, expected: [404] });
    await page.locator('.request-row').first().click();
    const box = page.getByRole('region', { name: 'No archive' });
    await expect.poll(() => box.innerText()).toContain('"archive": true');
    expect(await page.getByText('not at hand').count()).toBeLessThan(20);
    const row = page.locator('.row.placeholder').first();
    expect(await row.locator('.original').innerText()).toMatch(/tool\s*read_file/);
    await row.getByText('The tool output that was removed').click();
    await expect.poll(() => row.locator('.original pre').innerText()).toContain('// src/');
    await expectShownWell(page, 'no-archive');

    await page.getByText('Paste its messages instead').click();
    await page.getByLabel('The array as JSON').fill(JSON.stringify(exampleConversation(14)));
    await expect.poll(() => seen(page).innerText()).toMatch(/^⟦removed: /);
    await expect.poll(() => box.count()).toBe(0);
  });

  it('says what may be wrong where it is not found', async () => {
    const page = await open({
      key: KEY,
      at: '#/conversations/refunds/requests/900?user=ann',
      expected: [404],
    });
    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('another key');
    await expectShownWell(page, 'request-not-found');
  });

  it('answers what a person comes for within two clicks of its conversation', async () => {
    const page = await open({ key: KEY, at: '#/conversations/tight' });
    await expect.poll(() => page.locator('.request-row').count()).toBe(tight);
    await page.locator('.request-row').first().click();
    // What was removed, what the model saw, what it saved, and why it is over its budget.
    await expect.poll(() => page.locator('.changes > li').count()).toBeGreaterThan(0);
    await expect
      .poll(() => page.locator('.row.change .seen :is(pre, .markdown)').first().innerText())
      .not.toBe('');
    expect(await page.locator('.money-line').innerText()).toMatch(/% (less|more)\./);
    expect(await page.locator('.over').innerText()).toContain('tokens over its budget of 4,000.');

    await page.getByRole('link', { name: 'Try this conversation' }).click();
    await expect.poll(() => page.locator('.compared tbody tr').count()).toBe(4);
  });

  it('shows what another budget would have done, in one click', async () => {
    const page = await open({ key: KEY, at: last() });
    await page.getByRole('link', { name: 'Try this conversation' }).click();
    await expect
      .poll(() => page.locator('.outcome .headline').innerText())
      .toMatch(/^Unchanged, the conversation costs about \$0\.\d+\. A costs .* less\), B .* less\)\.$/);
    const budgets = page.getByLabel('Token budget, as a number');
    expect(await budgets.first().inputValue()).toBe('8000');
    expect(await budgets.last().inputValue()).toBe('16000');
    expect(await page.locator('.compared').innerText()).toMatch(/All 17 requests/);
    await expectShownWell(page, 'try-request');
  });
});
