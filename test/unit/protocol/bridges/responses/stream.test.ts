import { describe, expect, it } from 'vitest';
import { AnswerPipeline } from '../../../../../src/protocol/answers/answer-pipeline.ts';
import { chatFormat } from '../../../../../src/protocol/chat/format.ts';
import { choicesOf, deltasOf, type Json, streamed } from './bridged.ts';

const HEAD = { id: 'resp_7', created_at: 1_790_000_000, model: 'gpt-6.1-sol' };
const CREATED = { type: 'response.created', response: { ...HEAD, status: 'in_progress', output: [] } };
const completed = (output: Json[] = [], more: Json = {}): Json => ({
  type: 'response.completed',
  response: { ...HEAD, status: 'completed', output, ...more },
});

const at = (output_index: number, type: string, more: Json): Json => ({
  type: `response.${type}`,
  output_index,
  item_id: `item_${output_index}`,
  ...more,
});
const added = (index: number, item: Json): Json =>
  at(index, 'output_item.added', { item: { id: `item_${index}`, ...item } });
const done = (index: number, item: Json): Json =>
  at(index, 'output_item.done', { item: { id: `item_${index}`, status: 'completed', ...item } });
const text = (index: number, delta: string, more: Json = {}): Json =>
  at(index, 'output_text.delta', { content_index: 0, delta, ...more });
const args = (index: number, delta: string): Json => at(index, 'function_call_arguments.delta', { delta });
const message = (words: string): Json => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words, annotations: [] }],
});
const call = (call_id: string, name: string, input = ''): Json => ({
  type: 'function_call',
  call_id,
  name,
  arguments: input,
});

const ROLE = { role: 'assistant', content: '', refusal: null };
const opened = (index: number, id: string, name: string, input = ''): Json => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: input } }],
});
const more = (index: number, input: string): Json => ({
  tool_calls: [{ index, function: { arguments: input } }],
});

