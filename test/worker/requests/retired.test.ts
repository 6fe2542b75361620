/** What is retired: it is accepted for one version, says so, and its stored data still goes. */
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { objectsOf } from '../../../src/storage/conversation/sealed-objects.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { body, user } from '../../support/conversations/chat.ts';
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
