import { describe, expect, it } from 'vitest';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { JoinedChatStreams } from '../../../../src/protocol/chat/joined-streams.ts';

const OURS: ReadonlySet<string> = new Set(['retrieve_ref']);
const decoder = new TextDecoder();

type Json = Record<string, unknown>;

interface Shown extends Json {
  id: string;
  choices: { delta: Json; finish_reason: string | null }[];
  usage?: Json | null;
}

interface Chunk {
  delta?: Json;
  finish?: string | null;
  usage?: Json | null;
  id?: string;
  /** More members of the choice, and of the chunk. */
  ofChoice?: Json;
  ofChunk?: Json;
}

/** The turns of a model, chunk by chunk. */
function turnsOf({ mayAnswer = true }: { mayAnswer?: boolean } = {}) {
  const turns = new JoinedChatStreams(OURS, () => mayAnswer);
  const frameOf = ({ delta = {}, finish = null, usage, id = 'c1', ofChoice, ofChunk }: Chunk): string => {
    const choices = [{ index: 0, delta, finish_reason: finish, ...ofChoice }];
    const counted = usage === undefined ? {} : { usage };
    return JSON.stringify({ id, created: 1, model: 'm', choices, ...counted, ...ofChunk });
  };
  return {
    turns,
    /** The bytes that are passed on for a chunk, as text. */
    bytes: (chunk: Chunk): string => {
      const data = frameOf(chunk);
      const frames = turns.take(Frame.of(data));
      return frames.map(({ bytes }) => decoder.decode(bytes)).join('');
    },
    /** The content that is passed on for all these chunks. */
    shown: (...all: Chunk[]): Shown[] =>
      all.flatMap((chunk) => {
        const data = frameOf(chunk);
        return turns.take(Frame.of(data)).map(({ bytes }) => JSON.parse(decoder.decode(bytes).slice(6)));
      }),
    same: (chunk: Chunk): string => `data: ${frameOf(chunk)}\n\n`,
  };
}

const calling = (...pieces: Json[]): Chunk => ({ delta: { tool_calls: pieces } });
const named = (name: string, index = 0, id = `call_${index}`, args = ''): Json => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
});
const more = (args: string, index = 0): Json => ({ index, function: { arguments: args } });
const callsIn = (shown: readonly Shown[]): Json[] =>
  shown.flatMap(({ choices }) => (choices[0]?.delta.tool_calls as Json[] | undefined) ?? []);
const finishesIn = (shown: readonly Shown[]): (string | null)[] =>
  shown.flatMap(({ choices }) => choices[0]?.finish_reason ?? []);
const expectedIn = ({ ofChoice, ofChunk, usage }: Chunk): Json => ({
  ...(usage && { usage }),
  ...(ofChoice && { choices: [ofChoice] }),
  ...ofChunk,
});
const usagesIn = (shown: readonly Shown[]): unknown[] => shown.flatMap(({ usage }) => usage ?? []);

describe('a name that a model garbles', () => {
  it.each([
    ['functions.retrieve_ref', true],
    [' retrieve_ref', true],
    ['function.retrieve_ref', true],
    ['functions.retrieve', false],
    ['functional', false],
    ['my.retrieve_ref', false],
  ])('is Precis’s in whatever pieces it comes, or the caller’s with its bytes: %j', (name, isOurs) => {
    for (let at = 1; at <= name.length; at++) {
      const { shown, turns } = turnsOf();
      const seen = shown(
        calling(named(name.slice(0, at))),
        calling({ index: 0, function: { name: name.slice(at) } }),
        calling(more('{}')),
        { finish: 'tool_calls' },
      );
      const said = callsIn(seen).map((one) => (one.function as Json | undefined)?.name ?? '');
      expect(said.join('')).toBe(isOurs ? '' : name);
      turns.end();
      expect(turns.turn?.calls.map((one) => one.name)).toEqual(isOurs ? ['retrieve_ref'] : undefined);
    }
  });
});

