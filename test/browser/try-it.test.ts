import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { APIS } from '../../inspector/read/snippets.ts';
import { axeViolations, expectShownWell, inspect } from '../support/browser/browser.ts';
import { fewTraces } from '../support/browser/played.ts';
import { deploy } from '../support/deployment/deployment.ts';

const precis = deploy({ vars: { LOG_LEVEL: 'error' } });
const { open } = inspect(precis);

/** Opens the page with its field for other conversations. */
async function openSource(page: Page): Promise<void> {
  await page.getByText('Use your own conversation').click();
}

async function openFile(page: Page, name: string, text: string): Promise<void> {
  const file = { name, mimeType: 'application/json', buffer: Buffer.from(text) };
  await page.getByLabel('Open a file').setInputFiles(file);
}

const strategy = (page: Page, name: 'A' | 'B') => page.getByRole('group', { name: `Strategy ${name}` });

async function setBudget(page: Page, name: 'A' | 'B', value: number): Promise<void> {
  const field = strategy(page, name).getByLabel('Token budget, as a number');
  await field.fill(String(value));
  await field.press('Tab');
}

/** Of the table, as `[came, A, B]`. */
const line = (page: Page, name: string) =>
  page
    .getByRole('row', { name: new RegExp(`^${name}`) })
    .getByRole('cell')
    .allInnerTexts();
const tally = (page: Page) => page.locator('.tally li').allInnerTexts();
const thousands = (value: number | undefined): string => value?.toLocaleString('en') ?? '';

/** With which the page plans an array that names none. */
const MODEL = APIS.chat.model;

