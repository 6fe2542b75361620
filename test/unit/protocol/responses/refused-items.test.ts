import { describe, expect, it } from 'vitest';
import { kindsNamedIn } from '../../../../src/protocol/responses/hosted-output.ts';

const SENT = new TextEncoder().encode(
  JSON.stringify({
    model: 'm',
    input: [
      { role: 'user', content: 'input[1]' },
      { type: 'file_search_call', id: 'fs_1' },
      { type: 'mcp_call', id: 'mcp_1' },
      { type: 'function_call_output', call_id: 'a' },
    ],
  }),
);
const EDITED = new Set(['file_search_call', 'mcp_call', 'shell_call_output']);

const named = (error: unknown, sent = SENT): string[] =>
  [...kindsNamedIn(JSON.stringify(error), sent, EDITED)].toSorted();

describe('an error about items', () => {
  it.each<[string, unknown, string[]]>([
    ['a place', { error: { param: 'input[1].results[0].text', message: 'Invalid.' } }, ['file_search_call']],
    ['a place in its words', { error: { message: "Invalid value: 'input[2].output'." } }, ['mcp_call']],
    ['a place with points', { error: { message: 'input.1.results: wrong' } }, ['file_search_call']],
    ['a place of pydantic', { detail: [{ loc: ['body', 'input', 2, 'output'], msg: 'x' }] }, ['mcp_call']],
    [
      'a place in a union of pydantic',
      { detail: [{ loc: ['body', 'input', 'list[union[A,B]]', 1, 'A', 'id'], msg: 'x' }] },
      ['file_search_call'],
    ],
    ['an id', { error: { message: "Item 'mcp_1' has changed." } }, ['mcp_call']],
    ['a kind', { error: { message: 'A shell_call_output has no placeholder.' } }, ['shell_call_output']],
    ['two places', { error: { message: 'input[1] and input[2]' } }, ['file_search_call', 'mcp_call']],
    ['a place of another item', { error: { param: 'input[0].content' } }, []],
    ['a place of an item that is not edited', { error: { param: 'input[3].output' } }, []],
    ['a place that is not there', { error: { param: 'input[12]' } }, []],
    ['nothing', { error: { message: 'Something is wrong.' } }, []],
  ])('names %s', (_, error, kinds) => {
    expect(named(error)).toEqual(kinds);
  });

  it('names nothing of a body without items', () => {
    expect(named({ error: { param: 'input[1]' } }, new TextEncoder().encode('{"input":"Hi."}'))).toEqual([]);
    expect(named({ error: { param: 'input[1]' } }, new TextEncoder().encode('no json'))).toEqual([]);
  });
});
