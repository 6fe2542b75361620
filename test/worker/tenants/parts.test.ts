/** What other isolates can call of a tenant's object: its parts. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import { TENANTS } from '../support.ts';

const PARTS = {
  conversations: [
    'find',
    'list',
    'namesOfSession',
    'namesWith',
    'noteRead',
    'refsOf',
    'release',
    'unreferenced',
  ],
  blocks: ['change', 'delete', 'find', 'list', 'read'],
  saved: ['conversationAfter', 'takeRefs', 'userAfter', 'usersOf'],
  callers: ['change', 'read', 'seen', 'seenAmong', 'seenSince', 'unsee'],
  signOuts: ['latest', 'note'],
} satisfies { readonly [Part in keyof TenantMemory]?: readonly string[] };

it('is the methods that its parts name', async () => {
  const stub = env.TENANT_MEMORY.getByName('parts') as DurableObjectStub<TenantMemory>;
  const found = await runInDurableObject(stub, (memory) =>
    Object.keys(PARTS).map((part) => [part, Object.keys(Reflect.get(memory, part)).sort()]),
  );
  expect(Object.fromEntries(found)).toEqual(PARTS);
});

it('is nothing that a part keeps to itself', async () => {
  const stub = TENANTS.getByName('parts') as unknown as {
    readonly [part: string]: { readonly [method: string]: () => Promise<unknown> };
  };
  expect(await stub.blocks?.list?.()).toEqual([]);
  for (const path of ['blocks.clear', 'conversations.retire', 'saved.putBack', 'callerRows.read']) {
    const [part = '', method = ''] = path.split('.');
    await expect(stub[part]?.[method]?.()).rejects.toThrow();
  }
});
