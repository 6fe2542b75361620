/**
 * Screens with much, odd and no data, and with failures, from answers that are made up: what these
 * say is tested elsewhere. With `SCREENSHOTS=1` each is written, to be looked at.
 */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConversation } from '../../inspector/read/example.ts';
import { enterKey, expectShownWell, expectWholeTables, inspect } from '../support/browser/browser.ts';
import { COMPACT, play } from '../support/browser/played.ts';
import { deploy, KEY } from '../support/deployment/deployment.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const EMPTY_KEY = 'sk-the-key-of-a-caller-without-data';

const precis = deploy({ vars: { ADMIN_TOKEN } });
const { open } = inspect(precis);

/** Names in scripts of several directions and widths, and one that is as long as a name may be. */
const NAMES = [
  '顧客サポート：返金と交換についての長い会話（東京）',
  'محادثة حول استرداد الأموال للطلب رقم ٤٧١١',
  'שיחה על החזר כספי',
  `agent-run-2026-11-29T10:14:02.118Z/${'x'.repeat(160)}`,
  'मराठी संभाषण',
  '😀👩‍👩‍👧‍👦 party',
] as const;

const DOLLAR = 1_000_000_000;

type Json = Record<string, unknown>;

/** Answers a route with what is made of the Worker's own answer. */
async function answer(page: Page, path: RegExp, make: (own: Json) => object): Promise<void> {
  await page.route(path, async (route) => {
    const own = (await (await route.fetch()).json()) as Json;
    await route.fulfill({ json: make(own) });
  });
}

const fail = (page: Page, path: RegExp) =>
  page.route(path, (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req_0123456789abcdef' },
      json: { error: { code: 'internal_error', message: 'Internal error.' } },
    }),
  );

beforeAll(async () => {
  await play(precis, { id: 'refunds', user: 'ann', strategy: COMPACT, messages: exampleConversation() });
  await play(precis, {
    id: NAMES[0],
    user: NAMES[1],
    strategy: COMPACT,
    messages: [
      { role: 'system', content: `${NAMES[2]} ${NAMES[4]}` },
      ...exampleConversation().slice(1, -1),
      { role: 'user', content: `${NAMES[0]}\n${NAMES[1]}\n${NAMES[3]}` },
    ],
    every: 4,
  });
});

describe('the list of conversations', () => {
  /** 50 rows of names, users, models and amounts of all kinds. */
  const many = (own: Json): object => {
    const [one = {}] = (own.data ?? []) as Json[];
    const data = Array.from({ length: 50 }, (_, at) => ({
      ...one,
      id: NAMES[at % 9] ?? `support-case-${4_000 + at}`,
      user: at % 4 === 0 ? null : `${NAMES[(at + 2) % 7] ?? 'ann'} ${at}`,
      model: at % 5 === 0 ? `accounts/fireworks/models/${'deepseek-v4-'.repeat(4)}${at}` : 'gpt-4.1',
      agent: at % 3 === 0 ? 'coding' : null,
      status: at % 11 === 0 ? 'degraded' : at % 13 === 0 ? 'stuck' : 'healthy',
      last_request_status: at % 8 === 0 ? 429 : 200,
      requests: at % 6 === 0 ? 184_201 : at,
      bill:
        at % 10 === 0
          ? undefined
          : { ...(one.bill as object), actual: at * at * DOLLAR, net: (25 - at) * 31_337_000 * at },
      last_request_at: Math.floor(Date.now() / 1_000) - at ** 4 * 3,
    }));
    return { ...own, data, has_more: true, cursor: '0-1' };
  };

  it('is shown well with many conversations and odd names', async () => {
    const page = await open({ expected: [404] });
    await answer(page, /\/v1\/conversations\?/, many);
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Open' }).click();
    await expect.poll(() => page.locator('.listing tbody tr').count()).toBe(50);
    await page
      .getByRole('checkbox', { name: /^Choose sup/ })
      .first()
      .check();
    await expectShownWell(page, 'list-much');
  });

  it('is shown well with two, with all columns, and with none', async () => {
    const all = 'user,model,agent,requests,tokens,cost,saved,summary,used';
    const page = await open({ key: KEY, at: `#/conversations?columns=${all}` });
    await expect.poll(() => page.locator('.listing tbody tr').count()).toBe(2);
    await expect.poll(() => page.locator('svg.spark').count()).toBe(2);
    await expectShownWell(page, 'list-little');
    await page.setViewportSize({ width: 768, height: 900 });
    await expectWholeTables(page, 'list-little at 768');
    const none = await open({ key: EMPTY_KEY });
    await expect.poll(() => none.locator('.empty').count()).toBe(1);
    await expectShownWell(none, 'list-none');
  });

  it('has its rows where they were when the sums above it have loaded', async () => {
    for (const width of [1280, 360]) {
      const page = await open({ width });
      const held = Promise.withResolvers<void>();
      await page.route('**/v1/stats?**', async (route) => {
        await held.promise;
        await route.continue();
      });
      await enterKey(page, KEY);
      const rows = page.locator('.listing tbody tr');
      await expect.poll(() => rows.count()).toBe(2);
      const top = async () => (await rows.first().boundingBox())?.y;
      const before = await top();
      held.resolve();
      await expect.poll(() => page.locator('.day-bars li').count()).toBe(7);
      expect(await top()).toBe(before);
    }
  });

  it('is shown well while it loads, and where all of it fails', async () => {
    const page = await open({ expected: [500] });
    await fail(page, /\/v1\/(?:conversations|stats)/);
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Open' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBeGreaterThan(0);
    await expectShownWell(page, 'list-failed');
  });
});

