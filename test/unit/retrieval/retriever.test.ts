import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { textOfResult } from '../../../src/protocol/answers/tool-turn.ts';
import { endedLines, endsLine } from '../../../src/retrieval/lines.ts';
import { namedIn, Retriever } from '../../../src/retrieval/retriever.ts';
import type { Shelf } from '../../../src/retrieval/shelf.ts';
import { shorten } from '../../../src/retrieval/shorten.ts';
import { readArguments } from '../../../src/retrieval/tool.ts';
import type { Opened } from '../../../src/tenant/envelope.ts';
import { lines } from '../../support/conversations/chat.ts';
import { forAll } from '../../support/laws/runs.ts';
import { counter, stranger, tenant } from '../../support/laws/view-of.ts';

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

/**
 * A retriever for a view that names the first contents. The others may be stored, but the view does
 * not name them.
 */
function retrieverOf(named: readonly string[], others: readonly string[] = []): Retriever {
  const view = named.map((text) => `⟦…; ref=${refOf(text)}; …⟧`).join(' ');
  return new Retriever(shelfOf([...named, ...others]), counter, namedIn(view));
}

/** Follows the notes until nothing is cut. Returns the content without the notes. */
async function readToTheEnd(retriever: Retriever, ref: string, more: object): Promise<string> {
  let text = '';
  for (let asked: object | undefined = more; asked; ) {
    const result = await ask(retriever, ref, asked);
    const note = /\n\[cut after line .*; ask for lines=(\S+),.*\]$/.exec(result);
    text += note ? `${result.slice(0, note.index)}\n` : result;
    asked = note ? { ...more, lines: note[1] } : undefined;
  }
  return text;
}

function shelfOf(texts: readonly string[]): Shelf {
  const contents = new Map(texts.map((text) => [refOf(text), text]));
  const get = async (ref: string): Promise<Opened | undefined> => {
    const text = contents.get(ref);
    if (text === 'failing') throw new Error('no storage');
    return text === undefined || text === 'gone' ? undefined : opened(text);
  };
  return { owns: (ref) => tenant.refs.owns(ref), get, unknown: () => undefined, failed: () => {} };
}

const ask = async (retriever: Retriever, ref: string, more: object = {}): Promise<string> =>
  textOfResult(await retriever.answer(JSON.stringify({ ref, ...more })));

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

  it('is explained in words when it is gone, or when storage fails; then it may be asked for again', async () => {
    const retriever = retrieverOf(['gone', 'failing']);

    expect(await ask(retriever, refOf('gone'))).toContain('no longer kept');
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

  it('is no repetition where it could not be given before', async () => {
    const retriever = retrieverOf(['gone', 'here']);

    for (const _ of [1, 2]) expect(await ask(retriever, refOf('gone'))).toContain('no longer kept');
    for (const _ of [1, 2])
      expect(await ask(retriever, refOf('here'), { path: '$.a' })).toContain('is not JSON');
  });

  it('is fetched once, and reported once, however many parts are called for', async () => {
    const text = lines(9);
    const shelf = shelfOf([text]);
    const get = vi.fn(shelf.get);
    const retriever = new Retriever({ ...shelf, get }, counter, () => true);

    await Promise.all([
      ask(retriever, refOf(text), { lines: '1' }),
      ask(retriever, refOf(text), { lines: '2' }),
    ]);
    await ask(retriever, refOf(text), { grep: 'line' });

    expect(get).toHaveBeenCalledTimes(1);
    expect(retriever.given).toEqual([refOf(text)]);
  });

  it('may be named by the result of another tool, as far as that was given out', async () => {
    const retriever = retrieverOf([], ['found']);

    expect(await ask(retriever, refOf('found'))).toContain('There is nothing under');
    const result = `[3 tool] ⟦removed: …; ref=${refOf('found')}⟧`;
    expect(retriever.give(result)).toBe(result);
    expect(await ask(retriever, refOf('found'))).toBe('found');
  });

  it('never repeats what a model has made up at length', async () => {
    expect((await ask(retrieverOf([]), 'x'.repeat(100_000))).length).toBeLessThan(300);
  });
});

