/** What is retired: it is accepted for one version, says so, and its stored data still goes. */
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { objectsOf } from '../../../src/storage/conversation/sealed-objects.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, result, user } from '../../support/conversations/chat.ts';
import { startApp } from '../support.ts';

const TALK = body([user('go')]);
let keys = 0;

function caller(variables: object = {}) {
  const key = `sk-a-caller-who-sets-what-is-retired-${++keys}`;
  const app = startApp(env.REFS, variables as Partial<Env>, key);
  const warnings = async (fields: object): Promise<string[]> => {
    const answer = await app.chat({ ...TALK, memory_strategy: 'compact', memory_report: true, ...fields });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { memory: { warnings: string[] } }).memory.warnings;
  };
  return { app, warnings, tenant: new Tenants(env.PRECIS_SECRET).ofToken(key).id };
}

describe('a retired field of a strategy', () => {
  const CONDENSE = { mode: 'auto', condense: true };
  const record = result('c', JSON.stringify([{ id: 1 }, { id: 2 }], null, 200));
  const call = { id: 'c', type: 'function', function: { name: 'find', arguments: '{}' } };
  const READ = body([user('go'), { role: 'assistant', content: null, tool_calls: [call] }, record]);

  it.each([CONDENSE, { ...CONDENSE, condense: false }, { ...CONDENSE, condense: 'of any form' }])(
    'is accepted without effect, with a warning: %j',
    async (memory_strategy) => {
      const { app, warnings } = caller();
      expect(await warnings({ ...READ, memory_strategy })).toContain('retired');
      expect(JSON.parse(app.sent.at(-1)?.body ?? '').messages).toEqual(READ.messages);
    },
  );

  it('is no setting where it is null, and none of another mode', async () => {
    const { app, warnings } = caller();
    expect(await warnings({ memory_strategy: { ...CONDENSE, condense: null } })).not.toContain('retired');
    const answer = await app.chat({ ...TALK, memory_strategy: { mode: 'trim', condense: true } });
    expect(answer.status).toBe(400);
  });

  it('still loads from a header, a conversation and a deployment', async () => {
    const strategy = JSON.stringify(CONDENSE);
    const { app, warnings } = caller();
    const answer = await app.request('/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ ...TALK, memory_report: true }),
      headers: { 'x-memory-strategy': strategy },
    });
    expect(await answer.json()).toMatchObject({
      memory: { mode: 'auto', warnings: expect.arrayContaining(['retired']) },
    });

    const init = { method: 'PATCH', body: JSON.stringify({ memory_strategy: CONDENSE }) };
    expect((await app.request('/v1/conversations/c/memory', init)).status).toBe(200);
    expect(await warnings({ conversation_id: 'c', memory_strategy: undefined })).toContain('retired');

    const byDefault = caller({ DEFAULT_MEMORY_STRATEGY: strategy });
    expect(await byDefault.warnings({ memory_strategy: undefined })).toContain('retired');
  });
});

describe('a retired member of memory_report', () => {
  it.each([true, false])('is accepted as %s, with a warning', async (capture) => {
    expect(await caller().warnings({ memory_report: { capture } })).toContain('retired');
  });

  it('has the warning beside a conversation and for the whole array, too', async () => {
    const { app } = caller();
    const asked = { ...TALK, memory_strategy: 'compact', memory_report: { capture: true } };
    const init = { method: 'POST', body: JSON.stringify(asked) };
    const aside = { headers: { 'x-claude-code-request-class': 'auxiliary' } };
    for (const answer of [
      await app.request('/v1/chat/completions', { ...init, ...aside }),
      await app.request('/v1/compact', init),
    ])
      expect(await answer.json()).toMatchObject({
        memory: { warnings: expect.arrayContaining(['retired']) },
      });
  });

  it('is no setting where it is null', async () => {
    for (const memory_report of [true, {}, { capture: null }])
      expect(await caller().warnings({ memory_report })).not.toContain('retired');
  });

  it.each([1, 'true', [], { other: true }])('makes nothing else valid: %j', async (memory_report) => {
    const answer = await caller().app.chat({ ...TALK, memory_report });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { param: 'memory_report' } });
  });
});

describe('a retired variable', () => {
  it('is named to who looks at the deployment, and only where it is set', async () => {
    const retired = async (variables: object): Promise<unknown> =>
      ((await (await caller(variables).app.request('/v1/deployment')).json()) as Record<string, unknown>)
        .retired_variables;
    expect(await retired({ CAPTURE: 'anything' })).toEqual(['CAPTURE']);
    expect(await retired({})).toEqual([]);
  });
});

describe('a view that an earlier version has captured', () => {
  it('goes with its conversation', async () => {
    const { app, warnings, tenant } = caller();
    const [mine, other] = ['c', 'd'].map(
      (id) => `${tenant}/${objectsOf('capture', conversationName(tenant, undefined, { id }))}1`,
    ) as [string, string];
    for (const name of [mine, other]) await env.REFS.put(name, 'sealed');
    await warnings({ conversation_id: 'c' });
    expect((await app.request('/v1/conversations/c/memory', { method: 'DELETE' })).status).toBe(200);
    expect(await env.REFS.head(mine)).toBeNull();
    expect(await env.REFS.head(other)).not.toBeNull();
  });
});