describe('a stream', () => {
  it.each<[what: string, events: Json[], deltas: Json[]]>([
    [
      'a text',
      [added(0, message('')), text(0, 'Hel'), text(0, 'lo')],
      [{ content: 'Hel' }, { content: 'lo' }],
    ],
    [
      'a second message',
      [added(0, message('')), text(0, 'A'), added(1, message('')), text(1, 'B'), text(1, 'C')],
      [{ content: 'A' }, { content: '\n\nB' }, { content: 'C' }],
    ],
    ['a text of no message', [text(0, 'A'), text(0, 'B')], [{ content: 'A' }, { content: 'B' }]],
    [
      'a refusal',
      [
        added(0, message('')),
        at(0, 'refusal.delta', { delta: 'No' }),
        at(0, 'refusal.done', { refusal: 'No.' }),
      ],
      [{ refusal: 'No' }, { refusal: '.' }],
    ],
    ['a text that only ends', [added(0, message('')), done(0, message('Hi.'))], [{ content: 'Hi.' }]],
    [
      'the end of a text that deltas have not brought',
      [
        added(0, message('')),
        text(0, 'Hi'),
        at(0, 'output_text.done', { text: 'Hi.' }),
        done(0, message('Hi.')),
      ],
      [{ content: 'Hi' }, { content: '.' }],
    ],
    ['an item that nothing has announced', [done(0, message('Hi.'))], [{ content: 'Hi.' }]],
    ['an item that is only in the output', [completed([message('Hi.')])], [{ content: 'Hi.' }]],
    [
      'a call',
      [added(0, call('a', 'read')), args(0, '{"p'), args(0, '":1}'), done(0, call('a', 'read', '{"p":1}'))],
      [opened(0, 'a', 'read'), more(0, '{"p'), more(0, '":1}')],
    ],
    [
      'a call without deltas',
      [added(0, call('a', 'read')), done(0, call('a', 'read', '{"p":1}'))],
      [opened(0, 'a', 'read'), more(0, '{"p":1}')],
    ],
    [
      'a call whose arguments only end',
      [added(0, call('a', 'read')), at(0, 'function_call_arguments.done', { arguments: '{}' })],
      [opened(0, 'a', 'read'), more(0, '{}')],
    ],
    [
      'a call that is announced without its name',
      [added(0, call('a', '')), args(0, '{}'), done(0, call('a', 'read', '{}'))],
      [opened(0, 'a', 'read', '{}')],
    ],
    [
      'a call that nothing has announced',
      [args(0, '{}'), done(0, call('a', 'read', '{}'))],
      [opened(0, 'a', 'read', '{}')],
    ],
    [
      'two calls at once, by the order of calls',
      [
        added(0, message('')),
        text(0, 'A'),
        added(1, call('a', 'read')),
        added(2, call('b', 'list')),
        args(2, '{"b'),
        args(1, '{"a'),
        args(2, '"}'),
        args(1, '"}'),
      ],
      [
        { content: 'A' },
        opened(0, 'a', 'read'),
        opened(1, 'b', 'list'),
        more(1, '{"b'),
        more(0, '{"a'),
        more(1, '"}'),
        more(0, '"}'),
      ],
    ],
    [
      'an item whose id changes in each event',
      [
        added(0, call('a', 'read')),
        { ...args(0, '{'), item_id: 'x' },
        { ...args(0, '}'), item_id: 'y' },
        done(0, { ...call('a', 'read', '{}'), id: 'z' }),
        completed([{ ...call('a', 'read', '{}'), id: 'w' }]),
      ],
      [opened(0, 'a', 'read'), more(0, '{'), more(0, '}')],
    ],
    [
      'an item that ends twice',
      [added(0, message('')), text(0, 'A'), done(0, message('A')), done(0, message('A'))],
      [{ content: 'A' }],
    ],
    [
      'calls of a custom tool and of a function of its name',
      [
        added(0, { type: 'custom_tool_call', call_id: 'c', name: 'run', input: '' }),
        at(0, 'custom_tool_call_input.delta', { delta: 'go' }),
        at(0, 'custom_tool_call_input.done', { input: 'go();' }),
        added(1, call('a', 'run')),
        args(1, '{}'),
      ],
      [
        { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'run', input: '' } }] },
        { tool_calls: [{ index: 0, custom: { input: 'go' } }] },
        { tool_calls: [{ index: 0, custom: { input: '();' } }] },
        opened(1, 'a', 'run'),
        more(1, '{}'),
      ],
    ],
    [
      'calls that a model has packed into one, once they are known',
      [
        added(0, call('p', 'parallel')),
        args(0, '{"tool_uses"'),
        done(
          0,
          call('p', 'parallel', '{"tool_uses":[{"recipient_name":"functions.read","parameters":{"p":1}}]}'),
        ),
      ],
      [opened(0, 'p_0', 'read', '{"p":1}')],
    ],
    [
      'citations, moved with their text',
      [
        added(0, message('')),
        text(0, 'Abc'),
        added(1, message('')),
        text(1, 'Def'),
        at(1, 'output_text.annotation.added', {
          content_index: 0,
          annotation: { type: 'url_citation', start_index: 0, end_index: 3, url: 'u', title: 'T' },
        }),
      ],
      [
        { content: 'Abc' },
        { content: '\n\nDef' },
        {
          annotations: [
            { type: 'url_citation', url_citation: { start_index: 5, end_index: 8, url: 'u', title: 'T' } },
          ],
        },
      ],
    ],
    [
      'no reasoning, no hosted call and no unknown event',
      [
        added(0, { type: 'reasoning', summary: [] }),
        at(0, 'reasoning_summary_text.delta', { summary_index: 0, delta: 'Hm.' }),
        done(0, { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }),
        added(1, { type: 'web_search_call' }),
        at(1, 'web_search_call.searching', {}),
        done(1, { type: 'web_search_call', action: {} }),
        { type: 'response.some_day.delta', delta: 'x' },
        { type: 'response.constructor.delta', delta: 'x' },
        { type: 'keepalive' },
      ],
      [],
    ],
  ])('says %s', (_, events, deltas) => {
    const isOver = events.at(-1)?.type === 'response.completed';
    const { chunks, isDone } = streamed([CREATED, ...events, ...(isOver ? [] : [completed()])]);
    expect(deltasOf(chunks)).toEqual([ROLE, ...deltas]);
    expect(isDone).toBe(true);
    expect(choicesOf(chunks).at(-1)?.finish_reason).toBe(
      JSON.stringify(deltas).includes('tool_calls') ? 'tool_calls' : 'stop',
    );
  });

  it('shows reasoning on request, with a blank line between its parts', () => {
    const item = {
      type: 'reasoning',
      id: 'item_0',
      summary: [
        { type: 'summary_text', text: 'First.' },
        { type: 'summary_text', text: 'Second.' },
      ],
      encrypted_content: 'gAAA',
    };
    const events = [
      CREATED,
      added(0, { type: 'reasoning', summary: [], encrypted_content: 'half' }),
      at(0, 'reasoning_summary_part.added', { summary_index: 0 }),
      at(0, 'reasoning_summary_text.delta', { summary_index: 0, delta: 'Fir' }),
      at(0, 'reasoning_summary_text.delta', { summary_index: 0, delta: 'st.' }),
      at(0, 'reasoning_summary_part.added', { summary_index: 1 }),
      at(0, 'reasoning_summary_text.done', { summary_index: 1, text: 'Second.' }),
      done(0, item),
      completed([item]),
    ];
    const { chunks } = streamed(events, {}, { showsReasoning: true });
    expect(deltasOf(chunks).slice(1)).toEqual([
      { reasoning_content: 'Fir' },
      { reasoning_content: 'st.' },
      { reasoning_content: '\n\nSecond.' },
      {
        reasoning_details: [
          {
            type: 'reasoning.encrypted',
            format: 'openai-responses-v1',
            id: 'item_0',
            data: 'gAAA',
            index: 0,
          },
        ],
      },
    ]);
  });

  it('has the probabilities of its tokens beside them', () => {
    const token = { token: 'Hi', logprob: -0.1, top_logprobs: [{ token: 'Ho', logprob: -3 }] };
    const { chunks } = streamed([CREATED, text(0, 'Hi', { logprobs: [token] }), completed()]);
    expect(choicesOf(chunks)[1]?.logprobs).toEqual({
      content: [{ ...token, bytes: null, top_logprobs: [{ bytes: null, token: 'Ho', logprob: -3 }] }],
      refusal: null,
    });
  });

  const USAGE = {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 2,
    total_tokens: 7,
  };
  const ASKS = { stream_options: { include_usage: true } };

  it('has the usage in a chunk of its own, and null in all others, where it is asked for', () => {
    const { chunks, isDone } = streamed([CREATED, text(0, 'A'), completed([], { usage: USAGE })], ASKS);
    expect(chunks.map(({ usage }) => usage)).toEqual([
      null,
      null,
      null,
      {
        prompt_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens: 2,
        total_tokens: 7,
      },
    ]);
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(isDone).toBe(true);
  });

  it('has no usage where nobody asks for it', () => {
    const { chunks } = streamed([CREATED, text(0, 'A'), completed([], { usage: USAGE })]);
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([]);
    expect(chunks).toHaveLength(3);
  });

  it('has one head, with the service tier as soon as it is known', () => {
    const last = completed([], { id: 'resp_8', service_tier: 'default' });
    const { chunks } = streamed([CREATED, text(0, 'A'), last]);
    const head = {
      id: 'chatcmpl-7',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'gpt-6.1-sol',
    };
    expect(chunks.map(({ choices: _, ...rest }) => rest)).toEqual([
      head,
      head,
      { ...head, service_tier: 'default' },
    ]);
  });

  it('passes comments', () => {
    expect(streamed([CREATED]).frames).toEqual([]);
  });
});

