import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coloredOf } from '../../../inspector/read/colors.ts';
import { blocksOf } from '../../../inspector/read/markdown.ts';
import { messageText } from '../../../inspector/read/message-text.ts';
import { forAll } from '../../support/laws/runs.ts';

const words = (text: string) => [{ kind: 'text', text }];

describe('the Markdown of a summary', () => {
  it('is headings, lists, code and bold', () => {
    const text = '## Done\n\nAll of **it**, in `a.ts`.\n- one\n* two\n1. first\n```ts\nlet a;\n```\nEnd';
    expect(blocksOf(text)).toEqual([
      { kind: 'heading', level: 2, inlines: words('Done') },
      {
        kind: 'paragraph',
        inlines: [
          ...words('All of '),
          { kind: 'bold', text: 'it' },
          ...words(', in '),
          { kind: 'code', text: 'a.ts' },
          ...words('.'),
        ],
      },
      { kind: 'list', isOrdered: false, items: [words('one'), words('two')] },
      { kind: 'list', isOrdered: true, items: [words('first')] },
      { kind: 'code', text: 'let a;' },
      { kind: 'paragraph', inlines: words('End') },
    ]);
  });

  it('has no section that says there is nothing', () => {
    const text = '## Open\n(none)\n\n## Files\n- none\n## Next\nNone of it is done.';
    expect(blocksOf(text)).toEqual([
      { kind: 'heading', level: 2, inlines: words('Next') },
      { kind: 'paragraph', inlines: words('None of it is done.') },
    ]);
  });

  it('loses no word of a text without marks, and ends for any text', () => {
    const text = fc.string({
      unit: fc.constantFrom('#', '`', '*', '-', ' ', '\n', '1.', 'a', '(none)', '~~~'),
    });
    forAll(text, (any) => Array.isArray(blocksOf(any)));
    expect(blocksOf('<b>a</b>\n[x](javascript:1)')).toEqual([
      { kind: 'paragraph', inlines: words('<b>a</b>\n[x](javascript:1)') },
    ]);
  });
});

describe('the colors of a text', () => {
  it('leave the text as it is', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.json(),
      fc
        .array(fc.constantFrom('@@ -1 +1 @@\n', '+a\n', '-b\n', ' c\n', 'diff --git a b\n'))
        .map((all) => all.join('')),
    );
    forAll(text, (any) => {
      expect(
        coloredOf(any)
          .map((part) => part.text)
          .join(''),
      ).toBe(any);
    });
  });

  it('tell names, texts and values of JSON, and the lines of a diff', () => {
    const kinds = (text: string) => coloredOf(text).filter(({ kind }) => kind !== 'plain');
    expect(kinds('{"a": "b", "c": [1, null]}')).toEqual([
      { kind: 'key', text: '"a":' },
      { kind: 'string', text: '"b"' },
      { kind: 'key', text: '"c":' },
      { kind: 'value', text: '1' },
      { kind: 'value', text: 'null' },
    ]);
    expect(kinds('@@ -1 +1 @@\n-old\n+new\n same\n').map(({ kind }) => kind)).toEqual([
      'place',
      'removed',
      'added',
    ]);
    expect(kinds('- a list\n+ of 1 text')).toEqual([]);
  });
});

describe('the images of a message', () => {
  const png = 'data:image/png;base64,iVBORw0KGgo=';

  it('are found in the parts of all protocols', () => {
    const parts = [
      { type: 'image_url', image_url: { url: png } },
      { type: 'input_image', image_url: png },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    ];
    for (const part of parts) {
      const said = messageText({ role: 'user', content: [{ type: 'text', text: 'This:' }, part] });
      expect(said.images).toEqual([png]);
      expect(said.text).toBe('This:\n(an image of 1 kB)');
    }
  });

  it('are neither loaded from elsewhere, nor scripts', () => {
    for (const url of [
      'https://example.com/a.png',
      'data:image/svg+xml;base64,PHN2Zz4=',
      'data:text/html;base64,PGI+',
      'data:image/png,raw',
      'javascript:alert(1)',
    ])
      expect(
        messageText({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }).images,
      ).toEqual([]);
  });
});
