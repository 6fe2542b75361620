import { describe, expect, it, vi } from 'vitest';
import type { Message } from '../../../src/memory/conversation/message.ts';
import type { TokenMeasure } from '../../../src/memory/models/facts.ts';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import { ContentCaches } from '../../../src/request/content-caches.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { read, user } from '../../support/conversations/chat.ts';

/**
 * A message of one request, and how often its content was read. Requests of two tenants never share
 * one, since known arrays are kept for each tenant.
 */
function watched(): { message: Message; readings: () => number } {
  const [message] = read([user('what a tenant has sent')]);
  if (!message) throw new Error('a message was written');
  const content = vi.spyOn(message, 'content');
  return { message, readings: () => content.mock.calls.length };
}

function isolate() {
  const memory = isolateMemory();
  return { of: (tenant: string) => new ContentCaches(memory, tenant) };
}

async function count(
  caches: ContentCaches,
  message: Message,
  measure: TokenMeasure = 'o200k_base',
): Promise<number> {
  const { counter } = await caches.counting(measure);
  return counter.message(message);
}

describe('what an isolate has learned', () => {
  it('F7: counts a text of one tenant again for another', async () => {
    const { of } = isolate();
    const { message, readings } = watched();
    await count(of('a'), message);
    expect(readings()).toBe(1);
    await count(of('a'), message);
    expect(readings()).toBe(1);
    await count(of('a'), message, 'cl100k_base');
    expect(readings()).toBe(2);
    await count(of('a'), message, 'o200k_base*1.25');
    expect(readings()).toBe(3);
    const [again, other] = [watched(), watched()];
    await count(of('a'), again.message);
    expect(again.readings()).toBe(0);
    await count(of('b'), other.message);
    expect(other.readings()).toBe(1);
  });

  it('F7: shares nothing between requests without a tenant', async () => {
    const { message, readings } = watched();
    const request = ContentCaches.ofRequest();
    await count(request, message);
    await count(request, message);
    expect(readings()).toBe(1);
    const other = watched();
    await count(ContentCaches.ofRequest(), other.message);
    expect(other.readings()).toBe(1);
  });

  it('F7: keeps markers, facts, previews and digests apart', async () => {
    const { of } = isolate();
    const fill = async (caches: ContentCaches, value: string): Promise<string[]> => {
      const { facts, previews } = await caches.counting('o200k_base');
      const fact = { name: value } as ReturnType<typeof facts.remember>;
      return [
        previews.remember('key', () => value),
        caches.digests.remember('key', () => value),
        facts.remember('key', () => fact).name,
      ];
    };
    await fill(of('a'), 'of a');
    expect(await fill(of('b'), 'of b')).toEqual(['of b', 'of b', 'of b']);
    expect(await fill(of('a'), 'later')).toEqual(['of a', 'of a', 'of a']);
    expect(await fill(ContentCaches.ofRequest(), 'nobody')).toEqual(['nobody', 'nobody', 'nobody']);
  });

  it('F7: names contents for each tenant by itself', () => {
    const tenants = new Tenants('a secret for tests only');
    let read = 0;
    const content = (): string => `content ${++read}`;
    const [one, other] = ['a', 'b'].map((name) => tenants.ofName(name).refs);
    const name = one?.name('key', content);
    expect(one?.name('key', content)).toBe(name);
    expect(read).toBe(1);
    expect(other?.name('key', content)).not.toBe(name);
    expect(read).toBe(2);
  });
});