describe('an answer whose calls are all dropped', () => {
  const begun: Chunk = { delta: { role: 'assistant', content: null } };

  // OpenAI refuses `content: null` without calls.
  it.each(['tool_calls', 'length'])('has a text that can be sent back, at its end %s', (finish) => {
    const { shown } = turnsOf({ mayAnswer: false });
    const all = shown(begun, calling(named('retrieve_ref', 0, 'x', '{}')), { finish });
    expect(all.map(({ choices }) => choices[0]?.delta.content)).toEqual([null, '']);
    expect(finishesIn(all)).toEqual([finish === 'length' ? 'length' : 'stop']);
  });

  it('keeps the text that it has', () => {
    const { shown, bytes } = turnsOf({ mayAnswer: false });
    shown({ delta: { role: 'assistant', content: 'I look.' } }, calling(named('retrieve_ref', 0, 'x', '{}')));
    expect(bytes({ finish: 'length' })).not.toContain('content');
  });
});

describe('a call of a custom tool', () => {
  const first = calling({ index: 0, id: 'a', type: 'custom', custom: { name: 'retrieve_ref', input: '' } });
  const second = calling({ index: 0, custom: { input: '*** Begin' } });

  it('is the caller’s at once, byte for byte', () => {
    const { turns, bytes, same } = turnsOf();
    const end = { finish: 'tool_calls' };
    for (const chunk of [first, second, end]) expect(bytes(chunk)).toBe(same(chunk));
    expect(turns.turn).toBeUndefined();
  });

  it('is shown unchanged in a later answer, too', () => {
    const { turns, shown } = turnsOf();
    shown(calling(named('retrieve_ref', 0, 'x', '{}')), { finish: 'tool_calls' });
    turns.begin();
    expect(callsIn(shown(first, second))).toEqual([
      { index: 0, id: 'a', type: 'custom', custom: { name: 'retrieve_ref', input: '' } },
      { index: 0, custom: { input: '*** Begin' } },
    ]);
  });

  it('is any of a type that is not known', () => {
    const { bytes, same } = turnsOf();
    const chunk = calling({ index: 0, id: 'a', type: 'shell', shell: { command: 'ls' } });
    expect(bytes(chunk)).toBe(same(chunk));
  });
});

describe('when no further call is answered', () => {
  it('a call of Precis’s tool that comes first is dropped, and the caller’s flow', () => {
    const { turns, shown } = turnsOf({ mayAnswer: false });
    const seen = shown(
      { delta: { role: 'assistant', content: '' } },
      calling(named('retrieve_ref', 0, 'x')),
      calling(more('{"ref":"y"}')),
      calling(named('search', 1, 'b')),
      calling(more('{"q":1}', 1)),
      { finish: 'tool_calls' },
    );
    expect(callsIn(seen)).toEqual([named('search', 0, 'b'), more('{"q":1}', 0)]);
    expect(finishesIn(seen)).toEqual(['tool_calls']);
    expect(turns.turn).toBeUndefined();
  });

  it('an answer of nothing but calls of Precis’s tools has stopped', () => {
    const { shown } = turnsOf({ mayAnswer: false });
    const seen = shown({ delta: { content: 'Hm.' } }, calling(named('retrieve_ref', 0, 'x', '{}')), {
      finish: 'tool_calls',
    });
    expect(callsIn(seen)).toEqual([]);
    expect(finishesIn(seen)).toEqual(['stop']);
  });
});

describe('a list in many pieces', () => {
  it('is gathered in order, and no piece is changed', () => {
    const { turns, shown } = turnsOf();
    const details = Array.from({ length: 5 }, (_, at) => [{ type: 'reasoning.text', text: `${at}` }]);
    const seen = shown(...details.map((piece) => ({ delta: { reasoning_details: piece } })));
    expect(seen.map(({ choices }) => choices[0]?.delta.reasoning_details)).toEqual(details);
    shown(calling(named('retrieve_ref', 0, 'x', '{}')), { finish: 'tool_calls' });
    expect(turns.turn?.messages[0]).toMatchObject({ reasoning_details: details.flat() });
  });
});

