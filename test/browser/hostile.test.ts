import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { axeViolations, enterKey, expectShownWell, inspect } from '../support/browser/browser.ts';
import { play, recorded } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const precis = deploy({ vars: { LOG_LEVEL: 'error' } });
const { open } = inspect(precis);

const MARKUP =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload=window.hacked=1>';
const BIDI = 'invoice\u202Egpj.exe\u2066\u200B';
const ID = `<b>${BIDI}</b>`;
const LONG_LINE = 'x'.repeat(1_000_000);

const ARRAY = [
  { role: 'system', content: MARKUP },
  { role: 'user', content: `${MARKUP} ${BIDI} [a](javascript:window.hacked=1)` },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: `<i>${BIDI}`,
        type: 'function',
        function: { name: 'read_file', arguments: `{"a":"${MARKUP.replaceAll('"', "'")}"}` },
      },
    ],
  },
  { role: 'tool', tool_call_id: `<i>${BIDI}`, content: `${MARKUP}\n${BIDI}\n${LONG_LINE}` },
  { role: 'assistant', content: `${BIDI}\u0000\u001b[31m` },
  { role: 'user', content: 'And now?' },
  { role: 'assistant', content: 'Now it is late.' },
  { role: 'user', content: 'And then?' },
  { role: 'assistant', content: 'Then it is over.' },
  { role: 'user', content: 'Thank you.' },
];

/** Nothing of a transcript has become an element, has run, or changes the direction of a line. */
async function expectHarmless(page: Page): Promise<void> {
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(await page.locator('#app img, #app script, #app b b, #app i, #app svg[onload]').count()).toBe(0);
  const text = await page.locator('body').innerText();
  expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/);
  expect(text).toContain('U+202E');
}

/** Opens all messages that are folded, of which there are some, but maybe not yet. */
async function unfold(page: Page): Promise<void> {
  const runs = page.locator('.kept-run > summary');
  await expect.poll(() => runs.count()).toBeGreaterThan(0);
  for (const run of await runs.all()) await run.click();
}

describe('half a surrogate pair in a name', () => {
  it('has no address, and leaves the other conversations in their place', async () => {
    const key = 'sk-the-key-of-a-caller-who-cuts-names';
    const headers = { authorization: `Bearer ${key}` };
    const names = ['cut \ud83d', 'whole'];
    const listed = async () => (await precis.fetch('/v1/conversations', { headers })).json();
    // The upstream accepts the key.
    await listed();
    for (const conversation_id of names)
      for (const user of names) {
        const asked = { model: 'gpt-4.1', conversation_id, user, messages: ARRAY };
        await (await precis.chat(asked, headers)).text();
      }
    await expect.poll(async () => ((await listed()) as { data: object[] }).data.length).toBe(4);
    const page = await open({ key });
    await expect.poll(() => page.locator('.listing tbody tr').count()).toBe(4);
    expect(await page.locator('.listing .name a').allInnerTexts()).toEqual(['whole']);
  });
});

describe('a hostile transcript', () => {
  beforeAll(async () => {
    const strategy = { mode: 'compact', token_budget: 2_000, compact_keep: 1, archive: true };
    await play(precis, { id: ID, user: BIDI, strategy, messages: ARRAY });
  });

  it('is harmless in every screen', async () => {
    const page = await open({ key: KEY });
    await expect.poll(() => page.locator('.listing tbody tr').count()).toBe(1);
    await expectHarmless(page);
    await page.locator('.listing .name a').click();
    await page.locator('.request-row').first().click();
    await expect.poll(() => page.locator('.row .original .passage').count()).toBeGreaterThan(0);
    await unfold(page);
    await expect.poll(() => page.locator('.kept-message .passage').count()).toBeGreaterThan(3);
    await expectShownWell(page, 'hostile');
    await expectHarmless(page);

    await page.locator('button.ref').first().click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.locator('pre').innerText()).toContain('<script>');
    await expectHarmless(page);
    await dialog.getByRole('button', { name: 'Load more of it' }).click();
    await dialog.getByRole('button', { name: /^Show more/ }).click();
    await expectHarmless(page);
  });

  it('is harmless in an error', async () => {
    const page = await open({ expected: [503] });
    const error = { message: `${MARKUP} ${BIDI}`, code: BIDI };
    await page.route('**/v1/conversations?**', (route) => route.fulfill({ status: 503, json: { error } }));
    await enterKey(page, KEY);
    await expect.poll(() => page.getByRole('alert').count()).toBe(1);
    await expectHarmless(page);
  });

  it('is harmless where it is pasted', async () => {
    const page = await open({ at: '#/try', theme: 'light' });
    await page.getByText('Use your own conversation').click();
    const buffer = Buffer.from(
      JSON.stringify({ messages: [...ARRAY.slice(0, 3), { ...ARRAY[3], content: BIDI }] }),
    );
    await page.getByLabel('Open a file').setInputFiles({ name: '<b>.json', mimeType: 'text/plain', buffer });
    await expect.poll(() => page.locator('.tally').innerText()).toContain('unchanged 4');
    await unfold(page);
    await expect.poll(() => page.locator('.kept-message').count()).toBe(4);

    await expectHarmless(page);
    expect(await axeViolations(page)).toEqual([]);
  });
});

describe('a conversation of more requests than are in sight', () => {
  /** More than are read at once. */
  const REQUESTS = 160;
  const AT_ONCE = 8;

  beforeAll(async () => {
    const request = async (n: number): Promise<void> => {
      const messages = Array.from({ length: 3 + 2 * (n % 40) }, (_, at) => {
        return {
          role: at % 2 === 0 ? 'user' : 'assistant',
          content: `Message ${at} of the round ${n % 40}.`,
        };
      });
      const memory_strategy = { mode: 'trim', token_budget: 500 };
      const response = await precis.chat({
        model: 'gpt-4.1',
        conversation_id: 'long',
        memory_strategy,
        messages,
      });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
    };
    for (let n = 0; n < REQUESTS; n += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => request(n + at)));
    await recorded(precis, { id: 'long' }, REQUESTS);
  });

  it('scrolls, with only the rows in sight in the document', async () => {
    const page = await open({ key: KEY, at: '#/conversations/long', expected: [404] });
    const list = page.getByRole('region', { name: `${REQUESTS} requests, newest first` });
    await expect.poll(() => list.count()).toBe(1);
    await expectShownWell(page, 'long');
    expect(await list.locator('li').count()).toBeLessThan(60);
    expect(await list.locator('li').first().innerText()).toContain(String(REQUESTS));

    await list.focus();
    // On a busy machine the list may still get its height when the first one comes.
    const last = async () => {
      await page.keyboard.press('End');
      return list.locator('li').last().getAttribute('aria-posinset');
    };
    await expect.poll(last).toBe(String(REQUESTS));
    expect(await list.locator('li').last().innerText()).toMatch(/^1\b/);
    expect(await list.locator('li').count()).toBeLessThan(60);
    await page.getByRole('slider').focus();
    await page.keyboard.press('Home');
    for (let times = 0; times < 4; times++) await page.keyboard.press('PageUp');
    await page.keyboard.press('Enter');

    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('Request 101');
  });
});