describe('the room for all results', () => {
  const text = lines(400);
  const roomy = (room: number) => new Retriever(shelfOf([text, 'small']), counter, () => true, room);

  it('cuts what would exceed it, and then says that there is none', async () => {
    const retriever = roomy(500);
    const result = await ask(retriever, refOf(text));
    expect(result).toContain('[cut here: there is no room for more in this answer]');
    expect(result).not.toContain('ask for');
    expect(counter.text(result)).toBeLessThan(550);
    expect(await ask(retriever, refOf('small'))).toContain('There is no room for more in this answer.');
    expect(retriever.give(text)).toContain('There is no room for more in this answer.');
    expect(retriever.given).toEqual([refOf(text)]);
  });

  it('is taken by the results of other tools too', async () => {
    const retriever = roomy(500);
    const result = retriever.give(text);
    expect(result).toContain('[cut here: there is no room');
    expect(counter.text(result)).toBeLessThan(550);
    expect(await ask(retriever, refOf('small'))).toContain('There is no room');
  });

  it('is taken by what the model says between them', async () => {
    const retriever = roomy(500);
    retriever.announce({ messages: [{ role: 'assistant', content: lines(100) }], calls: [] });
    expect(await ask(retriever, refOf('small'))).toContain('There is no room');
  });

  it('leaves what fits as it is', async () => {
    expect(await ask(roomy(100_000), refOf(text), { max_tokens: 32_000 })).toBe(text);
  });
});

describe('the way to the rest of a result that was cut', () => {
  const few = Array.from({ length: 300 }, (_, at) => `the line ${at + 1}`);
  const many = Array.from({ length: 20_000 }, (_, at) => `this is the line of number ${at + 1}`);

  it.each(['\n', '\r\n', '\r'])('leads on where it was cut, with lines that end in %j', async (lineBreak) => {
    const text = few.join(lineBreak);
    const read = await readToTheEnd(retrieverOf([text]), refOf(text), { max_tokens: 300 });
    expect(read.split(/\r\n|\n|\r/)).toEqual(few);
  });

  it('leads through a content whose lines end in either way', async () => {
    const text = few.map((line, at) => `${line}${['\n', '\r', '\r\n'][at % 3]}`).join('');
    const read = await readToTheEnd(retrieverOf([text]), refOf(text), { max_tokens: 300 });
    expect(read.split(/\r\n|\n|\r/)).toEqual(few);
  });

  it('leads through all of a content with more lines than one answer has', async () => {
    const text = many.join('\n');
    const retriever = retrieverOf([text]);
    expect(await ask(retriever, refOf(text), { lines: '2-20000' })).toMatch(
      /\[cut after line \d+ of 20000; ask for lines=\d+-20000, /,
    );
    const read = await readToTheEnd(retrieverOf([text]), refOf(text), { lines: '1-', max_tokens: 32_000 });
    expect(read).toBe(text);
  });

  it('names the line in which it was cut, and no further limit than there is', async () => {
    const text = `short\n${'word '.repeat(40_000)}`;
    const retriever = retrieverOf([text]);
    expect(await ask(retriever, refOf(text), { max_tokens: 32_000 })).toMatch(
      /\[cut in line 2 of 2; ask for lines=2-2, for a part with grep or path\]$/,
    );
    expect(await ask(retriever, refOf(text), { lines: '2', max_tokens: 32_000 })).toMatch(
      /\[cut in line 2 of 2; ask for a part with grep or path\]$/,
    );
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

  it('is distinguished from what cannot be given', async () => {
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

describe('the arguments of retrieve_ref', () => {
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
    forAll({ numRuns: 300, endOnFailure: true }, text, fc.integer({ min: 1, max: 200 }), (text, tokens) => {
      const { text: shown, isCut } = shorten(text, tokens, counter);
      expect(text.startsWith(shown)).toBe(true);
      expect(shown.isWellFormed()).toBe(true);
      expect(counter.text(shown)).toBeLessThanOrEqual(tokens);
      expect(isCut).toBe(shown !== text);
    });
  });

  it('is not cut when it fits', () => {
    const text = lines(30);
    expect(shorten(text, counter.text(text), counter).text).toBe(text);
    const { text: shown } = shorten(text, counter.text(text) - 1, counter);
    expect([endedLines(shown), endsLine(shown, shown.length)]).toEqual([29, true]);
  });
});
