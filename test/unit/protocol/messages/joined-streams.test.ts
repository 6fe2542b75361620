import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { NOTHING_SAID } from '../../../../src/protocol/messages/answer-blocks.ts';
import { goOnMessages } from '../../../../src/protocol/messages/calls.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { type MessageAnswer, messageEvents } from '../../../../tools/upstream/message.ts';
import { user } from '../../../support/conversations/chat.ts';
import { eventsIn } from '../../../support/conversations/message-stream.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  call,
  decoder,
  encoder,
  type Json,
  kinds,
  OURS,
  request,
  streamed,
  thinking,
  whole,
} from './joined.ts';

const typesIn = (events: readonly Json[]): unknown[] => events.map(({ type }) => type);
const sent = (answer: MessageAnswer): string => [...messageEvents(request, { id: '0', ...answer })].join('');

describe('a stream without calls of Precis’s tools', () => {
  it('passes with its bytes unchanged, whatever is in it', () => {
    const web = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } };
    const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
    const answer = {
      thinking,
      content: 'Grüße 😀\n"said"',
      blocks: [web, result, { type: 'new_kind', n: 1.0 }],
      toolCalls: [call('edit', '{"path":"a.ts"}')],
    };
    expect(streamed([answer]).text).toBe(sent(answer));
  });
});

