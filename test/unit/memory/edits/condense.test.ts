import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { condenseJson } from '../../../../src/memory/edits/condense/condensed-json.ts';
import { contentOf as removedContent } from '../../../../src/memory/edits/removed-content.ts';
import { assistant, body, lines, step, user } from '../../../support/conversations/chat.ts';
import { expandJson } from '../../../support/conversations/expand-json.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { messagesOf, type Viewed, type ViewOptions, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const records = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ id: `order_${at}`, total: at * 1.5, paid: at % 2 === 0 }));
const RECORDS = JSON.stringify(records(40), null, 2);

describe('JSON in fewer characters', () => {
  it.each([
    ['white space', '{ "a" : [ 1 ,\n\t2 ] }', '{"a":[1,2]}'],
    [
      'the spelling of numbers',
      '[ 1.0, 1e3, -0, 1E-07, 12345678901234567890123 ]',
      '[1.0,1e3,-0,1E-07,12345678901234567890123]',
    ],
    ['escapes', '[ "\\u00e9\\/", " a  b " ]', '["\\u00e9\\/"," a  b "]'],
    ['the order of keys, and one that stands twice', '{ "b": 1, "a": 2, "b": 3 }', '{"b":1,"a":2,"b":3}'],
    [
      'equal records',
      '[{"name":"a","size":1.0},{"name":"b","size":2},{"name":"c","size":3},{"name":"d","size":4}]',
      '@table{"columns":["name","size"],"rows":[["a",1.0],["b",2],["c",3],["d",4]]}',
    ],
    ['a string that holds JSON', '{"text":"{\\"a\\":[\\"b\\"]}"}', '{"text":@text{"a":["b"]}}'],
    ['one with spaces', '{"text":"{\\"a\\": [1, \\"b\\"]}"}', '{"text":@text,{"a":[1,"b"]}}'],
    [
      'one that is indented',
      JSON.stringify({ text: JSON.stringify({ a: [1, {}, []] }, null, 2) }),
      '{"text":@text2{"a":[1,{},[]]}}',
    ],
    ['a string that is all of it', JSON.stringify('{"a":"b"}'), '@text{"a":"b"}'],
    [
      'a string in a string',
      JSON.stringify({ a: JSON.stringify({ b: '{"c":"d"}' }) }),
      '{"a":@text{"b":@text{"c":"d"}}}',
    ],
  ])('keeps %s', (_, source, condensed) => {
    expect(condenseJson(source)?.text).toBe(condensed);
    expect(JSON.parse(expandJson(condensed))).toEqual(JSON.parse(source));
  });

  it.each([
    ['text', 'Found 3 files: [a, b, c]'],
    ['a text that begins as JSON does', '[1] the first footnote\n[2] the second'],
    ['JSON lines', '{"a": 1}\n{"a": 2}'],
    ['JSON that ends early', '{ "a": [ 1, 2 '],
    ['a trailing comma', '{ "a": 1, }'],
    ['a number with a leading zero', '[ 01, 2 ]'],
    ['NaN', '[ NaN, 1 ]'],
    ['a line break in a string', '[ "a\nb", 1 ]'],
    ['an escape that is none', '[ "\\x41", 1 ]'],
    ['a compact object', '{"a":1,"b":[2,3]}'],
    ['an empty one', ' '],
    ['a number', ' 12 '],
    ['more levels than are read', `${'[ '.repeat(80)}${' ]'.repeat(80)}`],
    ['more text than is read', `[ ${'1, '.repeat(400_000)}1 ]`],
  ])('leaves %s alone', (_, source) => {
    expect(condenseJson(source)).toBeUndefined();
  });

  it('leaves a string alone that could not be written back in the same characters', () => {
    for (const inner of ['{"a" : 1}', '{\n   "a": 1\n}', '{"a": 1,"b":2}', '{"a":1} '])
      expect(condenseJson(`{ "text": ${JSON.stringify(inner)} }`)?.text).toBe(
        `{"text":${JSON.stringify(inner)}}`,
      );
    expect(condenseJson('{ "text": "{\\"a\\":\\"\\u0062\\"}" }')?.text).not.toContain('@text');
  });

  it('leaves a string alone with half of a character, which no body can hold', () => {
    const inner = '{"a": "\ud83d", "b": "long enough"}';
    expect(condenseJson(`{ "text": ${JSON.stringify(inner)} }`)?.text).toBe(
      `{"text":${JSON.stringify(inner)}}`,
    );
  });

  it('leaves records with other keys, or in another order, as they are', () => {
    for (const json of [
      '[{"aaaa": 1}, {"bbbb": 1}]',
      '[{"a": 1, "b": 2}, {"b": 1, "a": 2}]',
      '[{"a": 1}, 2]',
    ])
      expect(condenseJson(json)?.text).toBe(JSON.stringify(JSON.parse(json)));
  });

  it('is undone to the same source without its white space, and done once', () => {
    fc.assert(
      fc.property(anyJson, ([source, compact]) => {
        const condensed = condenseJson(source);
        if (!condensed) return;
        expect(condensed.text.length).toBeLessThan(source.trim().length);
        expect(expandJson(condensed.text) === compact).toBe(true);
        expect(condenseJson(source)).toEqual(condensed);
        const { text, hasTables, hasTexts } = condensed;
        // A form is announced wherever it stands.
        expect(hasTables || !text.includes('@table')).toBe(true);
        expect(hasTexts || !text.includes('@text')).toBe(true);
        if (hasTables || hasTexts) expect(condenseJson(text)).toBeUndefined();
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });

  it('throws on no text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\u12',
      '"a"',
      '1',
      '-',
      'null',
      ' ',
      '@text',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (texts) => {
        const source = `[${texts.join('')}`;
        const condensed = condenseJson(source);
        if (condensed) expect(JSON.parse(expandJson(condensed.text))).toEqual(JSON.parse(source));
      }),
      { numRuns: 500, endOnFailure: true },
    );
  });
});

