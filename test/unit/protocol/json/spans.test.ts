import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonSpan, levels } from '../../../../src/protocol/json/outline.ts';
import { cutMembers, fieldOf, jsonOf, scanJson, splice } from '../../../../src/protocol/json/spans.ts';
import { forAll } from '../../../support/laws/runs.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** JSON with odd white space between its tokens. */
const spaced = fc
  .tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const scans = (text: string): boolean => {
  try {
    scanJson(encode(text), levels(3));
    return true;
  } catch {
    return false;
  }
};

/** Rebuilds a value from its spans, as deep as they go. */
function rebuild(bytes: Uint8Array, span: JsonSpan): unknown {
  if (span.items) return span.items.map((item) => rebuild(bytes, item));
  if (span.fields)
    return Object.fromEntries(span.fields.map((field) => [field.key, rebuild(bytes, field.value)]));
  return jsonOf(bytes, span);
}

describe('the JSON scanner', () => {
  it('finds the same values as JSON.parse, at every depth', () => {
    forAll(spaced, fc.integer({ min: 0, max: 4 }), (text, depth) => {
      const bytes = encode(text);
      expect(rebuild(bytes, scanJson(bytes, levels(depth)))).toEqual(JSON.parse(text));
    });
  });

  it('accepts and refuses the same texts as JSON.parse', () => {
    const damaged = fc
      .tuple(
        spaced,
        fc.nat(),
        fc.constantFrom('', '"', '\\', ',', '}', ']', '[', '{', ':', '0', '-', 'e', '\n', '\\u12', 'tru'),
      )
      .map(([text, at, insert]) => {
        const position = at % (text.length + 1);
        return text.slice(0, position) + insert + text.slice(position + (insert === '' ? 1 : 0));
      })
      .filter((text) => text.isWellFormed());
    forAll(3000, damaged, (text) => {
      expect(scans(text)).toBe(parses(text));
    });
  });

  it.each([
    '',
    ' ',
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '"\t"',
    '"\\x"',
    '"\\u00g0"',
    'nul',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '[1 2]',
    '"',
    '{"a"}',
    '[[]',
  ])('refuses %j', (text) => {
    expect(scans(text)).toBe(false);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => scanJson(new Uint8Array([0x22, 0xff, 0x22]), levels(0))).toThrow('not valid JSON');
  });

  it('takes nesting of any depth', () => {
    const deep = 100_000;
    expect(scanJson(encode('['.repeat(deep) + ']'.repeat(deep)), levels(2)).kind).toBe('array');
    expect(() => scanJson(encode('['.repeat(deep)), levels(2))).toThrow('not valid JSON');
  });

  it('keeps only the values that its outline names', () => {
    const bytes = encode('{"a":[1,[2],3],"b":{"c":4}}');
    const span = scanJson(bytes, { fields: new Map([['a', { items: {}, only: 1 }]]) });
    expect(rebuild(bytes, span)).toEqual({ a: [[2]] });
  });

  it('keeps of a field that it names the last one, which is the one that counts', () => {
    const fields = scanJson(encode('{"a":1,"b":2,"a":3}'), { fields: new Map([['a', {}]]) }).fields;
    expect(fields).toEqual([expect.objectContaining({ key: 'a', start: 13 })]);
    const all = scanJson(encode('{"a":1,"b":2,"a":3}'), { fields: new Map([['a', {}]]), others: {} }).fields;
    expect(all?.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  });

  it('keeps no members of a value with more than its outline allows', () => {
    const outline = { items: {}, fields: {}, most: 2 };
    expect(scanJson(encode('[1,2]'), outline).items).toHaveLength(2);
    expect(scanJson(encode('[1,2,3]'), outline).items).toBeUndefined();
    expect(scanJson(encode('{"a":1,"b":2,"c":3}'), outline).fields).toBeUndefined();
  });

  it('says where the grammar breaks', () => {
    expect(() => scanJson(encode('{"a": nope}'), levels(1))).toThrow('byte 6');
  });
});

describe('cutting members out of JSON', () => {
  it('leaves the other members of an object, in their bytes', () => {
    const object = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue()), {
      maxLength: 6,
      selector: ([key]) => key,
    });
    forAll(object, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (members, removed) => {
      const text = `{ ${members.map(([key, value]) => `${JSON.stringify(key)} : ${JSON.stringify(value)}`).join(' , ')} }`;
      const bytes = encode(text);
      const fields = scanJson(bytes, levels(1)).fields ?? [];
      const cut = decode(
        splice(
          bytes,
          { start: 0, end: bytes.length },
          cutMembers(fields, (index) => removed[index] ?? false),
        ),
      );
      const kept = scanJson(encode(cut), levels(1)).fields ?? [];
      expect(
        kept.map((field) => cut.slice(0, 0) + decode(encode(cut).subarray(field.start, field.end))),
      ).toEqual(
        fields
          .filter((_, index) => !removed[index])
          .map((field) => decode(bytes.subarray(field.start, field.end))),
      );
    });
  });
});

describe('splicing JSON', () => {
  it('copies nothing when nothing is spliced', () => {
    const bytes = encode('{"a":1}');
    expect(splice(bytes, { start: 0, end: 7 }, []).buffer).toBe(bytes.buffer);
  });

  it('refuses splices that overlap', () => {
    const overlapping = [
      { start: 1, end: 4, with: '' },
      { start: 3, end: 5, with: '' },
    ];
    expect(() => splice(encode('{"a":1}'), { start: 0, end: 7 }, overlapping)).toThrow('overlap');
  });

  it('reads the last of two fields of one name, as JSON.parse does', () => {
    const bytes = encode('{"a":1,"a":2}');
    const value = fieldOf(scanJson(bytes, levels(1)), 'a');
    expect(value && jsonOf(bytes, value)).toBe(2);
  });
});
