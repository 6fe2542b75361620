import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedIn, Retriever, type Shelf } from '../../src/retrieval/retriever.ts';
import { shorten } from '../../src/retrieval/shorten.ts';
import { readArguments } from '../../src/retrieval/tool.ts';
import type { Opened } from '../../src/storage/envelope.ts';
import { lines } from '../support/chat.ts';
import { counter, stranger, tenant } from '../support/view-of.ts';

const opened = (text: string): Opened => ({
  content: new Uint8Array(new TextEncoder().encode(text)),
  metadata: {
    tool_name: 'search',
    tool_call_id: 'call_1',
    content_type: 'text/plain; charset=utf-8',
    tokens: 1,
    bytes: 1,
    created: 1,
  },
});

const refOf = (text: string): string => tenant.refs.name(text, () => text);

/** A retriever for a view that names these contents, and those that may be there though it does not name them. */
function retrieverOf(named: readonly string[], others: readonly string[] = []): Retriever {
  const view = named.map((text) => `⟦…; ref=${refOf(text)}; …⟧`).join(' ');
  return new Retriever(shelfOf([...named, ...others]), counter, namedIn(view));
}

function shelfOf(texts: readonly string[]): Shelf {
  const contents = new Map(texts.map((text) => [refOf(text), text]));
  const get = async (ref: string): Promise<Opened | undefined> => {
    const text = contents.get(ref);
    if (text === 'failing') throw new Error('no storage');
    return text === undefined || text === 'gone' ? undefined : opened(text);
  };
  return { owns: (ref) => tenant.refs.owns(ref), get };
}

const ask = (retriever: Retriever, ref: string, more: object = {}): Promise<string> =>
  retriever.answer(JSON.stringify({ ref, ...more }));

describe('what a model calls for', () => {
  it('is given when the view names it, and only then', async () => {
    const retriever = retrieverOf(['shown'], ['hidden']);

    expect(await ask(retriever, refOf('shown'))).toBe('shown');
    expect(await ask(retriever, refOf('hidden'))).toContain('There is nothing under');
    expect(retriever.given).toEqual([refOf('shown')]);
  });

  it('may be named by what was given before', async () => {
    const inner = 'the inner one';
    const retriever = retrieverOf([`it says ref=${refOf(inner)}`], [inner]);

    expect(await ask(retriever, refOf(inner))).toContain('There is nothing under');
    await ask(retriever, refOf(`it says ref=${refOf(inner)}`));
    expect(await ask(retriever, refOf(inner))).toBe(inner);
  });

  it('is not named by a part of a content that the model was not given', async () => {
    const inner = 'the hidden one';
    const outer = `first\nref=${refOf(inner)}`;
    const retriever = retrieverOf([outer], [inner]);

    await ask(retriever, refOf(outer), { lines: '1' });

    expect(await ask(retriever, refOf(inner))).toContain('There is nothing under');
  });

  it('is told in words when it is gone, or when storage fails; then it may be asked for again', async () => {
    const retriever = retrieverOf(['gone', 'failing']);

    expect(await ask(retriever, refOf('gone'))).toContain('not kept any more');
    for (const _ of [1, 2])
      expect(await ask(retriever, refOf('failing'))).toContain('Storage does not answer');
    expect(retriever.given).toEqual([]);
  });

  it('is another thing when another part is called for', async () => {
    const text = lines(9);
    const retriever = retrieverOf([text]);

    expect(await ask(retriever, refOf(text), { lines: '1' })).toBe(text.split('\n')[0]);
    expect(await ask(retriever, refOf(text), { lines: '2' })).toBe(text.split('\n')[1]);
    expect(await ask(retriever, refOf(text), { lines: '2' })).toContain('given above already');
  });

  it('never repeats what a model has made up at length', async () => {
    expect((await ask(retrieverOf([]), 'x'.repeat(100_000))).length).toBeLessThan(300);
  });
});

describe('what somebody without a view asks for', () => {
  const find = (ref: string, more: object = {}) =>
    new Retriever(shelfOf([lines(9), 'gone', 'failing']), counter, () => true).find(
      JSON.stringify({ ref, ...more }),
    );

  it('is any ref of this tenant, and none of another', async () => {
    const foreign = stranger.refs.name('theirs', () => 'theirs');

    expect(await find(refOf(lines(9)))).toEqual({ ok: true, value: lines(9) });
    expect(await find(foreign)).toEqual({ ok: false, reason: expect.stringContaining(foreign) });
  });

  it('is told from what can not be given', async () => {
    expect(await find(refOf(lines(9)), { grep: 'not there' })).toEqual({ ok: true, value: '(nothing)' });
    const failures = await Promise.all([
      find('the first one'),
      find(refOf('gone')),
      find(refOf('failing')),
      find(refOf(lines(9)), { lines: 'all' }),
      find(refOf(lines(9)), { path: '$.items' }),
      find(refOf(lines(9)), { max_tokens: 'all' }),
    ]);
    expect(failures.map(({ ok }) => ok)).toEqual(failures.map(() => false));
  });
});

describe('arguments', () => {
  const defaults = { lines: undefined, grep: undefined, path: undefined, maxTokens: 4_000 };

  it.each<[string, object]>([
    ['{"ref":"a"}', {}],
    ['{"ref":"a","lines":null,"grep":"","path":null,"max_tokens":null}', {}],
    ['{"ref":"a","max_tokens":"250","lines":"1-2"}', { maxTokens: 250, lines: '1-2' }],
    ['{"ref":"a","max_tokens":-3}', { maxTokens: 1 }],
    ['{"ref":"a","max_tokens":1e9}', { maxTokens: 32_000 }],
    ['{"ref":"a","max_tokens":0.5}', { maxTokens: 1 }],
    ['{"ref":"a","reason":"I forgot"}', {}],
  ])('%s are read', (json, read) => {
    expect(readArguments(json)).toEqual({ ok: true, value: { ref: 'a', ...defaults, ...read } });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"ref"',
    '{"ref":1}',
    '{"ref":"a","lines":[1,2]}',
    '{"ref":"a","max_tokens":"all"}',
  ])('%s are refused in words', (json) => {
    expect(readArguments(json)).toEqual({ ok: false, reason: expect.stringContaining('Call again') });
  });
});

describe('a result that is too long', () => {
  it('is a beginning of the whole, within its tokens, and ends with a line where it can', () => {
    const text = fc
      .array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 40 })
      .map((all) => all.join('\n'));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 200 }), (text, tokens) => {
        const { text: shown, shown: lineCount, lines: all } = shorten(text, tokens, counter);
        expect(text.startsWith(shown)).toBe(true);
        expect(shown.isWellFormed()).toBe(true);
        expect(counter.text(shown)).toBeLessThanOrEqual(tokens);
        expect(all).toBe(text.split('\n').length - (text.endsWith('\n') ? 1 : 0));
        if (shown === text) expect(counter.text(text)).toBeLessThanOrEqual(tokens);
        else expect(lineCount).toBe(shown.split('\n').length - 1);
      }),
      { numRuns: 300, endOnFailure: true },
    );
  });

  it('is not cut when it fits', () => {
    const text = lines(30);
    expect(shorten(text, counter.text(text), counter).text).toBe(text);
    expect(shorten(text, counter.text(text) - 1, counter).shown).toBe(29);
  });
});