describe('usage on a chunk with a choice', () => {
  const usage = (prompt: number, completion: number): Json => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  });
  const speaking = { role: 'assistant', content: '' };

  it('is reported once for all answers, as is the finish reason', () => {
    const { turns, shown } = turnsOf();
    const inner = shown(
      { delta: { ...speaking, content: 'Hm. ' } },
      calling(named('retrieve_ref', 0, 'x', '{}')),
      { delta: speaking, finish: 'tool_calls' },
      { delta: speaking, usage: usage(10, 5) },
    );
    turns.begin();
    const last = shown(
      { delta: { ...speaking, content: 'So.' } },
      { delta: speaking, finish: 'stop' },
      { delta: speaking, usage: usage(30, 7) },
    );
    expect(usagesIn(inner)).toEqual([]);
    expect(usagesIn(last)).toEqual([usage(30, 12)]);
    expect(finishesIn([...inner, ...last])).toEqual(['stop']);
    expect(turns.usage).toEqual({ prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 });
  });

  it.each([
    ['beside its choices', (of: Json): Chunk => ({ usage: of })],
    ['in its choice (Moonshot)', (of: Json): Chunk => ({ ofChoice: { usage: of } })],
    ['in a field of its own (Groq)', (of: Json): Chunk => ({ ofChunk: { x_groq: { id: 'r', usage: of } } })],
  ])('is reported once if it comes with the end, %s', (_, placed) => {
    const { turns, shown } = turnsOf();
    const inner = shown({ delta: { content: 'Hm. ' } }, calling(named('retrieve_ref', 0, 'x', '{}')), {
      delta: { content: 'And.' },
      finish: 'tool_calls',
      ...placed(usage(10, 5)),
    });
    turns.begin();
    const last = shown({ delta: { content: 'So.' }, finish: 'stop', ...placed(usage(30, 7)) });
    expect(JSON.stringify(inner)).not.toContain('completion_tokens');
    expect(finishesIn(inner)).toEqual([]);
    expect(last).toMatchObject([expectedIn(placed(usage(30, 12)))]);
    expect(turns.usage?.total_tokens).toBe(52);
  });

  it('has the details of all completions, and of the last prompt', () => {
    const { turns, shown } = turnsOf();
    const detailed = (reasoning: number, cached: number): Json => ({
      ...usage(10, 5),
      completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
      prompt_tokens_details: { cached_tokens: cached },
    });
    shown(calling(named('retrieve_ref', 0, 'x', '{}')), { finish: 'tool_calls', usage: detailed(3, 1) });
    turns.begin();
    expect(usagesIn(shown({ finish: 'stop', usage: detailed(4, 9) }))).toEqual([
      {
        ...usage(10, 10),
        completion_tokens_details: { reasoning_tokens: 7, audio_tokens: 0 },
        prompt_tokens_details: { cached_tokens: 9 },
      },
    ]);
  });
});