describe('a call of Precis’s tool in a stream', () => {
  const fetch = call('retrieve_ref', '{"ref":"ref_1","lines":"1-2"}');
  const answers = [
    { thinking, content: 'Let me look. ', toolCalls: [fetch] },
    { thinking: { text: 'So that is it.', signature: 'sig2' }, content: 'It is 42.' },
  ];

  it('is answered within it, as one message whose blocks are numbered without a gap', () => {
    const { events, message, turns } = streamed(answers);
    expect(turns.flatMap(({ calls }) => calls)).toEqual([fetch]);
    expect(kinds({ message })).toEqual(['thinking', 'text', 'thinking', 'text']);
    expect(message).toMatchObject({ id: 'msg_0', stop_reason: 'end_turn' });
    const types = typesIn(events);
    for (const once of ['message_start', 'message_delta', 'message_stop'])
      expect(types.filter((type) => type === once)).toHaveLength(1);
    expect(types.at(-1)).toBe('message_stop');
    expect(types.filter((type) => type === 'ping')).toHaveLength(2);
  });

  it('is sent again with its thinking and signature unchanged, and all results in one message', () => {
    const other = call('search_memory', '{"query":"q"}');
    const [turn] = streamed([{ ...answers[0], toolCalls: [fetch, other] }, { content: 'Done.' }]).turns;
    if (!turn) throw new Error('there is no turn');
    const body = '{"messages":[{"role":"user","content":"Go."}],"max_tokens":1}';
    const longer = goOnMessages(encoder.encode(body), turn, ['it', 'that']);
    expect(JSON.parse(decoder.decode(longer.body)).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: thinking.text, signature: thinking.signature },
          { type: 'text', text: 'Let me look. ' },
          ...[fetch, other].map(({ id, name, arguments: input }) => ({
            type: 'tool_use',
            id,
            name,
            input: JSON.parse(input),
          })),
        ],
      },
      user([
        { type: 'tool_result', tool_use_id: fetch.id, content: 'it' },
        { type: 'tool_result', tool_use_id: other.id, content: 'that' },
      ]),
    ]);
  });

  it('reports the usage of all answers: the last prompt, and all outputs', () => {
    const usage = (input: number, read: number, output: number, thinks: number, searches: number): Json => ({
      input_tokens: input,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: read,
      output_tokens: output,
      output_tokens_details: { thinking_tokens: thinks },
      server_tool_use: { web_search_requests: searches },
    });
    const joined = streamed([
      { ...answers[0], usage: usage(100, 0, 20, 5, 1) },
      { ...answers[1], usage: usage(30, 100, 9, 4, 2) },
    ]);
    expect(joined.events.find(({ type }) => type === 'message_delta')?.usage).toEqual(
      usage(30, 100, 29, 9, 3),
    );
    expect(joined.usage).toEqual({
      prompt_tokens: 107 + 137,
      completion_tokens: 29,
      total_tokens: 107 + 137 + 29,
    });
  });

  it('has the prompt from the beginning of an answer whose end does not repeat it', () => {
    const changed = (frame: string): string =>
      frame.includes('"message_delta"')
        ? frame.replace(/"usage":\{[^}]*\}/, '"usage":{"output_tokens":4,"input_tokens":null}')
        : frame;
    const { events } = streamed(answers, { changed });
    expect(events.find(({ type }) => type === 'message_delta')?.usage).toMatchObject({
      input_tokens: 10,
      output_tokens: 8,
    });
  });

  it('hides thinking of later answers where it may be bound to rounds that nobody sends back', () => {
    const { message } = streamed(answers, { reasoning: { isBound: true } });
    expect(kinds({ message })).toEqual(['thinking', 'text', 'text']);
  });

  it('is dropped after a call of the caller’s, and before one where no further one is answered', () => {
    const edit = call('edit');
    expect(kinds(streamed([{ toolCalls: [edit, fetch, edit] }]))).toEqual(['edit', 'edit']);
    const last = streamed([{ toolCalls: [fetch, edit] }], { most: 0 });
    expect(kinds(last)).toEqual(['edit']);
    expect(last.message.stop_reason).toBe('tool_use');
  });

  it('leaves an answer of nothing but itself as one that has stopped, where none is answered', () => {
    const { message, turns } = streamed([{ content: 'Hm.', toolCalls: [fetch] }], { most: 0 });
    expect(turns).toEqual([]);
    expect(message).toMatchObject({ content: [{ text: 'Hm.' }], stop_reason: 'end_turn' });
  });

  it.each(['tool_calls', 'stop', null])('is answered whatever its server says at its end: %s', (stop) => {
    const changed = (frame: string) =>
      frame.replace('"stop_reason":"tool_use"', `"stop_reason":${JSON.stringify(stop)}`);
    for (const reasoning of [{}, { isJson: true }])
      expect(streamed([{ content: 'Hm.', toolCalls: [fetch] }], { changed, reasoning }).turns).toHaveLength(
        1,
      );
  });

  it('leaves words of Precis where an answer would have none', () => {
    for (const stopReason of ['tool_use', 'max_tokens']) {
      const { message, said } = streamed([{ thinking, toolCalls: [fetch], stopReason }], { most: 0 });
      expect(kinds({ message })).toEqual(['thinking', 'text']);
      expect((message.content as Json[])[1]).toEqual(NOTHING_SAID);
      expect(JSON.parse(said?.json ?? 'null').content).toEqual(message.content);
    }
  });

  it('leaves words of Precis where an answer would end with thinking', () => {
    const rounds = [
      { thinking, content: 'I look.', toolCalls: [fetch] },
      { thinking, toolCalls: [fetch] },
    ];
    for (const joined of [whole, streamed]) {
      const { message } = joined(rounds, { most: 1 });
      expect(kinds({ message })).toEqual(['thinking', 'text', 'thinking', 'text']);
      expect((message.content as Json[]).at(-1)).toEqual(NOTHING_SAID);
    }
  });

  it('hides what is thought after it, if the call itself is dropped', () => {
    const late = { type: 'thinking', thinking: 'Next.', signature: 'late' };
    const [edit, other] = ['e', 'o'].map((id) => ({ type: 'tool_use', id, name: 'edit', input: {} }));
    const ours = { type: 'tool_use', id: 'r', name: 'retrieve_ref', input: {} };
    const blocks = [edit, ours, late, other].map((block) => block ?? {});
    const { message } = streamed([{ thinking, blocks, stopReason: 'tool_use' }]);
    expect(kinds({ message })).toEqual(['thinking', 'edit', 'edit']);
  });

  it('is sent with every digit of the API’s own calls beside it', () => {
    const web = { type: 'server_tool_use', id: 's', name: 'web_search', input: { n: 7 } };
    const changed = (frame: string): string => frame.replace('{\\"n\\":7}', '{\\"n\\":12345678901234567890}');
    const { turns } = streamed([{ blocks: [web], toolCalls: [fetch] }, { content: 'It.' }], { changed });
    expect(turns[0]?.json).toContain('"input":{"n":12345678901234567890}');
  });

  it('takes the caller’s calls after it out of the turn, with the thinking after them', () => {
    const late = { type: 'thinking', thinking: 'Next.', signature: 'late' };
    const edit = { type: 'tool_use', id: 'toolu_e', name: 'edit', input: {} };
    const again = { type: 'tool_use', id: 'toolu_r', name: 'retrieve_ref', input: {} };
    const ours = { type: 'tool_use', id: 'toolu_o', name: 'retrieve_ref', input: { ref: 'r' } };
    const answer = { thinking, blocks: [ours, late, edit, late, again], stopReason: 'tool_use' };
    const { turns, message } = streamed([answer, { content: 'Done.' }]);
    const [assistant] = (turns[0]?.messages ?? []) as { content: Json[] }[];
    expect(assistant?.content.map(({ id, signature }) => id ?? signature)).toEqual([
      thinking.signature,
      'toolu_o',
      'toolu_r',
    ]);
    expect(turns[0]?.calls.map(({ id }) => id)).toEqual(['toolu_o', 'toolu_r']);
    expect(kinds({ message })).toEqual(['thinking', 'text']);
  });

  it('is not answered if the answer was cut off', () => {
    const { turns, message, said } = streamed([{ toolCalls: [fetch], stopReason: 'max_tokens' }]);
    expect(turns).toEqual([]);
    expect(message.stop_reason).toBe('max_tokens');
    expect(said).toBeDefined();
  });

  it('is sent with an empty input where the model wrote no object', () => {
    const changed = (frame: string): string => frame.replace('{\\"ref\\":\\"ref_1\\",', '{\\"ref\\":');
    const { turns } = streamed(answers, { changed });
    expect(turns[0]?.calls[0]?.arguments).toBe('{"ref":"lines":"1-2"}');
    const [assistant] = (turns[0]?.messages ?? []) as { content: Json[] }[];
    expect(assistant?.content.at(-1)?.input).toEqual({});
  });

  it('has no blank text beside it, which upstreams refuse', () => {
    const { turns, message } = streamed([{ content: '\n\n', toolCalls: [fetch] }, { content: 'It.' }]);
    const [assistant] = (turns[0]?.messages ?? []) as { content: Json[] }[];
    expect(assistant?.content.map(({ type }) => type)).toEqual(['tool_use']);
    expect(kinds({ message })).toEqual(['text', 'text']);
  });

  it('is a call of Precis’s tool in no toolset', () => {
    const other = { type: 'tool_use', id: 't', name: 'retrieve_ref', input: {}, toolset_name: 'browser' };
    const { turns, message } = streamed([{ blocks: [other], stopReason: 'tool_use' }]);
    expect(turns).toEqual([]);
    expect(kinds({ message })).toEqual(['retrieve_ref']);
  });

  it('does not end with the connection', () => {
    const joined = messagesFormat.joinStreams(OURS, () => true);
    const frames = [...messageEvents(request, answers[0])];
    for (const frame of frames.slice(0, -1)) joined.take(new Frame(encoder.encode(frame)));
    joined.end();
    expect(joined.isThrough).toBe(false);
    expect(joined.turn).toBeUndefined();
    for (const frame of frames.slice(-1)) joined.take(new Frame(encoder.encode(frame)));
    expect(joined.isThrough).toBe(true);
  });
});

