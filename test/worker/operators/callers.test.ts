/** The operator's routes of callers: who they are, adding, closing and deleting them. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { TenantMemory } from '../../../src/index.ts';
import { DAY_MS, dayOf } from '../../../src/lib/utc-time.ts';
import {
  callerPage,
  caller as callerSchema,
  overview,
  type ShownCaller,
} from '../../../src/reference/schemas/admin.ts';
import { notifyWeek } from '../../../src/routes/admin/overview.ts';
import { REGISTER } from '../../../src/storage/objects.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { untilDayLasts } from '../../support/day.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import { startApp, TENANTS, watchedObjects } from '../support.ts';

beforeEach(quiet);
beforeEach(() => untilDayLasts(20_000), 60_000);
const ADMIN_TOKEN = 'the-token-of-the-operator';
const UPSTREAM_API_KEY = 'sk-the-key-of-the-deployment';
const MODEL = 'gpt-4.1-mini';
const SECRET = 'words that no operator reads';
const QUESTION = { model: MODEL, messages: [{ role: 'user', content: SECRET }] };
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 0 },
};

/** Reading 40 callers takes longer than the second of `waitFor` where other suites run. */
const WHILE_BUSY = { timeout: 20_000 };

const WITHOUT_OPERATOR = { ADMIN_TOKEN: undefined } as unknown as Partial<Env>;

let made = 0;

