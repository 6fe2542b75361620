/** Requests that have failed: on their own pages, in their conversation, and in the list. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { expectShownWell, inspect } from '../support/browser/browser.ts';
import { COMPACT, recorded } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

// Its upstream is taken away for a while.
const precis = deploy();
const { open } = inspect(precis);

const head = (page: Page) => page.locator('.request-head');
const messages = exampleConversation(14);

/** The memory alone is over what is left for it. */
const REFUSED = { mode: 'rolling_summary', overflow_policy: 'error', total_max_tokens: 256 };

describe('failed requests', () => {
  const send = async (id: string, strategy: object = COMPACT, many = messages.length): Promise<number> => {
    const of = messages.slice(0, many);
    const body = { model: 'gpt-4.1', conversation_id: id, memory_strategy: strategy, messages: of };
    return (await precis.chat(body)).status;
  };

  beforeAll(async () => {
    // The upstream has accepted the key.
    expect(await send('answered', COMPACT, 2)).toBe(200);
    const error = (status: number, message: string) => {
      return { type: 'error' as const, status, body: { error: { message } } };
    };
    precis.upstream.next(error(429, 'Rate limit reached.'), error(500, 'The server had an error.'));
    expect([await send('failed'), await send('failed')]).toEqual([429, 500]);
    expect(await precis.withoutUpstream(() => send('failed'))).toBe(502);
    expect(await send('refused', REFUSED)).toBe(400);
    for (const [id, count] of [
      ['failed', 3],
      ['refused', 1],
      ['answered', 1],
    ] as const)
      await recorded(precis, { id }, count);
  });

  it.each([
    [1, 'The upstream answered with the error 429.'],
    [2, 'The upstream answered with the error 500.'],
    [3, 'Failed with 502 (upstream_unreachable): the model gave no answer.'],
  ])('say what was sent, with which status they failed, and what no archive has: %d', async (n, failure) => {
    const page = await open({ key: KEY, at: `#/conversations/failed/requests/${n}`, expected: [404] });
    await expect.poll(() => head(page).locator('.fails').innerText()).toBe(failure);
    expect(await head(page).locator('.headline').innerText()).toMatch(
      /^\d+ contents are placeholders; [\d,]+ → [\d,]+ tokens, because the budget of 8,000 was exceeded\.$/,
    );
    await expect
      .poll(() => page.getByRole('region', { name: 'No archive' }).innerText())
      .toContain('has the messages of requests that were answered');
    expect(await page.locator('.columns-head').innerText()).toContain('What was sent');
    await page.getByText('All figures').click();
    expect(await head(page).innerText()).not.toContain('n/a tokens');
    expect(await page.getByText('What the model saw').count()).toBe(0);
    // The screen of each of them.
    if (n === 1) await expectShownWell(page, 'failed');
  });

  it('say that nothing was sent where Precis has refused them', async () => {
    const page = await open({ key: KEY, at: '#/conversations/refused/requests/1', expected: [404] });
    await expect
      .poll(() => head(page).locator('.headline').innerText())
      .toMatch(/^Refused with 400 \(\w+\): nothing was sent to the model\.$/);
    expect(await page.locator('.row.change').count()).toBe(0);
    await expectShownWell(page, 'refused-request');
  });

  it('say once that contents are not at hand, and not in each row', async () => {
    const page = await open({ key: KEY, at: '#/conversations/failed/requests/1', expected: [404] });
    await expect.poll(() => page.locator('.row.change').count()).toBeGreaterThan(5);
    expect(await page.getByText('not at hand').count()).toBe(0);
    const run = page
      .locator('.run')
      .filter({ hasText: /^\s*3 messages unchanged/ })
      .first();
    await run.locator('summary').click();
    await expect.poll(() => run.locator('.kept-message').count()).toBe(3);
    expect(await run.getByText('not at hand').count()).toBe(1);
  });

  it('are a conversation whose cost is not known, with the status of each', async () => {
    const page = await open({ key: KEY, at: '#/conversations/failed', expected: [404] });
    await expect.poll(() => page.locator('.request-row').count()).toBe(3);
    expect(await page.locator('.lead').innerText()).toBe(
      'What it has cost is not known: no request has an answer from the model.',
    );
    expect(await page.locator('.head .fails').innerText()).toBe('3 failed');
    expect(await page.locator('.tag.failed').allInnerTexts()).toEqual([
      'failed: 502',
      'failed: 500',
      'failed: 429',
    ]);
    await expectShownWell(page, 'failed-conversation');
  });

  it('are named by their status in the list of conversations', async () => {
    const page = await open({ key: KEY, at: '#/conversations' });
    const row = (name: string) => page.locator('.listing tbody tr').filter({ hasText: name }).first();
    await expect.poll(() => row('failed').innerText()).toContain('502');
    await expect.poll(() => row('refused').innerText()).toContain('400');
    await expectShownWell(page, 'failed-list');
  });
});
