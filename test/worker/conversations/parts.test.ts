/** What other isolates can call of a conversation's object. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { CONVERSATIONS } from '../support.ts';

const PARTS = {
  versions: ['find', 'keepDigest', 'overview', 'pinDigest'],
  state: ['configure', 'freezeInjection', 'injection', 'settings'],
  frozenBlocks: ['at', 'freeze'],
  outputDigests: ['find', 'make'],
  keptRounds: ['add', 'find'],
  keptAnswers: ['add', 'find', 'forget', 'read'],
  coldReturns: ['find'],
  events: ['add', 'answered', 'askedAt', 'find', 'lines', 'page'],
  archive: [
    'add',
    'archivedAt',
    'count',
    'hits',
    'lacking',
    'notePacks',
    'packsAfter',
    'page',
    'search',
    'texts',
  ],
} satisfies { readonly [Part in keyof ConversationMemory]?: readonly string[] };

it('is the methods that its parts name', async () => {
  const stub = env.CONVERSATION_MEMORY.getByName('parts') as DurableObjectStub<ConversationMemory>;
  const found = await runInDurableObject(stub, (memory) =>
    Object.keys(PARTS).map((part) => [part, Object.keys(Reflect.get(memory, part)).sort()]),
  );
  expect(Object.fromEntries(found)).toEqual(PARTS);
});

it('is nothing that a part keeps to itself', async () => {
  const stub = CONVERSATIONS.getByName('parts') as unknown as {
    readonly [part: string]: { readonly [method: string]: () => Promise<unknown> };
  };
  expect(await stub.archive?.count?.()).toBe(0);
  for (const path of ['archive.strip', 'events.noteDeletion', 'versions.claim', 'index.strip']) {
    const [part = '', method = ''] = path.split('.');
    await expect(stub[part]?.[method]?.()).rejects.toThrow();
  }
});