/** A deployment with a caller in `ACCESS_KEYS`, and an operator. */
function deployment(variables: Partial<Env> = {}) {
  const name = `someone-${made++}`;
  const key = `a-key-of-the-caller-${name}`;
  const objects = watchedObjects(env.TENANT_MEMORY as DurableObjectNamespace);
  const given = { ADMIN_TOKEN, TENANT_MEMORY: objects.namespace };
  const access = { ACCESS_KEYS: `${name}=${key}`, UPSTREAM_API_KEY };
  const started = startApp(env.REFS, { ...given, ...access, ...variables }, key);
  vi.mocked(globalThis.fetch).mockImplementation(async () => Response.json({ choices: [], usage: USAGE }));
  const ask = (method: string, path = '', body?: unknown, token = ADMIN_TOKEN): Promise<Response> =>
    started.request(`/v1/admin/callers${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const shownBy = async (answer: Promise<Response>): Promise<ShownCaller> =>
    callerSchema.parse(await (await answer).json());
  const chatAs = (token: string, body: object = QUESTION): Promise<Response> =>
    started.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  return { ...started, name, key, objects, ask, shownBy, chatAs };
}

async function codeOf(asked: Promise<Response>): Promise<string> {
  const answer = await asked;
  if (answer.ok) return 'ok';
  return ((await answer.json()) as { error: { code: string } }).error.code;
}

describe('the operator’s routes of callers', () => {
  const ROUTES = [
    ['GET', ''],
    ['GET', '/a'],
    ['PUT', '/a'],
    ['PATCH', '/a'],
    ['DELETE', '/a'],
  ] as const;

  it.each(ROUTES)(
    'are there for the token alone, and only where there is one: %s %s',
    async (method, path) => {
      shorten({ metricsBatchMs: 1 });
      const { ask, key } = deployment();
      for (const token of [key, 'x'.repeat(25), UPSTREAM_API_KEY])
        expect((await ask(method, path, undefined, token)).status).toBe(401);
      const closed = deployment(WITHOUT_OPERATOR);
      expect((await closed.ask(method, path)).status).toBe(404);
      expect(closed.sent).toEqual([]);
      expect(closed.objects.calls).toEqual([]);
    },
  );

  it('tell who uses the deployment and how much, and never what for', async () => {
    const limits = { usd_per_day: 1 };
    // Files share the storage, and callers with a name its tenant.
    const name = `known-${made++}`;
    const key = `a-key-of-the-caller-${name}`;
    const { chatAs, ask, shownBy } = deployment({
      ACCESS_KEYS: `${name}=${key}`,
      CALLER_LIMITS: JSON.stringify({ [name]: limits }),
    });
    await chatAs(key, { ...QUESTION, conversation_id: SECRET, memory_strategy: { mode: 'compact' } });
    const answer = await ask('GET', `/${name}`);
    expect(answer.headers.get('cache-control')).toBe('private, no-store');
    const text = await answer.text();
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(key);
    const amount = 1_000 * 400 + 100 * 1_600;
    const shown = () => shownBy(ask('GET', `/${name}`));
    await expect.poll(shown).toMatchObject({
      kind: 'access_key',
      state: 'active',
      key: 'configured',
      limits,
      limits_from: 'configuration',
      // The counters equal the bills.
      today: {
        requests: { requests: 1, billed: 1, actual: amount },
        counted: { requests: 1, tokens: 1_100, amount },
      },
      month: { requests: { actual: amount }, counted: { amount } },
    });
    expect((await shown()).last_seen_at).toBeGreaterThan(Date.now() / 1_000 - 100_000);
  });

  it('sum up two callers in a bounded number of calls, without a name of a conversation', async () => {
    const names = ['ann', 'ben'].map((one) => `${one}-${made++}`);
    const keys = names.map((one) => `a-key-of-the-caller-${one}`);
    const { chatAs, request, objects } = deployment({
      ACCESS_KEYS: names.map((one, at) => `${one}=${keys[at]}`).join(','),
      CALLER_LIMITS: JSON.stringify({ [names[1] ?? '']: { usd_per_day: 0.0006 } }),
    });
    const read = async (query: string) => {
      const before = objects.calls.length;
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const text = await (await request(`/v1/admin/overview${query}`, { headers })).text();
      return { text, calls: objects.calls.slice(before) };
    };
    const asked = { ...QUESTION, conversation_id: SECRET, memory_strategy: { mode: 'compact' } };
    for (const key of keys) await (await chatAs(key, asked)).text();
    // Objects of tests have no `ADMIN_TOKEN`, so they do not report themselves.
    const register = env.TENANT_MEMORY.getByName(REGISTER) as DurableObjectStub<TenantMemory>;
    for (const name of names) await register.see(new Tenants(env.PRECIS_SECRET).ofName(name).id);
    await vi.waitFor(async () => {
      const { callers } = overview.parse(JSON.parse((await read('?days=1&most=400')).text));
      expect(callers.filter(({ name, requests }) => names.includes(name) && requests === 1)).toHaveLength(2);
    }, WHILE_BUSY);
    const amount = 1_000 * 400 + 100 * 1_600;
    const { text, calls } = await read('?days=1&most=400');
    const all = overview.parse(JSON.parse(text));
    expect(text).not.toContain(SECRET);
    expect(calls).toHaveLength(all.read.storage_calls);
    for (const name of names) {
      expect(all.callers.find((one) => one.name === name)).toMatchObject({ paid: amount, failed: 0, net: 0 });
      expect(all.conversations.filter(({ caller }) => caller === name)).toMatchObject([
        { model: MODEL, requests: 1, paid: amount, conversation: expect.stringMatching(/^[0-9a-f]{16}$/) },
      ]);
    }
    expect(all.alerts).toContainEqual(expect.objectContaining({ code: 'budget', caller: names[1] }));
    expect(all.alerts.filter(({ caller }) => caller === names[0])).toEqual([]);
    expect(all.total.requests).toBe(all.data[0]?.requests);

    const few = await read('?most=1');
    expect(overview.parse(JSON.parse(few.text)).read).toMatchObject({ read: 1, storage_calls: 3 });
    expect(few.calls.toSorted()).toEqual(['callers.read', 'callers.seenSince', 'overview']);
    objects.failing.add('overview');
    expect(overview.parse(JSON.parse((await read('?most=1')).text)).read).toMatchObject({ failed: 1 });
    expect((await request('/v1/admin/overview')).status).toBe(401);
    expect((await read('?most=401')).text).toContain('invalid_value');
  });

  it('sum up a week for the callback of its deployer, once, and without names', async () => {
    const { chatAs, key, name, objects } = deployment();
    await (await chatAs(key, { ...QUESTION, conversation_id: SECRET })).text();
    const register = env.TENANT_MEMORY.getByName(REGISTER) as DurableObjectStub<TenantMemory>;
    await register.see(new Tenants(env.PRECIS_SECRET).ofName(name).id);
    const today = dayOf(Date.now());
    // The first after today. Day 0 was a Thursday.
    const monday = (today + 7 - ((today + 3) % 7)) * DAY_MS;
    const hook = { WEBHOOK_URL: 'https://hooks.test/', WEBHOOK_SECRET: `whsec_${btoa('x'.repeat(24))}` };
    const sentAt = async (at: number, variables: Partial<Env>) => {
      vi.mocked(globalThis.fetch).mockClear();
      await notifyWeek({ ...env, TENANT_MEMORY: objects.namespace, ...variables } as Env, at);
      return vi.mocked(globalThis.fetch).mock.calls.map(([, init]) => JSON.parse(String(init?.body)));
    };
    const due = monday + 15 * 60_000;
    await vi.waitFor(async () => {
      const [event, ...others] = await sentAt(due, { ADMIN_TOKEN, ...hook });
      expect(others).toEqual([]);
      expect(event).toMatchObject({
        type: 'week.ended',
        data: { text: expect.stringMatching(/^This week/) },
      });
      expect(event.data.requests).toBeGreaterThan(0);
      expect(JSON.stringify(event)).not.toContain(name);
      expect(JSON.stringify(event)).not.toContain(SECRET);
    }, WHILE_BUSY);
    for (const at of [monday, due + 15 * 60_000, due + DAY_MS])
      expect(await sentAt(at, { ADMIN_TOKEN, ...hook })).toEqual([]);
    expect(await sentAt(due, hook)).toEqual([]);
    expect(await sentAt(due, { ADMIN_TOKEN })).toEqual([]);
    objects.failing.add('callers.seenSince');
    expect(await sentAt(due, { ADMIN_TOKEN, ...hook })).toEqual([]);
  });

  it('list all callers page by page, names of keys before other tenants', async () => {
    const names = ['zoe', 'ann', 'bob'].map((one) => `${one}-${made}`);
    const keys = names.map((one) => `${one}=a-key-of-the-caller-${one}`).join(',');
    const { ask } = deployment({ ACCESS_KEYS: keys });
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = callerPage.parse(await (await ask('GET', `?limit=2${query}`)).json());
      found.push(...page.data.map((one) => one.name));
      ({ cursor } = page);
    } while (cursor !== null && found.length < 500);
    expect(new Set(found).size).toBe(found.length);
    expect(names.every((one) => found.includes(one))).toBe(true);
    const tenants = found.findIndex((one) => one.startsWith('tenant-'));
    expect(found.slice(0, tenants < 0 ? undefined : tenants)).toEqual(
      found.filter((one) => !one.startsWith('tenant-')).sort(),
    );
    expect(await codeOf(ask('GET', '?limit=21'))).toBe('invalid_value');
    expect(await codeOf(ask('GET', '?cursor=x'))).toBe('invalid_value');
  });

  it('list other tenants after a page that the last names have filled', async () => {
    const other = deployment();
    await other.chatAs(other.key, {
      ...QUESTION,
      conversation_id: 'seen',
      memory_strategy: { mode: 'compact' },
    });
    const { ask } = deployment();
    const pageAt = async (query: string) => callerPage.parse(await (await ask('GET', query)).json());
    let last = await pageAt('?limit=1');
    while (last.cursor?.startsWith('name:'))
      last = await pageAt(`?limit=1&cursor=${encodeURIComponent(last.cursor)}`);
    expect(last.data[0]?.name).not.toMatch(/^tenant-/);

    const next = await pageAt(`?limit=1&cursor=${encodeURIComponent(`${last.cursor}`)}`);
    expect(next.data[0]?.name).toMatch(/^tenant-/);
  });

  it('refuse what can’t be read, and names the field', async () => {
    const { ask, name } = deployment();
    for (const [body, param] of [
      [[], null],
      [{ other: 1 }, 'other'],
      [{ state: 'deleted' }, 'state'],
      [{ limits: { usd: 1 } }, 'limits'],
      [{ limits: { usd_per_day: -1 } }, 'limits'],
      [{ new_key: 1 }, 'new_key'],
      [{ new_key: true }, 'new_key'],
    ] as const) {
      const answer = await ask('PATCH', `/${name}`, body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { code: param === null ? 'invalid_json' : 'invalid_value', param },
      });
    }
    const failures = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    expect(await codeOf(ask('PUT', '/no%20name', {}))).toBe('invalid_value');
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(await codeOf(ask(method, '/nobody', method === 'PATCH' ? {} : undefined))).toBe(
        'caller_not_found',
      );
    expect(await codeOf(ask('PUT', '/tenant-000000000000', {}))).toBe('caller_not_found');
    // No storage has failed.
    expect(failures).not.toHaveBeenCalled();
  });
});

describe('a caller that an operator adds', () => {
  it('has a key that is shown once, works, and can be changed', async () => {
    const { ask, shownBy, chatAs, objects } = deployment();
    const name = `added-${made++}`;
    const answer = await ask('PUT', `/${name}`, { limits: { requests_per_minute: 1 } });
    expect(answer.status).toBe(201);
    const { access_key: first = '', ...added } = callerSchema.parse(await answer.json());
    expect(added).toMatchObject({ name, key: 'made', limits_from: 'operator', state: 'active' });
    expect(await codeOf(chatAs(first))).toBe('ok');
    expect(await codeOf(chatAs(first))).toBe('rate_limited');
    const again = await shownBy(ask('PUT', `/${name}`, {}));
    expect(again).toMatchObject({ limits: null });
    expect(again.access_key).toBeUndefined();
    expect(await codeOf(chatAs(first))).toBe('ok');
    const { access_key: second = '' } = await shownBy(ask('PATCH', `/${name}`, { new_key: true }));
    expect(second).not.toBe(first);
    expect(await codeOf(chatAs(first))).toBe('invalid_api_key');
    expect(await codeOf(chatAs(second))).toBe('ok');
    expect(await shownBy(ask('GET', `/${name}`))).not.toHaveProperty('access_key');
    expect(objects.calls).toContain('callers.change');
    const stored = await (
      TENANTS.getByName('callers') as unknown as {
        callers: { read(known: null): Promise<unknown> };
      }
    ).callers.read(null);
    expect(JSON.stringify(stored)).not.toContain(second);
  });

  it('keeps its key while a secret is rotated', async () => {
    const { ask, shownBy } = deployment();
    const name = `added-${made++}`;
    const { access_key = '' } = await shownBy(ask('PUT', `/${name}`, {}));
    const rotated = deployment({
      PRECIS_SECRET: 'another-secret-for-tests',
      PRECIS_SECRET_PREVIOUS: env.PRECIS_SECRET,
    });
    expect(await codeOf(rotated.chatAs(access_key))).toBe('ok');
    const other = deployment({ PRECIS_SECRET: 'another-secret-for-tests' });
    expect(await codeOf(other.chatAs(access_key))).toBe('invalid_api_key');
  });
});

describe('a key that was made for a name', () => {
  it.each(['PUT', 'PATCH'])('ends when ACCESS_KEYS has the name, and %s drops it', async (method) => {
    const name = `added-${made++}`;
    const first = deployment();
    const { access_key = '' } = await first.shownBy(first.ask('PUT', `/${name}`));
    expect(await codeOf(first.chatAs(access_key))).toBe('ok');
    const configured = `a-key-of-the-list-for-${name}`;

    const then = deployment({ ACCESS_KEYS: `${name}=${configured}` });
    expect(await codeOf(then.chatAs(access_key))).toBe('invalid_api_key');
    expect(await codeOf(then.chatAs(configured))).toBe('ok');

    await then.ask(method, `/${name}`, {});
    const without = deployment();
    expect(await codeOf(without.chatAs(access_key))).toBe('invalid_api_key');
  });
});

describe('a caller that an operator closes', () => {
  it('is refused while it is disabled, in all its routes, and its data stays', async () => {
    const { ask, shownBy, chatAs, request, key, name } = deployment();
    await request('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text: 'kept' }) });
    expect(await shownBy(ask('PATCH', `/${name}`, { state: 'disabled' }))).toMatchObject({
      state: 'disabled',
    });
    expect(await codeOf(chatAs(key))).toBe('caller_disabled');
    expect((await chatAs(key)).status).toBe(403);
    expect(await codeOf(request('/v1/blocks'))).toBe('caller_disabled');
    expect(await codeOf(request('/v1/models'))).toBe('caller_disabled');
    await ask('PATCH', `/${name}`, { state: 'active' });
    expect(await codeOf(chatAs(key))).toBe('ok');
    expect(await (await request('/v1/blocks/team')).json()).toMatchObject({ text: 'kept' });
  });

  it('loses its data and its key when it is deleted, though the key is in ACCESS_KEYS', async () => {
    const { ask, shownBy, chatAs, request, key, name } = deployment();
    await request('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text: 'gone' }) });
    const gone = await ask('DELETE', `/${name}`);
    expect(await gone.json()).toEqual({ name, object: 'memory.caller.deleted', deleted: true });
    expect(await codeOf(chatAs(key))).toBe('invalid_api_key');
    expect(await shownBy(ask('GET', `/${name}`))).toMatchObject({ state: 'deleted', key: 'configured' });
    expect(await codeOf(ask('PATCH', `/${name}`, { state: 'active' }))).toBe('caller_not_found');
    // Again a caller, without what it had.
    expect(await shownBy(ask('PUT', `/${name}`, {}))).toMatchObject({ state: 'active' });
    expect(await codeOf(chatAs(key))).toBe('ok');
    expect(await codeOf(request('/v1/blocks/team'))).toBe('block_not_found');
  });

  it('is refused by its object at once, whatever an isolate knows of it', async () => {
    const name = `known-${made++}`;
    const key = `a-key-of-the-caller-${name}`;
    const variables = {
      ACCESS_KEYS: `${name}=${key}`,
      CALLER_LIMITS: JSON.stringify({ [name]: { usd_per_day: 1 } }),
    };
    const isolate = deployment(variables);
    const other = deployment(variables);
    expect(await codeOf(isolate.chatAs(key))).toBe('ok');
    await other.ask('DELETE', `/${name}`);
    expect(await codeOf(isolate.chatAs(key))).toBe('invalid_api_key');
    await other.ask('PUT', `/${name}`, { state: 'disabled' });
    expect(await codeOf(isolate.chatAs(key))).toBe('caller_disabled');
  });

  it('without an access key is named in short, closed and deleted by it', async () => {
    const own = `sk-a-key-of-its-own-${made++}`;
    const variables = { ACCESS_KEYS: undefined, UPSTREAM_API_KEY: undefined } as unknown as Partial<Env>;
    const { chatAs, ask, shownBy, services } = deployment(variables);
    const { id } = services().tenants.ofToken(own);
    await services().register((stub) => stub.see(id));
    const name = `tenant-${id.slice(0, 12)}`;
    expect(await shownBy(ask('GET', `/${name}`))).toMatchObject({ kind: 'tenant', key: null, limits: null });
    expect(await codeOf(ask('PATCH', `/${name}`, { limits: { usd_per_day: 1 } }))).toBe('invalid_value');
    expect(await codeOf(ask('PUT', '/somebody', {}))).toBe('caller_not_found');
    expect(await codeOf(chatAs(own))).toBe('ok');
    await ask('PATCH', `/${name}`, { state: 'disabled' });
    expect(await codeOf(chatAs(own))).toBe('caller_disabled');
    expect((await ask('DELETE', `/${name}`)).status).toBe(200);
    expect(await codeOf(chatAs(own))).toBe('invalid_api_key');
    expect(await shownBy(ask('PUT', `/${name}`, {}))).toMatchObject({ state: 'active' });
    expect(await codeOf(chatAs(own))).toBe('ok');
  });

  it('without an access key stays closed while a secret is rotated', async () => {
    const own = { ACCESS_KEYS: undefined, UPSTREAM_API_KEY: undefined } as unknown as Partial<Env>;
    const key = `sk-a-caller-with-its-own-key-${made++}`;
    const { id } = new Tenants(env.PRECIS_SECRET).ofToken(key);
    const { ask, chatAs } = deployment(own);
    await (env.TENANT_MEMORY.getByName(REGISTER) as DurableObjectStub<TenantMemory>).see(id);
    const path = `/tenant-${id.slice(0, 12)}`;
    expect((await ask('PATCH', path, { state: 'disabled' })).status).toBe(200);
    expect(await codeOf(chatAs(key))).toBe('caller_disabled');

    const rotated = deployment({
      ...own,
      PRECIS_SECRET: 'another-secret-for-tests',
      PRECIS_SECRET_PREVIOUS: env.PRECIS_SECRET,
    });

    expect(await codeOf(rotated.chatAs(key))).toBe('caller_disabled');
    expect((await rotated.ask('PATCH', path, { state: 'active' })).status).toBe(200);
    expect(await codeOf(rotated.chatAs(key))).toBe('ok');
  });
});

describe('a register that does not answer', () => {
  beforeEach(() => shorten({ registerMs: 20 }));

  it.each(['failing', 'hanging'] as const)(
    'has requests refused, unless the deployment says otherwise: %s',
    async (way) => {
      const { chatAs, key, objects, sent } = deployment();
      objects[way].add('callers.read');
      const refused = await chatAs(key);
      expect(refused.status).toBe(503);
      expect(sent).toEqual([]);
      const open = deployment({ LIMITS_UNREACHABLE: 'allow' });
      open.objects[way].add('callers.read');
      expect(await codeOf(open.chatAs(open.key))).toBe('ok');
      expect(await codeOf(open.chatAs('a-key-of-nobody-at-all-here'))).toBe('invalid_api_key');
    },
  );
});

describe('the services', () => {
  it('ask no register in a deployment without an operator', async () => {
    const { chatAs, key, objects } = deployment(WITHOUT_OPERATOR);
    expect(await codeOf(chatAs(key))).toBe('ok');
    expect(objects.calls).toEqual([]);
  });
});