describe('calls in the forms of other upstreams', () => {
  it('may have the whole name in every piece', () => {
    const { turns, shown } = turnsOf();
    shown(calling(named('retrieve_ref', 0, 'x')), calling(named('retrieve_ref', 0, 'x', '{"ref":')));
    shown(calling(named('retrieve_ref', 0, 'x', '"y"}')), { finish: 'tool_calls' });
    expect(turns.turn?.calls).toEqual([{ id: 'x', name: 'retrieve_ref', arguments: '{"ref":"y"}' }]);
  });

  it('may all have one index: each id with a name is a call', () => {
    const { turns, shown } = turnsOf();
    const seen = shown(
      calling(named('retrieve_ref', 0, 'x', '{"ref":"a"}')),
      calling(named('search', 0, 'b', '{}')),
      calling(named('retrieve_ref', 0, 'y', '{"ref":"b"}')),
      { finish: 'tool_calls' },
    );
    expect(seen).toEqual([]);
    expect(turns.turn?.calls.map(({ id, arguments: args }) => [id, args])).toEqual([
      ['x', '{"ref":"a"}'],
      ['y', '{"ref":"b"}'],
    ]);
  });

  it('that are the caller’s then have an index each', () => {
    const { shown } = turnsOf();
    const seen = shown(
      calling(named('search', 0, 'a', '{}')),
      calling(named('status', 0, 'b')),
      calling(more('{}')),
    );
    expect(callsIn(seen)).toEqual([named('search', 0, 'a', '{}'), named('status', 1, 'b'), more('{}', 1)]);
  });

  // https://github.com/agno-agi/agno/pull/8880
  it('may give the name of a second one the index of the first', () => {
    const odd = [named('retrieve_ref', 0, 'x', '{"ref":"a"}'), named('retrieve_ref', 0, 'y')];
    const { turns, shown } = turnsOf();
    shown(...odd.map((piece) => calling(piece)), calling(more('{"ref":', 1)), calling(more('"b"}', 1)), {
      finish: 'tool_calls',
    });
    expect(turns.turn?.calls.map(({ arguments: args }) => args)).toEqual(['{"ref":"a"}', '{"ref":"b"}']);
    const callers = [named('search', 0, 'a', '{}'), named('status', 0, 'b'), more('{"q":', 1), more('1}', 1)];
    expect(callsIn(turnsOf().shown(...callers.map((piece) => calling(piece))))).toEqual([
      named('search', 0, 'a', '{}'),
      named('status', 1, 'b'),
      more('{"q":', 1),
      more('1}', 1),
    ]);
  });

  it('may say in every piece that it has no end, as an empty text', () => {
    const { turns, shown } = turnsOf();
    const pieces = [calling(named('retrieve', 0, 'x')), calling({ index: 0, function: { name: '_ref' } })];
    expect(shown(...pieces.map((chunk) => ({ ...chunk, finish: '' })))).toEqual([]);
    shown(calling(more('{}')), { finish: 'tool_calls' });
    expect(turns.turn?.calls).toEqual([{ id: 'x', name: 'retrieve_ref', arguments: '{}' }]);
  });

  it.each(['eos', 'tool_use', 'STOP', 'tool_call'])(
    'may end in the words of another server: %s',
    (finish) => {
      const { turns, shown } = turnsOf();
      shown(calling(named('retrieve_ref', 0, 'x', '{}')), { finish });
      expect(turns.turn?.calls).toEqual([{ id: 'x', name: 'retrieve_ref', arguments: '{}' }]);
    },
  );

  it.each([
    ['with its arguments', '{}'],
    ['before any', ''],
  ])('may end without a reason, by [DONE]: %s', (_, args) => {
    const { turns, shown } = turnsOf();
    expect(shown(calling(named('retrieve_ref', 0, 'x', args)))).toEqual([]);
    expect([turns.turn, turns.take(Frame.of('[DONE]')), turns.isThrough]).toEqual([undefined, [], true]);
    expect(turns.turn?.calls).toEqual([{ id: 'x', name: 'retrieve_ref', arguments: args }]);
  });

  it('may have an id of its own in every piece', () => {
    const { turns, shown } = turnsOf();
    shown(calling(named('retrieve_ref', 0, 'x')), calling({ ...more('{}'), id: 'y' }), {
      finish: 'tool_calls',
    });
    expect(turns.turn?.calls).toEqual([{ id: 'x', name: 'retrieve_ref', arguments: '{}' }]);
  });
});

