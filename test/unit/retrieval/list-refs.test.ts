import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeRefs, isWanted, type Listable, readList } from '../../../src/retrieval/list-refs.ts';
import { forAll } from '../../support/laws/runs.ts';
import { counter, tenant } from '../../support/laws/view-of.ts';

const listable = (text: string): Listable => ({
  ref: tenant.refs.name(text, () => text),
  tool: 'read_file',
  callId: 'call_1',
  tokens: 1_234,
  text,
});

describe('the arguments of list_refs', () => {
  const none = { query: undefined, tool: undefined, conversation: undefined, user: undefined };

  it.each<[string, object]>([
    ['', none],
    ['{}', none],
    ['{"query":null,"tool":""}', none],
    ['{"query":"x","tool":"grep"}', { ...none, query: 'x', tool: 'grep' }],
    ['{"conversation_id":"c","user":"ann"}', { ...none, conversation: 'c', user: 'ann' }],
  ])('may be %j', (json, value) => {
    expect(readList(json)).toEqual({ ok: true, value });
  });

  it.each(['nonsense', '[]', '{"query":7}'])('%j is refused in words', (json) => {
    expect(readList(json)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('Call again with {}'),
    });
  });

  it('choose contents by tool and by text, whatever its case', () => {
    const filter = { conversation: undefined, user: undefined };
    const one = listable('An Order of Pears');
    expect(isWanted(one, { ...filter, query: undefined, tool: undefined })).toBe(true);
    expect(isWanted(one, { ...filter, query: 'order OF', tool: 'read_file' })).toBe(true);
    expect(isWanted(one, { ...filter, query: 'plums', tool: undefined })).toBe(false);
    expect(isWanted(one, { ...filter, query: undefined, tool: 'read' })).toBe(false);
  });
});

describe('the list of refs', () => {
  it('says how each content begins', () => {
    const one = listable('\n\n  {"id": 1,\n"x": 2}');
    expect(describeRefs([one], counter)).toBe(
      `${one.ref} read_file (call_id=call_1), 1234 tokens: {"id": 1,`,
    );
    expect(describeRefs([], counter)).toContain('Nothing of the kind');
  });

  it('says that it does not list all', () => {
    const many = Array.from({ length: 31 }, (_, at) => listable(`Row ${at}`));
    const CUT = /\n\[cut here; ask for a text or a tool/;

    expect(describeRefs(many.slice(1), counter)).not.toContain('[');
    expect(describeRefs(many, counter)).toMatch(CUT);
    expect(describeRefs(many, counter).match(/ref_/g)).toHaveLength(30);
    expect(describeRefs(many.slice(1), counter, { unlooked: true })).toMatch(/\n\[.*not looked at/);
    expect(describeRefs(many.slice(1), counter, { unfound: 2 })).toMatch(/\n\[2 more are in earlier/);
    expect(describeRefs([], counter, { unlooked: true })).toMatch(/among those that were looked at/);
    const newest = tenant.refs.name('a transcript', () => 'a transcript');
    expect(describeRefs([], counter, { transcripts: [newest], unfound: 2 })).toMatch(
      new RegExp(`^2 are in transcripts before ${newest}, or no longer kept`),
    );
  });

  it('is short and well-formed, whatever the contents are', () => {
    forAll(fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), { maxLength: 30 }), (texts) => {
      const described = describeRefs(
        texts.map((text) => listable(text)),
        counter,
      );
      expect(described.isWellFormed()).toBe(true);
      expect(counter.text(described)).toBeLessThan(2_100);
    });
  });
});
