/** A Chromium for browser tests, and what must hold of every page that it shows. */
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { findChromium } from '../../../tools/chromium.ts';
import { runs } from '../laws/runs.ts';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Where screenshots are written, to be looked at. Nothing is asserted of them, and one of a whole
 * page takes a second of processor, so they are taken on request.
 */
const SHOTS = process.env.SCREENSHOTS === '1' ? join(ROOT, 'generated/screenshots') : undefined;

const WIDTHS = [360, 1280] as const;
/** Of screenshots: a phone, a tablet, a desk. */
const SHOT_WIDTHS = [390, 768, 1440] as const;
const THEMES = ['light', 'dark'] as const;

export interface OpenOptions {
  /** A fragment, such as `#/try`. */
  readonly at?: string;
  /** Entered into the form that asks for it. */
  readonly key?: string;
  readonly width?: number;
  /** Default: dark, which {@link expectShownWell} leaves, too: a change draws all of a page. */
  readonly theme?: (typeof THEMES)[number];
  /** Of statuses that the test expects; the browser reports each of them as an error. */
  readonly expected?: readonly number[];
}

/** A page with what it has done wrong so far. */
interface Watched {
  readonly page: Page;
  readonly faults: string[];
  /** Watches it no longer. */
  leave(): void;
}

export interface Inspecting {
  /** Opens the inspector in a document of its own. Its faults fail the test when it ends. */
  open(options?: OpenOptions): Promise<Page>;
}

/** Of all files of a process. It ends with the process, whose pipe it is driven by. */
let started: Promise<Browser> | undefined;

/**
 * Pages that no test uses. A new one takes a second of processor, most of it for the window around
 * it. Each shows what a test of the file has left, which the next document replaces, or nothing.
 */
const idle: Page[] = [];

function start(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('There is no Chromium; set CHROMIUM to its path.');
  // Containers run as root, where the sandbox can't. Threads of the engine would compile what runs
  // once, on cores that other tests need.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--js-flags=--single-threaded'];
  return chromium.launch({ executablePath, args });
}

/**
 * Starts the browser before the tests of a file, and checks each page after its test.
 *
 * @param deployment the Worker's URL, which is read within tests
 */
export function inspect(deployment: { readonly url: string }): Inspecting {
  let browser: Browser | undefined;
  let watched: Watched[] = [];

  beforeAll(async () => {
    started ??= start();
    browser = await started;
  });
  afterEach(async () => {
    const seen = watched;
    watched = [];
    const faults = seen.flatMap((one) => one.faults);
    for (const { page, leave } of seen) {
      leave();
      if (await isReleased(page)) idle.push(page);
      else await page.context().close();
    }
    expect(faults).toEqual([]);
  });
  // What a document asks for has no place in another file.
  afterAll(async () => {
    for (const page of idle) if (page.url() !== emptyOf(page)) await empty(page);
  });
  return {
    async open({ at = '', key, width = 1280, theme = 'dark', expected = [] } = {}) {
      if (!browser) throw new Error('the browser runs only within tests');
      const page = idle.pop() ?? (await (await newContext(browser)).newPage());
      await Promise.all([
        page.setViewportSize({ width, height: 900 }),
        page.emulateMedia({ colorScheme: theme }),
      ]);
      // Where it was left, it might point at something of this document.
      await page.mouse.move(0, 0);
      watched.push(watch(page, new URL(deployment.url).origin, expected));
      const address = `${deployment.url}/inspect`;
      // With another fragment alone, the page would keep its document.
      const isAtIt = page.url().split('#')[0] === address;
      await page.goto(`${address}${isAtIt ? '?' : ''}${at}`);
      if (key !== undefined) await enterKey(page, key);
      return page;
    },
  };
}

/** Enters a key into the form that asks for one. */
export async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open' }).click();
}

/** Signs out by the page's dialog. */
export async function signOut(page: Page, how = 'Sign out here', name = 'Sign out'): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('button', { name: how }).click();
}

/**
 * Collects errors in the console, uncaught errors, and requests to another origin, from the next
 * document on.
 */
function watch(page: Page, origin: string, expected: readonly number[]): Watched {
  const faults: string[] = [];
  page.once('framenavigated', () => {
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      const [, status] = /status of (\d+)/.exec(message.text()) ?? [];
      if (!expected.includes(Number(status))) faults.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== 'data:') faults.push(`request: ${url.origin}`);
    });
  });
  // The test's, too.
  const leave = () => {
    for (const event of ['framenavigated', 'console', 'pageerror', 'request']) page.removeAllListeners(event);
  };
  return { page, faults, leave };
}

/**
 * Takes away what a test has left in a page for the next one, except its document: its routes and
 * its permissions.
 *
 * @returns whether nothing else is left: the inspector stores nothing
 */