describe('calls without an index or an id', () => {
  const bare = (call: Json): Json => ({ type: 'function', ...call });
  const whole = (name: string, args: string, more: Json = {}): Json =>
    bare({ ...more, function: { name, arguments: args } });
  const callsOf = ({ turns }: ReturnType<typeof turnsOf>): unknown =>
    turns.turn?.calls.map(({ name, arguments: args }) => [name, args]);

  // Gemini's, each in a chunk of its own (https://github.com/noho/dayu-agent/pull/57).
  it.each([
    ['no id', {}],
    ['an empty id', { id: '' }],
    ['an id each', undefined],
  ])('are several where each is whole: with %s', (_, ids) => {
    const streams = turnsOf();
    streams.shown(
      calling(whole('retrieve_ref', '{"ref":"a"}', ids ?? { id: 'x' })),
      calling(whole('retrieve_ref', '{"ref":"b"}', ids ?? { id: 'y' })),
      calling(whole('search', '{}', ids ?? { id: 'z' })),
      { finish: 'stop' },
    );
    expect(callsOf(streams)).toEqual([
      ['retrieve_ref', '{"ref":"a"}'],
      ['retrieve_ref', '{"ref":"b"}'],
    ]);
  });

  // https://github.com/open-webui/computer/issues/224
  it('may be in pieces, with a last one that has only a signature', () => {
    const streams = turnsOf();
    const extra_content = { google: { thought_signature: 's' } };
    streams.shown(
      calling(whole('retrieve_ref', '{"ref":', { id: 'x' })),
      calling(bare({ function: { arguments: '"a"}' } })),
      calling(bare({ extra_content })),
      { finish: 'stop' },
    );
    expect(callsOf(streams)).toEqual([['retrieve_ref', '{"ref":"a"}']]);
    expect(streams.turns.turn?.messages[0]).toMatchObject({ tool_calls: [{ id: 'x', extra_content }] });
  });

  // https://github.com/vercel/ai/pull/15879
  it('may have their arguments before their name', () => {
    const streams = turnsOf();
    const seen = streams.shown(
      calling({ id: 'x', function: { arguments: '{"ref":' } }),
      calling({ id: 'x', function: { arguments: '"a"}' } }),
      calling({ id: 'x', function: { name: 'retrieve_ref' } }),
      calling({ id: 'y', function: { arguments: '{"ref":"b"}' } }),
      calling({ id: 'y', function: { name: 'retrieve_ref' } }),
      { finish: 'tool_calls' },
    );
    expect(seen).toEqual([]);
    expect(callsOf(streams)).toEqual([
      ['retrieve_ref', '{"ref":"a"}'],
      ['retrieve_ref', '{"ref":"b"}'],
    ]);
  });

  it('are distinguished by their ids, and have an index each where they are the caller’s', () => {
    const { shown } = turnsOf();
    const piece = (id: string, args: string): Json => ({ id, function: { arguments: args } });
    const pieces = [whole('search', '', { id: 'x' }), whole('status', '', { id: 'y' })];
    const rest = [piece('x', '{"q":'), piece('y', '{}'), piece('x', '1}')];
    const seen = callsIn(shown(...[...pieces, ...rest].map((each) => calling(each))));
    expect(seen.map(({ id, index }) => [id, index])).toEqual([
      ['x', 0],
      ['y', 1],
      ['x', 0],
      ['y', 1],
      ['x', 0],
    ]);
  });

  it('wait for their name where they are the caller’s, and lose nothing', () => {
    const { shown } = turnsOf();
    const seen = shown(
      calling({ id: 'x', function: { arguments: '{"q":1}' } }),
      calling({ id: 'x', function: { name: 'search' } }),
      { finish: 'tool_calls' },
    );
    expect(callsIn(seen)).toEqual([
      { index: 0, id: 'x', function: { name: 'search', arguments: '{"q":1}' } },
    ]);
  });
});

describe('what each piece of an answer says of itself', () => {
  // Groq's channel, as recorded in `tests/models/cassettes/test_groq` of
  // https://github.com/pydantic/pydantic-ai, MiniMax's name for its model, and Mistral's index
  // (`mistral-incremental-tool-call.chunks.txt` of https://github.com/vercel/ai). Groq refuses
  // properties of a message that it does not know
  // (https://github.com/chatboxai/chatbox/issues/2083).
  it('is not sent back', () => {
    const { turns, shown } = turnsOf();
    const labels = { name: 'MiniMax AI', channel: 'analysis', audio_content: '', index: 0 };
    shown(
      { delta: { role: 'assistant', reasoning: 'The', ...labels } },
      { delta: { role: 'assistant', reasoning: ' user', ...labels } },
      calling(named('retrieve_ref', 0, 'x', '{}')),
      { finish: 'tool_calls' },
    );
    expect(turns.turn?.messages[0]).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'The user',
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } }],
    });
  });
});

