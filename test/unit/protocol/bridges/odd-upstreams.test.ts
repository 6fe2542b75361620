/** Streams of upstreams that are not as exact as the vendors' own: what their callers are given. */
import { describe, expect, it } from 'vitest';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { BRIDGES } from '../../../../src/protocol/bridges/bridges.ts';
import { bytesOf, type Json, OPTIONS, parsed } from './messages/bridged.ts';

/** What is given out of a stream, and the items or blocks that are kept of it. */
interface Given {
  readonly message?: Json;
  readonly finish?: string;
  readonly error?: string;
  readonly kept: readonly Json[] | undefined;
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Go.' }] };

function readerOf(api: keyof typeof BRIDGES) {
  const body = BRIDGES[api].body(CHAT, () => undefined, OPTIONS);
  if (!('reader' in body)) throw new Error(body.message);
  return body.reader;
}

/** The chunks of a stream, joined as clients join them. */
function given(api: keyof typeof BRIDGES, events: readonly Json[]): Given {
  const stream = readerOf(api).stream();
  const written = events.map((event) => stream.push(Frame.of(JSON.stringify(event))));
  const data = Array.from(written.join('').matchAll(/^data: (.*)$/gm), ([, json = '']) => json);
  const isDone = data.at(-1) === '[DONE]';
  const chunks = data.slice(0, isDone ? -1 : undefined).map((json) => parsed(bytesOf(json)));
  const kept = stream.kept && (JSON.parse(stream.kept.json) as Json[]);
  const message: Json = {};
  const calls: { name: string; arguments: string }[] = [];
  let finish: string | undefined;
  for (const choice of chunks.flatMap(({ choices }) => (choices ?? []) as Json[])) {
    const { role: _, tool_calls = [], ...said } = choice.delta as Json & { tool_calls?: Json[] };
    for (const [key, text] of Object.entries(said)) if (text) message[key] = `${message[key] ?? ''}${text}`;
    for (const { index, function: called } of tool_calls as { index: number; function: Json }[]) {
      const { name = '', arguments: args = '' } = called as { name?: string; arguments?: string };
      const known = calls[index] ?? { name: '', arguments: '' };
      calls[index] = { name: known.name + name, arguments: known.arguments + args };
    }
    finish = (choice.finish_reason as string | null) ?? finish;
  }
  const { error } = chunks.at(-1) ?? {};
  if (error) return { error: (error as { message: string }).message, kept };
  expect(isDone).toBe(finish !== undefined);
  if (calls.length > 0) message.tool_calls = calls;
  return { message, ...(finish ? { finish } : {}), kept };
}

const at = (output_index: number | undefined, type: string, more: Json): Json => ({
  type: `response.${type}`,
  ...(output_index === undefined ? {} : { output_index }),
  ...more,
});
const added = (index: number, item: Json): Json => at(index, 'output_item.added', { item });
const done = (index: number, item: Json): Json => at(index, 'output_item.done', { item });
const completed = (output: unknown = [], more: Json = {}): Json => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output, ...more },
});
const thought = (id: string): Json => ({ type: 'reasoning', id, summary: [], encrypted_content: `of ${id}` });
const words = (text: string): Json => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const keptWords = (content: string): Json => ({ type: 'message', role: 'assistant', content });
const call = (call_id: string, args: unknown = '{}'): Json => ({
  type: 'function_call',
  call_id,
  name: 'read',
  arguments: args,
});
const called = (args = '{}') => ({ name: 'read', arguments: args });

