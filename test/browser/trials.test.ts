/** A strategy on trial, as the page of conversations shows it. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectShownWell, inspect } from '../support/browser/browser.ts';
import { recorded } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const precis = deploy();
const { open } = inspect(precis);

const LINE = 'what follows from that? '.repeat(100);

it('shows both sides with an interval, and is loaded only where there is a trial', async () => {
  const turns = Array.from({ length: 4 }, (_, n) => [
    { role: 'user', content: `Question ${n}: ${LINE}` },
    { role: 'assistant', content: `Answer ${n}: ${LINE}` },
  ]).flat();
  const memory_strategy = { mode: 'trim', max_turns: 2, keep_last_n_turns: 1, observe: 0.5 };
  for (let at = 0; at < 40; at++) {
    const messages = [...turns, { role: 'user', content: `And in case ${at}?` }];
    await precis.ask({ messages, memory_strategy, conversation_id: `case-${at}` });
    await recorded(precis, { id: `case-${at}` }, 1);
  }
  const page = await open({ key: KEY });
  const trial = page.getByRole('region', { name: 'trim on trial' });
  await expect
    .poll(() => trial.innerText())
    .toMatch(
      /trim would save \d+\.\d % ± 0\.1 over \d+ requests of \d+ conversations that were only observed/,
    );
  const cells = async (title: string) =>
    (await trial.getByRole('row', { name: title }).getByRole('cell').allInnerTexts()).map(Number);
  const [observed = 0, applied = 0] = await cells('Answered requests');
  expect(observed + applied).toBe(40);
  expect(Math.min(observed, applied)).toBeGreaterThan(9);
  expect(await trial.getByRole('row', { name: 'That is' }).innerText()).toMatch(/\d+\.\d % ± \d\.\d/);
  await expectShownWell(page, 'trial');

  expect(await filesOf(page)).toContain('trials');

  const without = await open({ key: 'sk-the-key-of-a-caller-without-a-trial' });
  const lead = without.locator('.totals-panel .lead');
  await expect.poll(() => lead.innerText()).toContain('no request is recorded');
  expect(await filesOf(without)).not.toContain('trials');
});

/** The names of the scripts that a page has loaded, without their hashes. */
async function filesOf(page: Page): Promise<string[]> {
  const loaded = "performance.getEntriesByType('resource').map(({ name }) => name)";
  const names = await page.evaluate<string[]>(loaded);
  return names.map((name) => name.replace(/^.*\/(\w+)(?:-\w+)?\.js$/, '$1'));
}