describe('events in an unusual form', () => {
  const answers = [
    { content: 'Look. ', toolCalls: [call('retrieve_ref')] },
    { content: 'It is "42".', toolCalls: [call('edit', '{"a":1}')] },
  ];
  const expected = streamed(answers).message;

  it.each([
    ['with spaces in their JSON', (data: Json) => JSON.stringify(data, null, 1).replaceAll(/\n */g, ' ')],
    ['with members in another order', ({ type, ...rest }: Json) => JSON.stringify({ ...rest, type })],
    [
      'with the padding of the API',
      (data: Json) => JSON.stringify(data).replace(/\}$/, (end) => `${' '.repeat(9)}${end}`),
    ],
    ['with all but ASCII escaped', (data: Json) => JSON.stringify(data).replaceAll('4', '\\u0034')],
  ])('mean the same %s', (_, written) => {
    const changed = (frame: string): string => {
      const [event] = eventsIn(frame);
      return event ? `event: ${event.type}\ndata: ${written(event)}\n\n` : frame;
    };
    const { message } = streamed(answers, { changed });
    expect(message).toEqual(expected);
  });
});

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const called = fc
  .constantFrom('retrieve_ref', 'search_memory', 'edit', 'look_up')
  .map((name) => call(name, '{"ref":"ref_1","n":1}'));
const answer: fc.Arbitrary<MessageAnswer> = fc.record(
  {
    content: text,
    thinking: fc.record({ signature: fc.string({ minLength: 1 }), text }, { requiredKeys: ['signature'] }),
    toolCalls: fc.array(called, { maxLength: 3 }),
    blocks: fc.array(
      fc.constantFrom<Json>(
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        { type: 'new_kind', value: 1 },
      ),
      { maxLength: 2 },
    ),
    stopReason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal'),
    usage: fc.record({ input_tokens: fc.nat(), cache_read_input_tokens: fc.nat(), output_tokens: fc.nat() }),
  },
  { requiredKeys: ['usage'] },
);

describe('any answers', () => {
  const options = fc.record({ most: fc.nat(3), reasoning: fc.record({ isBound: fc.boolean() }) });

  it('are one message, whether they are streamed or not', () => {
    forAll(runs(100, 500), fc.array(answer, { minLength: 1, maxLength: 4 }), options, (answers, how) => {
      const [stream, body] = [streamed(answers, how), whole(answers, how)];
      expect({ ...stream.message, usage: {} }).toEqual({ ...body.message, usage: {} });
      expect(stream.message.usage).toMatchObject(body.message.usage as Json);
      expect(stream.turns).toEqual(body.turns);
      expect(stream.usage).toEqual(body.usage);
      expect(JSON.parse(stream.said?.json ?? 'null')).toEqual(JSON.parse(body.said?.json ?? 'null'));
    });
  });

  it('show all of their text, and none of our calls', () => {
    forAll(runs(100, 500), fc.array(answer, { minLength: 1, maxLength: 4 }), options, (answers, how) => {
      const { message, turns } = streamed(answers, how);
      const texts = (message.content as Json[]).flatMap(({ type, text }) => (type === 'text' ? text : []));
      const said = texts.filter((words) => words !== NOTHING_SAID.text);
      const asked = [...answers, { content: 'End.' }].slice(0, turns.length + 1);
      const wanted = asked.flatMap(({ content, blocks = [], toolCalls = [] }) =>
        content === undefined && blocks.length + toolCalls.length > 0 ? [] : [content],
      );
      expect(said).toHaveLength(wanted.length);
      for (const [at, words] of wanted.entries()) if (words !== undefined) expect(said[at]).toBe(words);
      expect(kinds({ message }).filter((kind) => OURS.has(String(kind)))).toEqual([]);
    });
  });
});