describe('a stream of Responses', () => {
  it.each<[what: string, events: Json[], given: Given]>([
    [
      'a call that never ends: nothing is kept, since its results would be without it',
      [
        done(0, thought('r')),
        added(1, call('a', '')),
        at(1, 'function_call_arguments.delta', { delta: '{}' }),
        completed(),
      ],
      { message: { tool_calls: [called()] }, finish: 'tool_calls', kept: undefined },
    ],
    [
      'words that no item has, beside reasoning',
      [done(0, thought('r')), at(1, 'output_text.delta', { delta: 'Hi.' }), completed()],
      { message: { content: 'Hi.' }, finish: 'stop', kept: undefined },
    ],
    [
      'a last event with a part of the items alone',
      [done(0, thought('r')), done(1, call('a')), completed([thought('r')])],
      { message: { tool_calls: [called()] }, finish: 'tool_calls', kept: [thought('r'), call('a')] },
    ],
    [
      'arguments that are an object',
      [done(0, call('a', { p: 1 })), completed()],
      { message: { tool_calls: [called('{"p":1}')] }, finish: 'tool_calls', kept: [call('a', '{"p":1}')] },
    ],
    [
      'reasoning that nothing follows',
      [completed([thought('r'), words('Hi.'), thought('s'), words('')])],
      { message: { content: 'Hi.' }, finish: 'stop', kept: [thought('r'), keptWords('Hi.')] },
    ],
    [
      'items that are none',
      [done(0, null as never), completed([null, words('Hi.'), 'x'])],
      { message: { content: 'Hi.' }, finish: 'stop', kept: [keptWords('Hi.')] },
    ],
    [
      'null in each field',
      [
        added(0, { type: 'message', id: null, content: null }),
        at(0, 'output_text.delta', { delta: null, logprobs: null }),
        at(0, 'output_text.delta', { delta: 'Hi.', item_id: null }),
        completed(null, { usage: null, error: null, incomplete_details: null }),
      ],
      { message: { content: 'Hi.' }, finish: 'stop', kept: undefined },
    ],
    [
      'empty deltas, two thoughts, and parallel calls in pieces',
      [
        done(0, thought('r')),
        done(1, thought('s')),
        added(2, call('a', '')),
        added(3, call('b', '')),
        at(3, 'function_call_arguments.delta', { delta: '' }),
        at(3, 'function_call_arguments.delta', { delta: '{"b' }),
        at(2, 'function_call_arguments.delta', { delta: '{"a"' }),
        at(3, 'function_call_arguments.delta', { delta: '":1}' }),
        at(2, 'function_call_arguments.delta', { delta: ':2}' }),
        done(3, call('b', '{"b":1}')),
        done(2, call('a', '{"a":2}')),
        completed(),
      ],
      {
        message: { tool_calls: [called('{"a":2}'), called('{"b":1}')] },
        finish: 'tool_calls',
        kept: [thought('r'), thought('s'), call('a', '{"a":2}'), call('b', '{"b":1}')],
      },
    ],
    [
      'arguments that are empty, or no JSON',
      [completed([call('a', ''), call('b', 'no'), call('c', null)])],
      {
        message: { tool_calls: [called(''), called('no'), called('')] },
        finish: 'tool_calls',
        kept: [call('a', ''), call('b', 'no'), call('c', '')],
      },
    ],
    [
      'a refusal in the middle of a text',
      [
        added(0, words('')),
        at(0, 'output_text.delta', { content_index: 0, delta: 'Well' }),
        at(0, 'refusal.delta', { content_index: 1, delta: 'No.' }),
        done(0, {
          ...words('Well'),
          content: [
            { type: 'output_text', text: 'Well' },
            { type: 'refusal', refusal: 'No.' },
          ],
        }),
        completed(),
      ],
      { message: { content: 'Well', refusal: 'No.' }, finish: 'stop', kept: [keptWords('WellNo.')] },
    ],
    [
      'an error after content',
      [
        at(0, 'output_text.delta', { delta: 'Hi' }),
        { type: 'error', error: { message: 'Oh.' } },
        completed(),
      ],
      { error: 'Oh.', kept: undefined },
    ],
    [
      'reasoning as a text of its own, and marks that are no events',
      [
        { type: 'keepalive' },
        at(0, 'reasoning_text.delta', { delta: 'Hm.' }),
        added(0, { type: 'reasoning' }),
        at(undefined, 'reasoning_part.added', {}),
        done(0, { type: 'reasoning', id: 'r', content: [{ type: 'reasoning_text', text: 'Hm.' }] }),
        done(1, words('Hi.')),
        completed([
          { type: 'reasoning', id: 'r', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
          words('Hi.'),
        ]),
      ],
      {
        message: { content: 'Hi.' },
        finish: 'stop',
        kept: [
          { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
          keptWords('Hi.'),
        ],
      },
    ],
  ])('%s', (_, events, expected) => {
    expect(given('responses', events)).toEqual(expected);
  });
});

const START = { type: 'message_start', message: { id: 'msg_1', content: [], usage: null } };
const begin = (index: number | undefined, content_block: Json): Json => ({
  type: 'content_block_start',
  index,
  content_block,
});
const piece = (index: number | undefined, type: string, value: unknown): Json => ({
  type: 'content_block_delta',
  index,
  delta: { type: `${type}_delta`, [{ input_json: 'partial_json' }[type] ?? type]: value },
});
const close = (index: number): Json => ({ type: 'content_block_stop', index });
const end = (stop_reason: string | null, more: Json = {}): Json[] => [
  { type: 'message_delta', delta: { stop_reason }, usage: null, ...more },
  { type: 'message_stop' },
];
const text = (said: string): Json => ({ type: 'text', text: said });
const use = (id: string, input: Json = {}): Json => ({ type: 'tool_use', id, name: 'read', input });
const thinking = (said: string, signature = 's'): Json => ({ type: 'thinking', thinking: said, signature });

describe('a stream of Messages', () => {
  it.each<[what: string, events: Json[], given: Given]>([
    [
      'deltas of blocks that nothing has begun',
      [
        START,
        piece(0, 'thinking', 'Hm.'),
        piece(0, 'signature', 's'),
        piece(1, 'text', 'Hi'),
        piece(1, 'text', '.'),
        ...end('end_turn'),
      ],
      { message: { content: 'Hi.' }, finish: 'stop', kept: [thinking('Hm.'), text('Hi.')] },
    ],
    [
      'blocks without an index',
      [
        START,
        begin(undefined, text('')),
        piece(undefined, 'text', 'A'),
        begin(undefined, use('a')),
        piece(undefined, 'input_json', '{"p":1}'),
        ...end('tool_use'),
      ],
      {
        message: { content: 'A', tool_calls: [called('{"p":1}')] },
        finish: 'tool_calls',
        kept: [text('A'), use('a', { p: 1 })],
      },
    ],
    [
      'blocks of one index',
      [
        START,
        begin(0, text('')),
        piece(0, 'text', 'A'),
        close(0),
        begin(0, use('a')),
        close(0),
        ...end('tool_use'),
      ],
      {
        message: { content: 'A', tool_calls: [called()] },
        finish: 'tool_calls',
        kept: [text('A'), use('a')],
      },
    ],
    [
      'a whole call that never ends',
      [START, begin(0, use('a', { p: 1 })), ...end('tool_use')],
      { message: { tool_calls: [called('{"p":1}')] }, finish: 'tool_calls', kept: [use('a', { p: 1 })] },
    ],
    [
      'a call, though the turn is over',
      [START, begin(0, use('a')), close(0), ...end('end_turn')],
      { message: { tool_calls: [called()] }, finish: 'tool_calls', kept: [use('a')] },
    ],
    [
      'a text of white space before a call',
      [
        START,
        begin(0, thinking('Hm.')),
        begin(1, text('')),
        piece(1, 'text', '\n\n'),
        begin(2, use('a')),
        ...end('tool_use'),
      ],
      {
        message: { content: '\n\n', tool_calls: [called()] },
        finish: 'tool_calls',
        kept: [thinking('Hm.'), use('a')],
      },
    ],
    [
      'thinking alone',
      [START, begin(0, thinking('Hm.')), begin(1, text('')), ...end('end_turn')],
      { message: {}, finish: 'stop', kept: undefined },
    ],
    [
      'thinking that is cut short',
      [START, begin(0, thinking('', '')), piece(0, 'thinking', 'H'), ...end('max_tokens')],
      { message: {}, finish: 'length', kept: undefined },
    ],
    [
      'redacted thinking, and thinking of a server that signs none',
      [
        START,
        begin(0, { type: 'redacted_thinking', data: 'd' }),
        begin(1, { type: 'thinking', thinking: '' }),
        piece(1, 'thinking', 'Hm.'),
        begin(2, text('Hi.')),
        ...end('end_turn'),
      ],
      {
        message: { content: 'Hi.' },
        finish: 'stop',
        kept: [{ type: 'redacted_thinking', data: 'd' }, { type: 'thinking', thinking: 'Hm.' }, text('Hi.')],
      },
    ],
    [
      'null in each field, unknown blocks and unknown deltas',
      [
        { type: 'message_start', message: null },
        begin(0, { type: 'some_day', x: 1 }),
        piece(0, 'some_day', 'x'),
        begin(1, { type: 'text', text: null }),
        piece(1, 'text', null),
        piece(1, 'text', 'Hi.'),
        ...end(null),
      ],
      { message: { content: 'Hi.' }, finish: 'stop', kept: undefined },
    ],
    [
      'a pause',
      [START, begin(0, text('Hi.')), ...end('pause_turn')],
      {
        error: 'The model has paused its turn, and an answer over chat cannot be continued.',
        kept: undefined,
      },
    ],
    [
      'an error after content',
      [
        START,
        begin(0, text('Hi.')),
        { type: 'error', error: { type: 'overloaded_error', message: 'Oh.' } },
        ...end('end_turn'),
      ],
      { error: 'Oh.', kept: undefined },
    ],
  ])('%s', (_, events, expected) => {
    expect(given('messages', events)).toEqual(expected);
  });
});
