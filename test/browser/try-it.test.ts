import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { axeViolations, expectShownWell, inspect } from '../support/browser/browser.ts';
import { sampleTraces } from '../support/conversations/traces.ts';
import { deploy } from '../support/deployment/deployment.ts';

const precis = deploy({ vars: { LOG_LEVEL: 'error' } });
const { open } = inspect(precis);

async function openFile(page: Page, name: string, text: string): Promise<void> {
  const file = { name, mimeType: 'application/json', buffer: Buffer.from(text) };
  await page.getByLabel('Open a file').setInputFiles(file);
}

async function setNumber(page: Page, label: string, value: number): Promise<void> {
  const field = page.getByLabel(`${label}, as a number`);
  await field.fill(String(value));
  await field.press('Tab');
}

const caption = (page: Page) => page.locator('.plan-bars figcaption').innerText();
const thousands = (value: number | undefined): string => value?.toLocaleString('en') ?? '';

/** What the route says about an array, without a key as on the page. */
async function explained(messages: readonly unknown[], strategy: object, tools?: readonly unknown[]) {
  const body = { model: 'gpt-4.1', messages, memory_strategy: strategy, ...(tools ? { tools } : {}) };
  const response = await fetch(`${precis.url}/v1/explain`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as {
    memory: { tokens?: { before: number; after: number } };
    messages: { fate: string }[];
  };
}

describe('a strategy that is tried', () => {
  it('needs no key, and is shown well', async () => {
    const page = await open({ at: '#/try' });
    await page.getByRole('button', { name: 'Take an example' }).click();
    await setNumber(page, 'Token budget', 8_000);
    await expect.poll(() => caption(page)).toContain('with a budget of 8,000');

    await expectShownWell(page, 'try');
  });

  it.each(sampleTraces().map((trace) => [trace.file, trace] as const))(
    'gives the numbers of the route for a recorded conversation (%s)',
    async (_, { id, messages, tools }) => {
      const page = await open({ at: '#/try' });
      // Two of them, as recorded transcripts come: one a line.
      const row = { id, messages, tools };
      await openFile(
        page,
        'traces.jsonl',
        `${JSON.stringify({ ...row, id: 'other' })}\n${JSON.stringify(row)}\n`,
      );
      await page.getByLabel('Which one of 2').selectOption({ index: 1 });
      const half = Math.ceil(messages.length / 2);
      await setNumber(page, 'Token budget', 4_000);
      await setNumber(page, 'Messages of the array', half);
      const strategy = { mode: 'auto', token_budget: 4_000 };
      const { memory, messages: fates } = await explained(messages.slice(0, half), strategy, tools);

      const { before, after } = memory.tokens ?? {};
      await expect.poll(() => caption(page)).toContain(`${thousands(after)} of ${thousands(before)} tokens`);
      const kept = fates.filter(({ fate }) => fate === 'kept').length;
      await expect.poll(() => page.locator('label.fate.kept b').innerText()).toBe(thousands(kept));
      expect(await axeViolations(page)).toEqual([]);
    },
  );

  it('changes with the mode and with each number', async () => {
    const page = await open({ at: '#/try' });
    await page.getByRole('button', { name: 'Take an example' }).click();
    await setNumber(page, 'Token budget', 8_000);
    await expect.poll(() => page.locator('label.fate.placeholder').count()).toBe(1);
    await page.getByLabel('Mode').selectOption('trim');
    await expect.poll(() => page.locator('label.fate.trimmed').count()).toBe(1);
    expect(await page.locator('.knobs .strategy').innerText()).toContain('"mode": "trim"');
    await page.getByLabel('Token budget', { exact: true }).focus();
    await page.keyboard.press('End');
    await expect
      .poll(() => page.locator('label.fate').allInnerTexts())
      .toEqual([expect.stringMatching(/^kept/)]);
  });

  it('takes a file that is dropped, and items of the Responses API', async () => {
    const page = await open({ at: '#/try' });
    const input = [
      { role: 'user', content: 'Read it.' },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Line one.' },
    ];
    await page.evaluate(`
      const dropped = new DataTransfer();
      dropped.items.add(new File([${JSON.stringify(JSON.stringify({ input }))}], 'body.json'));
      document.querySelector('.source').dispatchEvent(
        new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }),
      );
    `);

    await expect.poll(() => page.locator('.rows .row').count()).toBe(3);
  });

  it('plans anew for a text of equal length', async () => {
    const page = await open({ at: '#/try' });
    const array = (content: string) => JSON.stringify([{ role: 'user', content }]);
    await page.getByLabel('JSON or JSONL').fill(array('An apple a day.'));
    const tokens = page.locator('.row .original .tokens');
    await expect.poll(() => page.locator('.row .original').innerText()).toContain('An apple a day.');
    const before = await tokens.innerText();
    await page.getByLabel('JSON or JSONL').fill(array('x9 q7 z3 k1 v8.'));

    await expect.poll(() => page.locator('.row .original').innerText()).toContain('x9 q7 z3 k1 v8.');
    await expect.poll(() => tokens.innerText()).not.toBe(before);
  });

  it('says what is wrong with a text that is no array', async () => {
    const page = await open({ at: '#/try' });
    await page.getByLabel('JSON or JSONL').fill('{"messages": [');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('This is not JSON');
    await page.getByLabel('JSON or JSONL').fill('{"a": 1}');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('no array of messages');
    expect(await axeViolations(page)).toEqual([]);
  });

  it('shows the error of the Worker', async () => {
    const page = await open({ at: '#/try', expected: [401] });
    const content = 'Without a key, no body of this size is counted. '.repeat(25_000);
    await openFile(page, 'large.json', JSON.stringify([{ role: 'user', content }]));

    await expect.poll(() => page.locator('.failed').innerText()).toContain('invalid_api_key');
  });
});
