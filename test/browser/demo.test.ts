/** `npm run demo -- --inspect`, and the README's picture of what it opens. */
import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../tools/worker-server.ts';
import { expectShownWell, inspect } from '../support/browser/browser.ts';
import { until } from '../support/deployment/polling.ts';

const PICTURE = join(ROOT, 'docs/inspector.png');

/** In bytes. */
const LARGEST_PICTURE = 200_000;

let demo: ChildProcess | undefined;
let printed = '';

/** The address that the demo prints. */
const address = (): URL | undefined => {
  const [, found] = /^Inspect {2}(\S+)$/m.exec(printed) ?? [];
  return found === undefined ? undefined : new URL(found);
};

const { open } = inspect({
  get url() {
    return address()?.origin ?? '';
  },
});

beforeAll(async () => {
  const { OPENAI_API_KEY: _, ...env } = process.env;
  demo = spawn(process.execPath, ['demo/run.ts', '--inspect'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [demo.stdout, demo.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  await until(
    'the demo prints the address',
    () => address() !== undefined || demo?.exitCode !== null,
    90_000,
  );
});

afterAll(() => {
  demo?.kill('SIGTERM');
});

it('opens the demo’s conversation without a key, and none is in its address', async () => {
  const { pathname, search, hash } = address() ?? new URL('none:');
  expect([pathname, search, hash]).toEqual(['/inspect', '', '#/conversations/demo']);
  const page = await open({ at: hash });
  await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(10);
  await expectShownWell(page, 'demo');
  // One saving, in the terminal and on the page.
  const [, printedShare] = /^Paid .*: (\d+ % less)\.$/m.exec(printed) ?? [];
  expect(await page.locator('p.lead').first().innerText()).toMatch(new RegExp(`: ${printedShare}\\.$`));
  // What the figures leave out is said beside them.
  expect(await page.locator('.plot figcaption .note').innerText()).toMatch(
    /^The sum less \$0\.\d+ for summaries that no request waited for: \$0\.\d+ net in all\.$/,
  );
  expect(await page.locator('.request-row .tag.fetched').first().innerText()).toMatch(/^fetched \d+ times$/);

  await page.setViewportSize({ width: 1200, height: 680 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.locator('.plot-box .u-over').hover({ position: { x: 600, y: 120 } });
  await expect.poll(() => page.locator('.plot-tip').innerText()).toMatch(/^Request \d+/);
  if (process.env.README_SCREENSHOT === '1') await page.screenshot({ path: PICTURE });
  expect(statSync(PICTURE).size).toBeLessThan(LARGEST_PICTURE);

  // A request in which the frontier has moved, and what it removed.
  await page.locator('.request-row:has(.tag.move)').first().click();
  await expect.poll(() => page.locator('.row.change .original .passage').count()).toBeGreaterThan(0);
  await expect.poll(() => page.locator('.changes > li').count()).toBeGreaterThan(0);
});
