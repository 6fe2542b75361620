/**
 * How long the inspector takes to open a conversation of 500 requests, in Chromium (`npm run
 * bench:inspector`): milliseconds from the click to the first rows, and to the whole list.
 */
import { chromium } from 'playwright-core';
import { findChromium } from '../tools/chromium.ts';
import { ms, printTable, quantile } from './figures.ts';
import { agent, ask } from './proxy/client.ts';
import { startPrecis } from './proxy/subjects.ts';
import { startUpstream } from './proxy/upstream.ts';

const REQUESTS = 500;
const REPEATS = 15;
const KEY = 'sk-the-key-of-a-benchmark-0001';
const CONVERSATION = 'long';

/** Runs in the page: opens the conversation, and resolves when all of its rows are painted. */
const OPENS = `new Promise((done) => {
  const start = performance.now();
  let first;
  const look = () => {
    const label = document.querySelector('.virtual')?.getAttribute('aria-label') ?? '';
    if (label) first ??= performance.now() - start;
    if (!label.startsWith('${REQUESTS} ')) return requestAnimationFrame(look);
    requestAnimationFrame(() => done({ first, whole: performance.now() - start }));
  };
  location.hash = '#/conversations/${CONVERSATION}';
  requestAnimationFrame(look);
})`;

const upstream = await startUpstream();
const precis = await startPrecis(upstream.url);
const executablePath = findChromium();
if (executablePath === undefined) throw new Error('There is no Chromium; set CHROMIUM to its path.');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  await fill();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${precis.url}/inspect`);
  await page.getByLabel('API key').fill(KEY);
  await page.getByRole('button', { name: 'Open' }).click();
  const times: { first: number; whole: number }[] = [];
  for (let at = 0; at <= REPEATS; at++) {
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    times.push(await page.evaluate<{ first: number; whole: number }>(OPENS));
    await page.evaluate("location.hash = '#/conversations'");
  }
  const [cold, ...warm] = times;
  const row = (name: 'first' | 'whole', title: string): string[] => {
    const sorted = warm.map((one) => one[name]).toSorted((one, other) => one - other);
    return [title, ms(cold?.[name] ?? 0), ...[0, 0.5, 1].map((at) => ms(quantile(sorted, at)))];
  };
  printTable(
    ['', 'first time', 'least', 'median', 'most'],
    [row('first', 'first rows'), row('whole', `all ${REQUESTS}`)],
  );
} finally {
  await browser.close();
  agent.destroy();
  await precis.close();
  await upstream.close();
}

/** Requests of an agent whose array grows, and is compacted now and then. */
async function fill(): Promise<void> {
  const messages: object[] = [{ role: 'user', content: 'Read the files, and say what is wrong.' }];
  for (let at = 0; at < REQUESTS; at++) {
    const memory_strategy = { mode: 'compact', token_budget: 20_000, min_reclaim_tokens: 1_000 };
    const body = { model: 'gpt-4.1', conversation_id: CONVERSATION, memory_strategy, messages };
    const headers = { authorization: `Bearer ${KEY}` };
    await ask(`${precis.url}/v1/chat/completions`, headers, Buffer.from(JSON.stringify(body)));
    const call = { id: `call_${at}`, type: 'function', function: { name: 'read', arguments: `{"n":${at}}` } };
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    messages.push({ role: 'tool', tool_call_id: call.id, content: `line ${at} of the file\n`.repeat(30) });
  }
}