async function isReleased(page: Page): Promise<boolean> {
  if (page.isClosed() || !page.url().startsWith('http')) return false;
  const stored = 'localStorage.length + sessionStorage.length + document.cookie.length';
  if ((await page.evaluate(stored)) !== 0) return false;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().clearPermissions();
  return true;
}

/** Of the same origin, since another one has a process of its own. */
const emptyOf = (page: Page): string => new URL('/empty', page.url()).href;

async function empty(page: Page): Promise<void> {
  const address = emptyOf(page);
  await page.route(address, (route) => route.fulfill({ contentType: 'text/html', body: EMPTY }));
  await page.goto(address);
  await page.unroute(address);
}

/** Asks for no icon, as the inspector does. */
const EMPTY = '<link rel="icon" href="data:,">';

/**
 * Each document gets axe as a function that nobody has called. A page reads its half a megabyte
 * once, and compiles once what runs; sent to each document that is checked, it took as long as axe.
 */
async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext();
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await context.addInitScript(`globalThis.loadAxe = () => { ${axe} };`);
  return context;
}

/** The rules about colors and sizes. All others are about what is in a page. */
const LOOKS = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/**
 * The rules that a page breaks, each with the first element that does.
 *
 * @param rules undefined: all
 */
export async function axeViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Nobody reads about the elements that keep the rules, and there are many of them. Style sheets
  // would be read for a rule that is not on.
  const options = {
    resultTypes: ['violations'],
    preload: { assets: ['media'] },
    ...(rules && { runOnly: rules }),
  };
  return page.evaluate<string[]>(`(async () => {
    if (!('axe' in window)) loadAxe();
    const { violations } = await axe.run(${JSON.stringify(options)});
    return violations.map(({ id, nodes: [node] }) =>
      \`\${id}: \${node.html.slice(0, 200)} \${node.failureSummary}\`);
  })()`);
}

/** By day axe reads one window of two screens in this many. */
const SCREENS = runs(6, 1);

/** Whether axe reads a screen in a window: in the same ones in each run, by day in one at most. */
function isReadAt(width: (typeof WIDTHS)[number], name: string): boolean {
  const turn = [...name].reduce((sum, char) => sum + char.charCodeAt(0), 0) % SCREENS;
  return SCREENS === 1 || turn === WIDTHS.indexOf(width);
}

/**
 * Shows a page in a narrow and in a wide window: nothing wider than the window, no table wider
 * than its box, and without violations in the wide one, which is dark. The narrow one shows a part
 * of the same, so there the looks are checked, in the light theme. By day the screens take turns to
 * be read by axe. With `SCREENSHOTS=1` it writes screenshots of three widths in each theme.
 */
export async function expectShownWell(page: Page, name: string): Promise<void> {
  if (SHOTS !== undefined) await takeShots(page, name, SHOTS);
  for (const width of WIDTHS) {
    const isNarrow = width === 360;
    const isRead = isReadAt(width, name);
    // Themes differ in colors alone, so only axe needs the other one. A change draws all of a page.
    const theme = isNarrow && isRead ? 'light' : 'dark';
    await showIn(page, width, theme);
    const rules = isNarrow ? LOOKS : undefined;
    if (isRead) expect(await axeViolations(page, rules), `${name} at ${width}, ${theme}`).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} at ${width}`).toBe(width);
    await expectWholeTables(page, `${name} at ${width}`);
  }
}

/** No table scrolls, no word of a heading is broken, and only callers' names are cut off. */
export async function expectWholeTables(page: Page, where: string): Promise<void> {
  const wide = `[...document.querySelectorAll('section.table, .grid')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)`;
  expect(await page.evaluate(wide), where).toEqual([]);
  const broken = `[...document.querySelectorAll('section.table thead th')].filter((one) => {
    const text = document.createRange();
    text.selectNodeContents(one);
    const lines = new Set([...text.getClientRects()].map(({ top }) => Math.round(top)));
    return lines.size > one.textContent.trim().split(/\\s+/).length;
  }).map((one) => one.textContent)`;
  expect(await page.evaluate(broken), where).toEqual([]);
  const cut = `[...document.querySelectorAll('.listing td:not(.user, .model, .agent)')]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)`;
  expect(await page.evaluate(cut), where).toEqual([]);
}

async function takeShots(page: Page, name: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const width of SHOT_WIDTHS)
    for (const theme of THEMES) {
      await showIn(page, width, theme);
      await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`), fullPage: true });
    }
}

async function showIn(page: Page, width: number, theme: (typeof THEMES)[number]): Promise<void> {
  await Promise.all([
    page.setViewportSize({ width, height: 900 }),
    page.emulateMedia({ colorScheme: theme }),
  ]);
  // Two frames: the plot is drawn again when its size or theme changes.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}
