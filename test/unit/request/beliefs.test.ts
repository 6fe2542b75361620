/** The bounds of what an isolate believes. It has 128 MB, and bodies need the rest. */
import { describe, expect, it } from 'vitest';
import { DELETIONS_BYTES, type Kind } from '../../../src/lib/isolate-memory.ts';
import { BELIEFS, isolateMemory } from '../../../src/request/beliefs.ts';
import { toTheEnd, underHeap } from '../../support/laws/under-heap.ts';

const MIB = 1024 * 1024;
const rows = Object.entries(BELIEFS) as [keyof typeof BELIEFS, Kind][];

describe('what an isolate believes', () => {
  it('takes at most 64 MiB, all kinds together', () => {
    const bytes = rows.reduce((sum, [, row]) => sum + row.bytes, DELETIONS_BYTES);
    expect(bytes).toBeGreaterThan(32 * MIB);
    expect(bytes).toBeLessThanOrEqual(64 * MIB);
  });

  it.each(rows.filter(([name]) => name !== 'arrays'))('is forgotten with its owner (%s)', (name, row) => {
    let now = 1_000;
    const memory = isolateMemory(() => now);
    const held = memory.of(name) as {
      get(owner: string, key: string): unknown;
      set(owner: string, key: string, value: unknown): void;
    };
    const owner = row.owner === 'conversation' ? 'tenant:conversation' : 'tenant';
    const value = {
      memory_text: 'a text',
      memory: null,
      text: 'a text',
      json: 'a text',
      preamble: 'a text',
      name: 'a name',
      terms: { strategy: '', model: '', tools: '' },
      own: {},
      lines: [],
      reported: {},
    };
    held.set(owner, 'key', value);
    expect(held.get(owner, 'key')).toBeDefined();
    now += 1;
    memory.forget('tenant');
    expect(held.get(owner, 'key') !== undefined).toBe('outlivesOwner' in row);
  });

  it('of many tenants fits a heap of 100 MB', { timeout: 300_000 }, async () => {
    const work = 'remembers many tenants in every kind';
    expect(await underHeap(100, work)).toEqual(toTheEnd(work));
  });
});