/** A value, spaced as programs do, with lists of equal records and JSON in strings in it. */
const anyJson: fc.Arbitrary<[source: string, compact: string]> = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string({ maxLength: 6 }), tie('value'), { maxKeys: 4 }),
      fc
        .tuple(
          fc.uniqueArray(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 3 }),
          fc.array(tie('value'), { minLength: 2, maxLength: 5 }),
        )
        .map(([keys, values]) => values.map((value) => Object.fromEntries(keys.map((key) => [key, value])))),
      fc
        .tuple(tie('value'), fc.constantFrom(undefined, 1, 2, 4, '\t'))
        .map(([value, indent]) => JSON.stringify(value, null, indent)),
    ),
  }))
  .value.filter((value) => typeof value === 'object' && value !== null)
  .chain((value) =>
    fc
      .constantFrom(undefined, 1, 2, 4, '\t')
      .map((indent): [string, string] => [JSON.stringify(value, null, indent), JSON.stringify(value)]),
  );

describe('a condensed output', () => {
  const view = (messages: Message[], input: object = {}, options: ViewOptions = {}): Viewed =>
    viewOf(body(messages), { mode: 'auto', condense: true, ...input }, options);
  const contentOf = (viewed: Viewed): string => String(messagesOf(viewed).at(-1)?.content);
  const asked = [user('Which orders are paid?'), ...step('a', 'orders', RECORDS)];

  it('is the same value, under a line with the ref of the original, also while it is fresh', () => {
    const viewed = view(asked);
    const [line, json = '', ...rest] = contentOf(viewed).split('\n');
    expect(line).toMatch(/^⟦condensed JSON; ref=ref_[a-z2-7]{26}; @table: a list of objects⟧$/);
    expect([JSON.parse(expandJson(json)), rest]).toEqual([records(40), []]);
    const [removal] = [...viewed.view.removals.values()].flat();
    expect(removal && removedContent(removal, viewed.request.messages).text).toBe(RECORDS);
    expect(removal?.ref && line?.includes(removal.ref)).toBe(true);
    expect(brokenLaws(viewed)).toEqual([]);
  });

  it('is an edit of its own, with its tokens before and after', () => {
    const { report } = view(asked);
    const { before = 0, after = 0 } = report.tokens ?? {};
    expect(report.trigger).toBe('none');
    expect(report.applied_edits).toEqual([
      {
        type: 'condense',
        condensed_tool_results: 1,
        tokens_before: expect.any(Number),
        tokens_after: expect.any(Number),
        cleared_tokens: before - after,
      },
    ]);
    const [edit] = report.applied_edits;
    if (edit?.type !== 'condense') throw new Error('no condense');
    expect(edit.tokens_before - edit.tokens_after).toBe(edit.cleared_tokens);
    expect(edit.cleared_tokens).toBeGreaterThan(0);
    expect(report.refs.map(({ tokens }) => tokens)).toEqual([edit.tokens_before]);
  });

  it('stays as it came where its marker would cost more', () => {
    const small = JSON.stringify(records(2), null, 2);
    expect(contentOf(view([user('go'), ...step('a', 'orders', small)]))).toBe(small);
  });

  it.each([
    ['condense is false', { condense: false }, {}],
    ['nothing is stored', { compact_offload: false }, {}],
    ['there is no tenant', {}, { tenant: undefined }],
    ['the caller excludes the tool', { compact_exclude_tools: ['orders'] }, {}],
    ['the original is not known to be written', {}, { isStored: () => false }],
  ])('stays as it came if %s', (_, input, options) => {
    expect(contentOf(view(asked, input, options as ViewOptions))).toBe(RECORDS);
  });

  it('comes back as it was sent', () => {
    const sent = messagesOf(view(asked));
    expect(messagesOf(view(sent as Message[]))).toEqual(sent);
  });

  const long = [
    ...asked,
    ...Array.from({ length: 9 }, (_, at) => step(`s${at}`, `tool${at}`, lines(60, `${at}`))).flat(),
    assistant('done'),
  ];
  const tight = {
    token_budget: 2_500,
    min_reclaim_tokens: 0,
    compact_min_tokens: 100,
    compact_preview_tokens: 40,
  };

  it('becomes the placeholder of the original once the frontier passes it', () => {
    const viewed = view(long, tight);
    const content = String(messagesOf(viewed)[2]?.content);
    expect(content).toContain('reason=context_compaction');
    expect(content).toContain('order_0');
    expect(viewed.report.refs.map(({ ref }) => ref)).toContain(
      /ref_[a-z2-7]{26}/.exec(contentOf(view(asked)))?.[0],
    );
    const plain = view(long, { ...tight, condense: false });
    expect(content).toBe(String(messagesOf(plain)[2]?.content));
  });

  it('keeps its bytes until then', () => {
    const views = viewsOf(body(long), { mode: 'auto', condense: true, ...tight });
    const shown = views.map((viewed) => String(messagesOf(viewed)[2]?.content)).slice(1);
    expect(new Set(shown).size).toBe(2);
    for (const [index, later] of views.entries()) {
      const earlier = views[index - 1];
      if (earlier) expect(brokenPrefix(earlier, later)).toEqual([]);
    }
  });

  it('is repeated by an equal original', () => {
    const twice = [...asked, ...step('b', 'other', RECORDS), ...long.slice(asked.length)];
    expect(
      view(twice, { ...tight, token_budget: 3_500 }).report.applied_edits.map(({ type }) => type),
    ).toContain('dedupe');
  });
});