describe('a conversation and its requests', () => {
  it('are shown well with odd names and texts', async () => {
    const at = `#/conversations/${encodeURIComponent(NAMES[0])}?user=${encodeURIComponent(NAMES[1])}`;
    const page = await open({ key: KEY, at });
    await expect.poll(() => page.locator('.request-row').count()).toBeGreaterThan(1);
    await expect.poll(() => page.locator('.plot canvas').count()).toBe(2);
    await expectShownWell(page, 'conversation-odd');
    await page.locator('.request-row').first().click();
    await expect.poll(() => page.locator('.row, .run').count()).toBeGreaterThan(0);
    await expectShownWell(page, 'request-odd');
  });

  it('are shown well where they fail', async () => {
    const page = await open({ key: KEY, expected: [500] });
    await fail(page, /\/v1\/conversations\/refunds\//);
    await page.evaluate("location.hash = '#/conversations/refunds?user=ann'");
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBeGreaterThan(0);
    await expectShownWell(page, 'conversation-failed');
  });
});

describe('the operator’s screen', () => {
  const enter = async (page: Page): Promise<void> => {
    await page.getByLabel('ADMIN_TOKEN').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
  };
  const sums = (at: number) => ({ requests: 91_204 - at * 97, failed: at * 31, paid: at * 7.3 * DOLLAR });

  it('is shown well with many callers, odd names and all alerts', async () => {
    const page = await open({ at: '#/operator' });
    const alert = (code: string, level: string, message: string, caller: string | null = null) => {
      return { code, level, caller, model: null, message };
    };
    await answer(page, /\/v1\/admin\/overview/, (own) => {
      const { total } = own as { total: Json };
      const data = (own.data as Json[]).map((day, at) => ({
        ...day,
        requests: 1_204 * (at + 1),
        failed: at * 17,
        tokens: { before: 9_000_000 * (at + 1), sent: 4_000_000 * (at + 1) },
      }));
      return {
        ...own,
        data,
        read: { active: 612, read: 40, failed: 2, storage_calls: 42 },
        total: {
          ...total,
          requests: 184_201,
          failed: 9_120,
          models: NAMES.map((model, at) => ({
            model,
            ...sums(at),
            billed: 90,
            unbilled: 3,
            sent: (at + 1) * 12 * DOLLAR,
            would_be: (at + 1) * 31 * DOLLAR,
          })),
          missed: ['expired', 'frontier', 'tools_changed'].map((cause, at) => ({
            cause,
            requests: 12_000 - at,
            tokens: 90_000_000,
            amount: (3 - at) * DOLLAR,
          })),
        },
        alerts: [
          alert(
            'upstream',
            'act',
            'The upstream has not answered since 14:02; the last one failed at 14:31 (UTC).',
          ),
          alert('failing', 'act', `${NAMES[3]}: 25 % of requests fail with 429 (25 of 100).`, NAMES[3]),
          alert('failing', 'watch', 'bob: 6 % of requests fail with 429 (6 of 100).', 'bob'),
          alert('budget', 'watch', 'bob is at 95 % of the limit of the day ($4.75 of $5.00).', 'bob'),
          alert('unpriced', 'watch', '566 requests without a known cost, of an-unknown-model.'),
          alert('misses', 'watch', 'Cache misses cost $6.00, 12 % of what was paid (36,000 requests).'),
          alert('retiring', 'watch', 'gpt-4.1-mini retires in 47 days (2027-01-15).'),
        ],
        callers: NAMES.map((name, at) => ({ name, ...sums(6 - at), net: at * DOLLAR, unbilled: 0 })),
        conversations: NAMES.map((caller, at) => ({
          caller,
          conversation: `${at}a1b2c3d4e5f60718`,
          model: at === 2 ? null : 'gpt-4.1',
          ...sums(at),
          net: (2 - at) * DOLLAR,
        })),
      };
    });
    await answer(page, /\/v1\/admin\/callers/, (own) => {
      const [one = {}] = own.data as Json[];
      const data = NAMES.map((name, at) => ({
        ...one,
        name,
        kind: at % 2 === 0 ? 'access_key' : 'tenant',
        key: at % 2 === 0 ? 'made' : null,
        state: at === 4 ? 'disabled' : 'active',
        ...(at % 2 === 0
          ? {
              limits_from: 'operator',
              limits: { usd_per_day: 5, usd_per_month: 80, requests_per_minute: 60 },
            }
          : {}),
      }));
      return { ...own, data };
    });
    await enter(page);
    await expect.poll(() => page.locator('.caller').count()).toBe(NAMES.length);
    await expectShownWell(page, 'operator-much');
  });

  it('is shown well where all of it fails', async () => {
    const page = await open({ at: '#/operator', expected: [500] });
    await enter(page);
    await expect.poll(() => page.locator('.caller').count()).toBeGreaterThan(0);
    await expectShownWell(page, 'operator-little');
    await fail(page, /\/v1\/admin\//);
    await page.getByText('30 days').click();
    await page.getByRole('button', { name: 'Look again' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBeGreaterThan(1);
    await expectShownWell(page, 'operator-failed');
  });
});
