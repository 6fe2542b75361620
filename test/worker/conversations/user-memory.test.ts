import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { UserMemory } from '../../../src/index.ts';
import { StoreError } from '../../../src/lib/store-error.ts';
import type { LogFields } from '../../../src/log.ts';
import {
  conversationName,
  idOfSession,
  sessionIn,
  userName,
} from '../../../src/storage/conversation/names.ts';
import { objectCaller, userMemory } from '../../../src/storage/objects.ts';
import type { UserSummary } from '../../../src/storage/tenant/remote.ts';

let made = 0;

function user(evicted = false) {
  const name = `user ${made++}`;
  const stub = env.USER_MEMORY.getByName(name) as DurableObjectStub<UserMemory>;
  const call = async <Result>(
    use: (memory: UserMemory, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result> => {
    const result = await runInDurableObject(stub, use);
    if (evicted) await evictDurableObject(stub);
    return result;
  };
  const put = (conversation: string, at: number, text = `summary of ${conversation}`) =>
    call((memory) => memory.put({ conversation, text, at }));
  const latest = (most = 100, except = '') => call((memory) => memory.latest({ except, most }));
  return { name, call, put, latest };
}

const names = (summaries: readonly UserSummary[]): string[] =>
  summaries.map(({ conversation }) => conversation);

describe.each([
  { life: 'awake', evicted: false },
  { life: 'evicted after each call', evicted: true },
])('a user’s memory, $life', ({ evicted }) => {
  it('gives the newest first, without the asking conversation, as many as are wanted', async () => {
    const { put, latest } = user(evicted);
    await put('old', 1);
    await put('new', 3);
    await put('middle', 2);
    const since = expect.any(Number);
    expect(await latest(2)).toEqual([
      { conversation: 'new', text: 'summary of new', at: 3, since },
      { conversation: 'middle', text: 'summary of middle', at: 2, since },
    ]);
    expect(names(await latest(2, 'new'))).toEqual(['middle', 'old']);
  });

  it('holds one summary of each conversation, the newest, in whatever order they arrive', async () => {
    const { put, latest } = user(evicted);
    await put('one', 2, 'second');
    await put('one', 3, 'third');
    await put('one', 1, 'first');
    expect(await latest()).toMatchObject([{ conversation: 'one', text: 'third', at: 3 }]);
  });

  it('forgets one conversation', async () => {
    const { call, put, latest } = user(evicted);
    await put('one', 1);
    await put('two', 2);
    await call((memory) => memory.forget('two'));
    expect(names(await latest())).toEqual(['one']);
  });

  it('knows the entries that a block was made of, until one is deleted', async () => {
    const { call, put, latest } = user(evicted);
    await put('one', 1);
    await put('two', 1);
    const sources = (await latest()).map(({ conversation, since }) => ({ conversation, since }));
    const holds = () => call((memory) => memory.holds(sources));
    await put('two', 2, 'more of two');
    expect(await holds()).toBe(true);
    expect(await call((memory) => memory.forget('two'))).toBe(true);
    expect(await call((memory) => memory.forget('two'))).toBe(false);
    expect(await holds()).toBe(false);
    // A later entry of the same conversation is another one.
    await new Promise((resolve) => setTimeout(resolve, 2));
    await put('two', 3);
    expect(await holds()).toBe(false);
    expect(await call((memory) => memory.holds([]))).toBe(true);
  });

  it('stores nothing by looking', async () => {
    const { call, put, latest } = user(evicted);
    const tables = () =>
      call((_, { storage }) => storage.sql.exec('SELECT name FROM sqlite_master').toArray());
    expect(await latest()).toEqual([]);
    await call((memory) => memory.forget('one'));
    await call((memory) => memory.holds([{ conversation: 'one', since: 1 }]));
    expect(await tables()).toEqual([]);
    await put('one', 1);
    expect(await tables()).not.toEqual([]);
  });
});

describe('a user’s memory', () => {
  it('keeps the newest 50 conversations', async () => {
    const { call, latest } = user();
    await call((memory) => {
      for (let at = 0; at < 60; at++) memory.put({ conversation: `${at}`, text: '', at });
    });
    expect((await latest()).map(({ at }) => at)).toEqual(
      Array.from({ length: 50 }, (_, index) => 59 - index),
    );
  });

  it('refuses a text that no row may hold', async () => {
    const { call } = user();
    await call((memory) => {
      const text = 'x'.repeat(1_000_001);
      expect(() => memory.put({ conversation: 'one', text, at: 1 })).toThrow(RangeError);
    });
  });

  it('is callable from the Worker, by name', async () => {
    const { name, latest } = user();
    await userMemory(env, name, () => {})((stub) => stub.put({ conversation: 'one', text: 'said', at: 1 }));
    expect(await latest()).toMatchObject([{ conversation: 'one', text: 'said', at: 1 }]);
  });
});

describe('the name of an object', () => {
  it('keeps tenant, user and session apart, whatever they are called', () => {
    expect(conversationName('t', 'a b', { id: 'c/ü' })).toBe('t:a%20b:c%2F%C3%BC');
    expect(conversationName('t', undefined, { id: 'c' })).toBe('t::c');
    expect(userName('t', 'a:b')).toBe('t:a%3Ab');
    const pairs = [
      ['a:b', 'c'],
      ['a', 'b:c'],
      ['', 'a:b:c'],
      ['a%3Ab', 'c'],
      ['\ud83d', 'c'],
      ['\ufffd', 'c'],
      ['%uD83D', 'c'],
      ['😀', 'c'],
    ];
    const all = pairs.map(([user, id]) => conversationName('t', user, { id: id ?? '' }));
    expect(new Set(all).size).toBe(pairs.length);
  });

  it('gives back the id that a caller has given', () => {
    for (const id of ['c/ü', 'a:b', '100%', '%uD83D', '\ud83d', '😀', '#abc', '##abc', 'a b'])
      expect(idOfSession(sessionIn(conversationName('t', 'u', { id })))).toBe(id);
    expect(idOfSession(sessionIn(conversationName('t', 'u', { id: 'é'.repeat(256) })))).toMatch(
      /^##[0-9a-f]{64}$/,
    );
  });

  it('of a session that code has made is not to be had by a caller', () => {
    const made = conversationName('t', undefined, { hash: 'abc' });
    expect(made).toBe('t::#abc');
    expect(conversationName('t', undefined, { id: '#abc' })).not.toBe(made);
  });
});

describe('calling an object', () => {
  /** Throws these in order, then answers. */
  function calls(...thrown: object[]) {
    const opened: number[] = [];
    const logged: (LogFields | undefined)[] = [];
    const call = objectCaller(
      () => opened.push(opened.length),
      (_level, _message, fields) => logged.push(fields),
    );
    const answer = call(async () => {
      const error = thrown.shift();
      if (error) throw error;
      return 'answer';
    }).catch((error: unknown) => error);
    return { opened, answer, logged };
  }
  const retryable = Object.assign(new Error('moved'), { retryable: true });
  const overloaded = Object.assign(new Error('overloaded'), { retryable: true, overloaded: true });

  it('is tried once more on a new stub when the platform says so', async () => {
    const { opened, answer, logged } = calls(retryable);
    expect(await answer).toBe('answer');
    expect(opened).toHaveLength(2);
    expect(logged).toEqual([{ code: 'store_failed', error: 'Error', at: expect.any(String) }]);
  });

  it('is not tried a third time', async () => {
    const { opened, answer } = calls(retryable, retryable);
    expect(await answer).toEqual(new StoreError(retryable));
    expect(opened).toHaveLength(2);
  });

  it('is never tried again on an overloaded object, or after any other error', async () => {
    for (const error of [overloaded, new Error('thrown by the object')]) {
      const { opened, answer } = calls(error);
      expect(await answer).toEqual(new StoreError(error));
      expect(opened).toHaveLength(1);
    }
  });
});
