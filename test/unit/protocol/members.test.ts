import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOwnField } from '../../../src/protocol/body.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { levels } from '../../../src/protocol/json/outline.ts';
import { memberSplices, scanJson, splice } from '../../../src/protocol/json/spans.ts';
import type { Additions } from '../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { forAll } from '../../support/laws/runs.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const space = fc.constantFrom('', ' ', '\n\t', '\r\n  ');

/** An object as text, with its members in any order and white space between all tokens. */
function textOf(members: readonly (readonly [string, string])[]): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.shuffledSubarray([...members]),
      fc.array(space, { minLength: 4 * members.length + 2, maxLength: 4 * members.length + 2 }),
    )
    .map(([chosen, spaces]) => {
      let next = 0;
      const gap = () => spaces[next++] ?? '';
      const inside = chosen.map(([key, json]) => `${gap()}"${key}"${gap()}:${gap()}${json}${gap()}`);
      return `${gap()}{${inside.length > 0 ? inside.join(',') : gap()}}`;
    });
}

const OWN: [string, string][] = [
  ['memory_strategy', '"none"'],
  ['memory_report', 'true'],
  ['conversation_id', '"c"'],
  ['agent_type', 'null'],
];

const beside: fc.Arbitrary<Additions> = fc.record({
  tools: fc.constantFrom([], ['{"type":"function","name":"a"}'], ['{"name":"a"}', '{"name":"b"}']),
  shared: fc.constantFrom(undefined, { stores: true, cacheKey: (key = 'of its own') => `tenant ${key}` }),
  injected: fc.constantFrom([], [{ role: 'user' as const, content: 'Remember' }]),
  compaction: fc.constantFrom(undefined, 'cut' as const, { threshold: undefined }, { threshold: 9 }),
});

/** The members of a written body. @throws if it is not JSON */
function written(bytes: Uint8Array): Map<string, unknown> {
  scanJson(bytes, {});
  return new Map(Object.entries(JSON.parse(decoder.decode(bytes))));
}

/** The cache key `k` of a caller or none, as it is sent. */
function cacheKeyOf(isGiven: boolean, { shared }: Additions): string | undefined {
  if (!shared) return isGiven ? 'k' : undefined;
  return isGiven ? 'tenant k' : 'tenant of its own';
}

describe('the members of a forwarded body', () => {
  it('F15: are JSON where all that the caller sent was Precis’s', () => {
    const read = readResponsesRequest(encoder.encode('{"memory_strategy":"none"}'));
    if (!read.ok) throw new Error(read.reason.message);
    const shared = { stores: true, cacheKey: () => undefined };
    expect(decoder.decode(read.value.write(undefined, { shared }))).toBe('{"store":false}');
  });

  it('F15: of a response are JSON, whichever are cut and put in', () => {
    const members: [string, string][] = [
      ...OWN,
      ['model', '"m"'],
      ['store', 'true'],
      ['prompt_cache_key', '"k"'],
      ['tools', 'null'],
      ['context_management', '[{"type":"compaction"}]'],
      ['input', '"Hello"'],
    ];
    forAll(1_000, textOf(members), beside, (text, options) => {
      const read = readResponsesRequest(encoder.encode(text));
      if (!read.ok) throw new Error(read.reason.message);
      const body = written(read.value.write(undefined, options));
      const given = new Map(Object.entries(JSON.parse(text) as object));

      expect([...body.keys()].filter(isOwnField)).toEqual([]);
      for (const key of given.keys())
        if (!isOwnField(key) && key !== 'context_management') expect(body.has(key)).toBe(true);
      if (options.shared) expect(body.get('store')).toBe(false);
      else expect(body.get('store')).toBe(given.get('store'));
      expect(body.get('prompt_cache_key')).toBe(cacheKeyOf(given.has('prompt_cache_key'), options));
      if (options.tools?.length) expect(body.get('tools')).toHaveLength(options.tools.length);
      if (options.injected?.length) expect(JSON.stringify(body.get('input'))).toContain('Remember');
    });
  });

  it('F15: of a chat are JSON, whichever are cut and put in', () => {
    const members: [string, string][] = [
      ...OWN,
      ['model', '"m"'],
      ['prompt_cache_key', '"k"'],
      ['tools', 'null'],
    ];
    const messages = ', "messages" : [ {"role":"user","content":"Hello"} ] }';
    forAll(500, textOf(members), beside, (text, options) => {
      const inside = text.trim().slice(1, -1).trim();
      const read = readChatRequest(
        encoder.encode(`{${inside}${inside === '' ? messages.slice(1) : messages}`),
      );
      if (!read.ok) throw new Error(read.reason.message);
      const body = written(read.value.write(undefined, options));

      expect([...body.keys()].filter(isOwnField)).toEqual([]);
      expect(body.has('store')).toBe(false);
      if (options.tools?.length) expect(body.get('tools')).toHaveLength(options.tools.length);
      expect(body.get('prompt_cache_key')).toBe(cacheKeyOf(text.includes('prompt_cache_key'), options));
    });
  });

  it('F15: are what an object would have them be, for any cut and any addition', () => {
    const all: [string, string][] = ['a', 'b', 'c', 'd', 'e'].map((key, index) => [key, `[${index}, "x"]`]);
    const keys = fc.subarray(['a', 'b', 'c', 'd', 'e']);
    const added = fc.subarray(['a', 'c', 'f', 'g']);
    forAll(1_000, textOf(all), keys, added, (text, removed, put) => {
      const bytes = encoder.encode(text);
      const root = scanJson(bytes, levels(1));
      const members = put.filter((key) => !removed.includes(key)).map((key) => ({ key, json: '"new"' }));
      const splices = memberSplices(root, (key) => removed.includes(key), members);

      const expected: Record<string, unknown> = JSON.parse(text);
      for (const key of removed) delete expected[key];
      for (const { key } of members) expected[key] = 'new';
      const result = decoder.decode(splice(bytes, { start: 0, end: bytes.length }, splices));
      expect(Object.entries(JSON.parse(result))).toEqual(Object.entries(expected));
    });
  });
});