/** What the route says about an array, without a key as on the page. */
async function explained(messages: readonly unknown[], memory_strategy: object, tools?: readonly unknown[]) {
  const body = { model: MODEL, course: true, messages, memory_strategy, ...(tools ? { tools } : {}) };
  const response = await fetch(`${precis.url}/v1/explain`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as {
    memory: { tokens?: { before: number; after: number } };
    messages: { fate: string }[];
    course: { before: number; after: number; price_before: number; price_after: number }[];
  };
}

describe('a strategy that is tried', () => {
  it('opens with an example and two strategies, needs no key, and is shown well', async () => {
    const page = await open({ at: '#/try' });
    await expect
      .poll(() => page.locator('.outcome .headline').innerText())
      .toMatch(
        /^Unchanged, the conversation costs about \$[\d.]+\. A costs \$[\d.]+ \(.*\), B \$[\d.]+ \(.*\)\.$/,
      );
    await expect.poll(() => page.locator('.row.change').count()).toBeGreaterThan(0);
    expect(await page.locator('.columns-head').innerText()).toContain('What the model would see');
    await expectShownWell(page, 'try');
    // With a small budget placeholders alone are not enough.
    await setBudget(page, 'A', 2_000);
    await expect
      .poll(() => page.locator('.outcome .over').allInnerTexts())
      .toEqual(['A would also pay the summarizer, which is not in these numbers.']);
  });

  it('has its settings above its result in a narrow window', async () => {
    const page = await open({ at: '#/try', width: 390 });
    await expect.poll(() => page.locator('.outcome .headline').count()).toBe(1);
    const top = async (of: string) => (await page.locator(of).boundingBox())?.y ?? Number.NaN;

    expect(await top('.choice-a')).toBeLessThan(await top('.choice-b'));
    expect(await top('.choice-b')).toBeLessThan(await top('.outcome'));
  });

  it.each(fewTraces().map((trace) => [trace.file, trace] as const))(
    'gives the numbers of the route for a recorded conversation (%s)',
    async (_, { id, messages, tools }) => {
      const page = await open({ at: '#/try', theme: 'light' });
      await openSource(page);
      // Two of them, as recorded transcripts come: one a line.
      const row = { id, messages, tools };
      await openFile(
        page,
        'traces.jsonl',
        `${JSON.stringify({ ...row, id: 'other' })}\n${JSON.stringify(row)}\n`,
      );
      await page.getByLabel('Which one of 2').selectOption({ index: 1 });
      const half = Math.ceil(messages.length / 2);
      await page.getByText(/^For both:/).click();
      const length = page.getByLabel('Messages of the array, as a number');
      await length.fill(String(half));
      await length.press('Tab');
      await setBudget(page, 'A', 4_000);
      await setBudget(page, 'B', 8_000);
      const part = messages.slice(0, half);
      const [a, b] = await Promise.all(
        [4_000, 8_000].map((token_budget) => explained(part, { mode: 'auto', token_budget }, tools)),
      );

      const sum = (of: typeof a, name: 'before' | 'after'): string =>
        thousands(of?.course.reduce((total, one) => total + one[name], 0));
      await expect
        .poll(() => line(page, 'tokens sent'))
        .toEqual([sum(a, 'before'), sum(a, 'after'), sum(b, 'after')]);
      const kept = a?.messages.filter(({ fate }) => fate === 'kept').length;
      await expect.poll(() => tally(page)).toContain(`unchanged ${thousands(kept)}`);
      await page.getByRole('radio', { name: 'Strategy B' }).check();
      const keptByB = b?.messages.filter(({ fate }) => fate === 'kept').length;
      await expect.poll(() => tally(page)).toContain(`unchanged ${thousands(keptByB)}`);
      expect(await axeViolations(page)).toEqual([]);
    },
  );

  it('changes with the mode and with each number', async () => {
    const page = await open({ at: '#/try' });
    await setBudget(page, 'A', 8_000);
    await expect.poll(() => tally(page)).toContainEqual(expect.stringMatching(/^a placeholder \d/));
    await strategy(page, 'A').getByLabel('What it does').selectOption('trim');
    await expect.poll(() => tally(page)).toContainEqual(expect.stringMatching(/^left out \d/));
    await strategy(page, 'A').getByText('More settings').click();
    expect(await strategy(page, 'A').locator('.strategy').innerText()).toContain('"mode": "trim"');
    await strategy(page, 'A').getByLabel('Token budget', { exact: true }).focus();
    await page.keyboard.press('End');
    await expect.poll(() => tally(page)).toEqual([expect.stringMatching(/^unchanged/)]);
    await expect.poll(async () => (await line(page, 'dollars'))[1]).toBe((await line(page, 'dollars'))[0]);
    await strategy(page, 'B').getByLabel('What it does').selectOption('rolling_summary');
    await expect.poll(async () => (await line(page, 'tokens sent'))[2]).toBe('n/a');
    await page.getByText(/^For both:/).click();
    await page.getByLabel('Model, for window and prices').fill('a-model-of-nobody');
    await page.keyboard.press('Tab');
    await expect.poll(() => line(page, 'dollars')).toEqual(['n/a', 'n/a', 'n/a']);
  });

  it('copies itself as curl, TypeScript and Python', async () => {
    const page = await open({ at: '#/try' });
    await setBudget(page, 'B', 7_000);
    await page.getByRole('radio', { name: 'Strategy B' }).check();
    const text = page.locator('.copied .strategy');
    await expect.poll(() => text.innerText()).toContain('"token_budget": 7000');
    expect(await text.innerText()).toContain(`curl ${precis.url}/v1/chat/completions`);
    const language = page.getByLabel('Strategy B as');
    await language.selectOption('TypeScript');
    expect(await text.innerText()).toContain(`baseURL: "${precis.url}/v1"`);
    await language.selectOption('Python');
    expect(await text.innerText()).toContain(
      'extra_body={"memory_strategy": {"mode":"auto","token_budget":7000}}',
    );
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => page.getByText('Copied.').count()).toBe(1);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await text.innerText());
  });

  it('copies a conversation of Messages for Anthropic’s client and key', async () => {
    const page = await open({ at: '#/try' });
    await openSource(page);
    const called = { type: 'tool_use', id: 'c1', name: 'read', input: {} };
    const messages = [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [called] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Line one.' }] },
    ];
    await openFile(page, 'body.json', JSON.stringify({ system: 'Help.', messages }));
    const text = page.locator('.copied .strategy');
    await expect.poll(() => text.innerText()).toContain(`curl ${precis.url}/v1/messages`);
    expect(await text.innerText()).toContain('x-api-key: $ANTHROPIC_API_KEY');
    expect(await text.innerText()).toContain('"model": "claude-sonnet-5-5"');
    await expect.poll(async () => (await line(page, 'dollars'))[0]).toMatch(/^\$/);
    await page.getByLabel('Strategy A as').selectOption('TypeScript');
    expect(await text.innerText()).toContain(`new Anthropic({ baseURL: "${precis.url}" })`);
    await text.scrollIntoViewIfNeeded();
    await expectShownWell(page, 'try-messages');
  });

  it('takes a file that is dropped, and items of the Responses API', async () => {
    const page = await open({ at: '#/try' });
    await openSource(page);
    const input = [
      { role: 'user', content: 'Read it.' },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Line one.' },
    ];
    await page.locator('.source').waitFor();
    await page.evaluate(`
      const dropped = new DataTransfer();
      dropped.items.add(new File([${JSON.stringify(JSON.stringify({ input }))}], 'body.json'));
      document.querySelector('.source').dispatchEvent(
        new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }),
      );
    `);

    await expect.poll(() => tally(page)).toEqual(['unchanged 3']);
  });

  it('plans anew for a text of equal length', async () => {
    const page = await open({ at: '#/try' });
    await openSource(page);
    const array = (content: string) => JSON.stringify([{ role: 'user', content }]);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('JSON or JSONL').fill(array('An apple a day.'));
    const run = page.locator('.kept-run summary');
    await expect.poll(() => run.innerText()).toContain('An apple a day.');
    const before = await run.innerText();
    await page.getByLabel('JSON or JSONL').fill(array('x9 q7 z3 k1 v8.'));

    await expect.poll(() => run.innerText()).toContain('x9 q7 z3 k1 v8.');
    const tokens = (text: string) => /([\d,]+) tokens/.exec(text)?.[1];
    await expect.poll(async () => tokens(await run.innerText())).not.toBe(tokens(before));
  });

  it('says what is wrong with a text that is no array', async () => {
    const page = await open({ at: '#/try', theme: 'light' });
    await openSource(page);
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => page.locator('.empty').innerText()).toBe('Nothing is here yet.');
    await page.getByLabel('JSON or JSONL').fill('{"messages": [');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('This is not JSON');
    await page.getByLabel('JSON or JSONL').fill('{"a": 1}');
    await expect.poll(() => page.locator('.empty').innerText()).toContain('not an array of messages');
    expect(await axeViolations(page)).toEqual([]);
  });

  it('shows the error of the Worker', async () => {
    const page = await open({ at: '#/try', expected: [401] });
    await openSource(page);
    const content = 'Without a key, no body of this size is counted. '.repeat(25_000);
    await openFile(page, 'large.json', JSON.stringify([{ role: 'user', content }]));

    await expect.poll(() => page.locator('.failed').first().innerText()).toContain('invalid_api_key');
  });
});
