import { describe, expect, it } from 'vitest';
import { BELIEFS, isolateMemory, rememberedOf } from '../../../src/request/beliefs.ts';
import type { Memory } from '../../../src/storage/conversation/memories.ts';

describe('versions that an isolate remembers', () => {
  it.each(['memory_text', 'signed'])('are bounded by their bytes in %s', (field) => {
    const versions = rememberedOf(isolateMemory(), 'of one conversation').of('versions');
    const long = { memory_text: 'short', signed: null, [field]: 'x'.repeat(500_000) };
    const keys = Array.from({ length: 40 }, (_, index) => `version ${index}`);
    for (const key of keys) versions.keep(key, { ...long } as unknown as Memory, Date.now());
    expect(versions.get(keys.at(-1) ?? '')?.value).toEqual(long);
    const left = keys.filter((key) => versions.get(key) !== undefined);
    expect(left.length * 500_000).toBeLessThanOrEqual(BELIEFS.versions.bytes);
  });
});