describe('the end of a stream', () => {
  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('is %s for %s, and nothing is kept', (finish, reason) => {
    const response = {
      ...HEAD,
      status: 'incomplete',
      incomplete_details: { reason },
      output: [message('A')],
    };
    const { chunks, isDone, kept } = streamed([
      CREATED,
      text(0, 'A'),
      { type: 'response.incomplete', response },
    ]);
    expect(choicesOf(chunks).at(-1)?.finish_reason).toBe(finish);
    expect({ isDone, kept }).toEqual({ isDone: true, kept: undefined });
  });

  it.each<[what: string, event: Json, finish: string]>([
    ['by its event', { type: 'response.incomplete', response: { status: 'completed' } }, 'length'],
    ['by its response', { type: 'response.completed', response: { status: 'incomplete' } }, 'length'],
    ['by `response.done`', { type: 'response.done', response: { status: 'incomplete' } }, 'length'],
    ['as complete by `response.done`', { type: 'response.done', response: HEAD }, 'stop'],
    ['not by the status that it began with', completed([], { status: 'in_progress' }), 'stop'],
  ])('is cut short %s', (_, event, finish) => {
    const { chunks, kept } = streamed([CREATED, text(0, 'A'), done(0, message('A')), event]);
    expect(choicesOf(chunks).at(-1)?.finish_reason).toBe(finish);
    expect(kept === undefined).toBe(finish === 'length');
  });

  it('has no call that nothing has begun and nothing has finished', () => {
    const output = [call('a', 'read', '{"p'), { ...call('b', 'read', '{}'), status: 'incomplete' }];
    const { chunks } = streamed([CREATED, { type: 'response.incomplete', response: { output } }]);
    expect(JSON.stringify(chunks)).not.toContain('tool_calls');
  });

  it('is known by the event alone', () => {
    const { chunks, kept } = streamed([CREATED, text(0, 'A'), { type: 'response.incomplete', response: {} }]);
    expect(choicesOf(chunks).at(-1)?.finish_reason).toBe('length');
    expect(kept).toBeUndefined();
  });

  it.each<[what: string, event: Json, error: Json]>([
    [
      'a failed response',
      {
        type: 'response.failed',
        response: { ...HEAD, error: { code: 'rate_limit_exceeded', message: 'Wait.' } },
      },
      { message: 'Wait.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    ],
    [
      'an error',
      { type: 'error', sequence_number: 3, code: 'server_error', message: 'Oh.', param: null },
      { message: 'Oh.', type: 'server_error', param: null, code: 'server_error' },
    ],
    ...['failed', 'cancelled'].map((status): [string, Json, Json] => [
      `a response that has ended with the status ${status}`,
      completed([], { status, error: { code: 'server_error', message: 'Oh.' } }),
      { message: 'Oh.', type: 'server_error', param: null, code: 'server_error' },
    ]),
    [
      'an error of a gateway',
      { error: { message: 'Oh.', code: 502 } },
      { message: 'Oh.', type: 'server_error', param: null, code: 502 },
    ],
  ])('is an error for %s, without a finish reason or [DONE]', (_, event, error) => {
    const { chunks, isDone, kept } = streamed([CREATED, text(0, 'A'), event, text(0, 'B')]);
    expect(chunks.at(-1)).toEqual({ error });
    expect(choicesOf(chunks).map(({ finish_reason }) => finish_reason)).toEqual([null, null]);
    expect({ isDone, kept }).toEqual({ isDone: false, kept: undefined });
  });

  it('is an error that begins the stream where the response has no content yet', () => {
    const failed = {
      type: 'response.failed',
      response: { error: { code: 'invalid_prompt', message: 'No.' } },
    };
    const { frames } = streamed([CREATED, { ...CREATED, type: 'response.in_progress' }, failed]);
    const begun = chatFormat.begin();
    expect(begun.push(new TextEncoder().encode(frames[0]))).toBe(true);
    expect(JSON.parse(begun.error ?? '')).toMatchObject({ error: { message: 'No.' } });
  });

  it('is missing where the upstream breaks off, which the reader of chat finds', () => {
    const { frames, isDone, kept } = streamed([CREATED, text(0, 'A')]);
    const pipeline = new AnswerPipeline(chatFormat.stream(undefined));
    for (const frame of frames) pipeline.push(new TextEncoder().encode(frame));
    expect(pipeline.end().complete).toBe(false);
    expect({ isDone, kept }).toEqual({ isDone: false, kept: undefined });
  });

  const reasoning = { type: 'reasoning', id: 'item_0', summary: [], encrypted_content: 'gAAA' };
  const events = [
    CREATED,
    added(0, { type: 'reasoning', summary: [] }),
    done(0, reasoning),
    added(1, { ...message(''), phase: 'final_answer' }),
    text(1, 'Hi.'),
    done(1, { ...message('Hi.'), phase: 'final_answer' }),
  ];

  it.each<[what: string, output: Json[]]>([
    ['in the last event', [reasoning, { ...message('Hi.'), phase: 'final_answer' }]],
    ['in the events before it, where it has none', []],
  ])('keeps the output: %s', (_, output) => {
    const { kept } = streamed([...events, completed(output)]);
    expect(JSON.parse(kept?.json ?? '')).toEqual([
      reasoning,
      { type: 'message', role: 'assistant', content: 'Hi.', phase: 'final_answer' },
    ]);
  });
});