describe('arguments that are no JSON object', () => {
  it.each(['{"ref": ', '[]', '"ref"', 'null', ''])('are sent as an empty one: %j', (args) => {
    const { turns, shown } = turnsOf();
    shown(calling(named('retrieve_ref', 0, 'x', args)), { finish: 'tool_calls' });
    expect(turns.turn?.messages[0]).toMatchObject({
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } }],
    });
    expect(turns.turn?.calls[0]?.arguments).toBe(args);
  });
});

describe('thinking in pieces', () => {
  const detail = (more: Json, index = 0): Json => ({ type: 'reasoning.text', format: 'f', index, ...more });
  const block = (thinking: string, signature = ''): Json => ({ type: 'thinking', thinking, signature });
  const ofOurs = { ...calling(named('retrieve_ref', 0, 'x', '{}')), finish: 'tool_calls' };
  const listed = (list: Json): Json => ({ reasoning_details: [list] });
  const blocks = (list: Json): Json => ({
    thinking_blocks: [list],
    provider_specific_fields: { thinking_blocks: [list], citations: null },
  });

  it('is sent as the blocks that were signed, joined by index', () => {
    const { turns, shown } = turnsOf();
    shown(
      { delta: listed(detail({ text: 'I ' })) },
      { delta: listed(detail({ text: 'look.' })) },
      { delta: listed(detail({ signature: 's0' })) },
      { delta: listed(detail({ type: 'reasoning.encrypted', data: 'xyz' }, 1)) },
      ofOurs,
    );
    expect(turns.turn?.messages[0]).toMatchObject({
      reasoning_details: [
        detail({ text: 'I look.', signature: 's0' }),
        detail({ type: 'reasoning.encrypted', data: 'xyz' }, 1),
      ],
    });
  });

  it('is as many blocks as have ids, whatever index they have', () => {
    const { turns, shown } = turnsOf();
    const signs = ['call_a', 'call_b'].map((id) =>
      detail({ type: 'reasoning.encrypted', id, data: `of ${id}` }),
    );
    shown(...signs.map((sign) => ({ delta: listed(sign) })), ofOurs);
    expect(turns.turn?.messages[0]).toMatchObject({ reasoning_details: signs });
  });

  it('is sent as the blocks that were signed, each up to its signature', () => {
    const { turns, shown } = turnsOf();
    const redacted = { type: 'redacted_thinking', data: 'abc' };
    const pieces = [block('I '), block('look.'), block('', 's0'), redacted, block('So'), block('', 's1')];
    shown(...pieces.map((piece) => ({ delta: blocks(piece) })), ofOurs);
    const whole = [block('I look.', 's0'), redacted, block('So', 's1')];
    expect(turns.turn?.messages[0]).toMatchObject({
      thinking_blocks: whole,
      provider_specific_fields: { thinking_blocks: whole, citations: null },
    });
  });

  it('is sent as parts of the content, with the text that comes after it as strings', () => {
    const { turns, shown } = turnsOf();
    const thought = (...texts: string[]): Json => ({
      type: 'thinking',
      thinking: [{ type: 'text', text: texts.join('') }],
    });
    const pieces = [[thought('I ')], [thought('look.')], 'Let me ', 'see.', [{ type: 'text', text: ' So' }]];
    shown(...pieces.map((content) => ({ delta: { content } })), ofOurs);
    expect(turns.turn?.messages[0]).toMatchObject({
      content: [thought('I look.'), { type: 'text', text: 'Let me see. So' }],
    });
    turns.begin();
    shown({ delta: { content: [thought('Yes.')] } }, { delta: { content: ' Seven.' } }, { finish: 'stop' });
    // Clients that show no thinking send the text back.
    expect(JSON.parse(turns.said?.json ?? '').content).toBe('Let me see. So Seven.');
  });

  it("is sent as Copilot's texts and as Databricks' parts", () => {
    const { turns, shown } = turnsOf();
    const summed = (text: string, signature: string): Json => ({
      ...{ type: 'reasoning', summary: [{ type: 'summary_text', text, signature }] },
    });
    const pieces = [summed('I ', ''), summed('look.', ''), summed('', 's0'), summed('So', 's1')];
    shown(
      ...pieces.map((piece) => ({ delta: { content: [piece] } })),
      { delta: { reasoning_text: 'I ' } },
      { delta: { reasoning_text: 'look.', reasoning_opaque: 's0' } },
      ofOurs,
    );
    expect(turns.turn?.messages[0]).toMatchObject({
      content: [summed('I look.', 's0'), summed('So', 's1')],
      reasoning_text: 'I look.',
      reasoning_opaque: 's0',
    });
  });

  it('keeps parts that are whole apart', () => {
    const { turns, shown } = turnsOf();
    const parts = [
      { type: 'text', text: 'First.' },
      { type: 'thinking', thinking: [{ type: 'text', text: 'a' }], signature: 's0' },
      { type: 'thinking', thinking: [{ type: 'text', text: 'b' }], signature: 's1' },
      { type: 'thinking', thinking: 'c', signature: 's2' },
      { type: 'reference', reference_ids: [1] },
    ];
    shown({ delta: { content: '' } }, ...parts.map((part) => ({ delta: { content: [part] } })), ofOurs);
    expect(turns.turn?.messages[0]).toMatchObject({ content: parts });
  });

  it('that signs a call stays where a later piece says nothing of it', () => {
    const { turns, shown } = turnsOf();
    const signed = { extra_content: { google: { thought_signature: 's0' } } };
    shown(
      calling({ ...named('retrieve_ref', 0, 'x'), ...signed }),
      calling({ ...more('{}'), id: null, type: null, extra_content: null }),
      { finish: 'tool_calls' },
    );
    expect(turns.turn?.messages[0]).toMatchObject({ tool_calls: [{ id: 'x', ...signed }] });
  });

  it('has indices that go on after an answer', () => {
    const { turns, shown } = turnsOf();
    shown({ delta: listed(detail({ text: 'I look.', signature: 's0' })) }, ofOurs);
    turns.begin();
    const later = shown({ delta: listed(detail({ text: 'I see.', signature: 's1' })) }, ofOurs);
    expect(later[0]?.choices[0]?.delta).toEqual(listed(detail({ text: 'I see.', signature: 's1' }, 1)));
    expect(turns.turn?.messages[0]).toMatchObject(listed(detail({ text: 'I see.', signature: 's1' })));
    turns.begin();
    const last = shown(
      { delta: listed(detail({ text: 'Yes.' })) },
      { delta: listed(detail({ text: '.' }, 1)) },
    );
    expect(last.map(({ choices }) => choices[0]?.delta)).toEqual([
      listed(detail({ text: 'Yes.' }, 2)),
      listed(detail({ text: '.' }, 3)),
    ]);
  });

  it('comes without its blocks where it is bound to rounds that the caller never sends', () => {
    const turns = new JoinedChatStreams(OURS, () => true, { isBound: true });
    const take = (delta: Json, finish: string | null = null): Json[] => {
      const data = JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] });
      return turns.take(Frame.of(data)).map(({ bytes }) => {
        const chunk = JSON.parse(decoder.decode(bytes).slice(6)) as Shown;
        return chunk.choices[0]?.delta ?? {};
      });
    };
    const first = { reasoning: 'I look.', ...listed(detail({ text: 'I look.', signature: 's0' })) };
    expect(take(first)).toEqual([first]);
    take({ tool_calls: [named('retrieve_ref', 0, 'x', '{}')] }, 'tool_calls');
    turns.begin();
    expect(take({ reasoning: 'I see.', ...blocks(block('I see.', 's1')) })).toEqual([
      { reasoning: 'I see.', provider_specific_fields: { citations: null } },
    ]);
  });
});
