import { describe, expect, it } from 'vitest';
import { answerQuery, parseQuery } from '../../../src/retrieval/query.ts';
import { parseRange } from '../../../src/routes/refs.ts';

const ask = (content: string, parameters: Record<string, string>) => {
  const query = parseQuery((name) => parameters[name]);
  if (!query.ok) return query.reason;
  if (!query.value) return 'none';
  const answer = answerQuery(new TextEncoder().encode(content), query.value);
  return answer.ok ? answer.value.text : answer.reason;
};

const text = 'one\ntwo\r\nthree\nfour\nfive\n';

describe('a query for lines', () => {
  it.each([
    ['2-3', 'two\nthree'],
    ['4-', 'four\nfive'],
    ['1', 'one'],
    ['5-99', 'five'],
    ['9-12', ''],
  ])('%s', (lines, expected) => {
    expect(ask(text, { lines })).toBe(expected);
  });

  it.each(['0-3', '3-2', 'a-b', '', '-3', '1-2-3'])('refuses %j', (lines) => {
    expect(ask(text, { lines })).toMatchObject({ reason: 'invalid', param: 'lines' });
  });
});

describe('a query for matches', () => {
  it('names the numbers of the lines that hold a text', () => {
    expect(ask(text, { grep: 'o' })).toBe('1:one\n2:two\n--\n4:four');
  });

  it('shows lines around a match, each once', () => {
    expect(ask(text, { grep: 'three', context: '1' })).toBe('2-two\n3:three\n4-four');
    expect(ask(text, { grep: 'o', context: '2' })).toBe('1:one\n2:two\n3-three\n4:four\n5-five');
  });

  it('shows the text around the matches in a long line', () => {
    const line = `${'a'.repeat(900_000)}needle${'b'.repeat(100_000)}needle`;
    const around = `…${'a'.repeat(300)}needle${'b'.repeat(300)}…${'b'.repeat(300)}needle`;
    expect(ask(`one\n${line}\nthree`, { grep: 'needle' })).toBe(`2:${around}`);
    expect(ask(`needle\n${line.replaceAll('needle', '')}`, { grep: 'needle', context: '1' })).toBe(
      `1:needle\n2-${'a'.repeat(600)}…`,
    );
  });

  it('shows a long line whole where its matches are near to each other', () => {
    const line = 'a needle '.repeat(200).trim();
    expect(ask(line, { grep: 'needle' })).toBe(`1:${line}`);
  });

  it('never shows half of a character', () => {
    for (const before of ['', 'a']) {
      const line = `${before}${'😀'.repeat(1_000)}needle${'😀'.repeat(1_000)}`;
      const shown = String(ask(line, { grep: 'needle' }));
      expect(shown.isWellFormed()).toBe(true);
      expect(shown).toMatch(/^1:…(😀)+needle(😀)+…$/u);
    }
  });

  it('takes the text literally', () => {
    expect(ask('a.c\nabc', { grep: 'a.c' })).toBe('1:a.c');
    expect(ask(text, { grep: 'nothing' })).toBe('');
  });

  it.each([
    [{ grep: '' }, 'grep'],
    [{ grep: 'é'.repeat(129) }, 'grep'],
    [{ grep: 'a', context: '21' }, 'context'],
    [{ grep: 'a', context: '-1' }, 'context'],
    [{ context: '1' }, 'context'],
    [{ grep: 'a', lines: '1' }, 'grep'],
  ])('refuses %j', (parameters, param) => {
    expect(ask(text, parameters as Record<string, string>)).toMatchObject({ reason: 'invalid', param });
  });
});

describe('a query for a path', () => {
  const json = '{"items":[{"id":1},{"id":12345678901234567890,"odd key":[1.0, {"a":null}]}]}';

  it.each([
    ['$', json],
    ['$.items[1].id', '12345678901234567890'],
    ["$.items[1]['odd key']", '[1.0, {"a":null}]'],
    ["$['items'][1]['odd key'][1].a", 'null'],
  ])('%s gives the value in its own bytes', (path, expected) => {
    expect(ask(json, { path })).toBe(expected);
  });

  it('reads JSON with a byte order mark, as Windows writes it', () => {
    expect(ask(`\ufeff${json}`, { path: '$.items[0]' })).toBe(ask(json, { path: '$.items[0]' }));
  });

  it.each(['$.items[9]', '$.nothing', '$.items.id', '$.items[0].id.more'])('%s finds nothing', (path) => {
    expect(ask(json, { path })).toMatchObject({ reason: 'not_found', param: 'path' });
  });

  it.each(['items', '$items', '$.', '$..id', '$[x]', '$[*]', ''])('refuses %j', (path) => {
    expect(ask(json, { path })).toMatchObject({ reason: 'invalid', param: 'path' });
  });

  it('refuses a content that is not JSON', () => {
    expect(ask(text, { path: '$.a' })).toMatchObject({ reason: 'invalid', param: 'path' });
  });
});

describe('the answer to a query', () => {
  it('are cut between characters, and say so', () => {
    const query = parseQuery((name) => (name === 'lines' ? '1' : undefined));
    if (!query.ok || !query.value) throw new Error('a query was written');
    const answer = answerQuery(new TextEncoder().encode(`a${'😀'.repeat(200_000)}`), query.value);
    expect(answer).toMatchObject({ ok: true, value: { truncated: true } });
    expect(answer.ok && answer.value.text.isWellFormed()).toBe(true);
  });
});

describe('a range of bytes', () => {
  it.each([
    ['bytes=0-3', { start: 0, end: 4 }],
    ['bytes=4-', { start: 4, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-99', { start: 0, end: 10 }],
    ['bytes=8-99', { start: 8, end: 10 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-2', 'whole'],
    ['bytes=0-1,4-5', 'whole'],
    ['items=0-1', 'whole'],
    ['bytes=-', 'whole'],
    [undefined, 'whole'],
  ])('%s of ten bytes', (header, expected) => {
    expect(parseRange(header, 10)).toEqual(expected);
  });
});
