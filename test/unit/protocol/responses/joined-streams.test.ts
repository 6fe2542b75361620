import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  JoinedBodies,
  JoinedStreams,
  ReasoningForm,
} from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { isMarked, REASONING_MARK } from '../../../../src/protocol/responses/reasoning.ts';
import { eventsOf, type ResponseAnswer, responseOf } from '../../../../tools/upstream/response.ts';

type Json = Record<string, unknown>;

const OURS = new Set(['retrieve_ref', 'search_memory']);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const TOOLS = ['look_up', 'retrieve_ref'].map((name) => ({ type: 'function', name, parameters: {} }));
const request = { model: 'gpt-5', tools: TOOLS, store: false, include: ['reasoning.encrypted_content'] };

interface Joined {
  /** The response that the caller gets. */
  readonly response: Json;
  readonly turns: readonly ToolTurn[];
  readonly usage: unknown;
  readonly lastId: string | undefined;
}

/** Joins these answers by each protocol, as long as another answer is asked for. */
function join<Kind extends JoinedBodies | JoinedStreams>(
  kind: 'joinBodies' | 'joinStreams',
  most: number,
  step: (joined: Kind, count: number) => ToolTurn | undefined,
  reasoning: ReasoningForm = {},
): { turns: ToolTurn[]; usage: unknown; lastId: string | undefined } {
  const turns: ToolTurn[] = [];
  const joined = responsesFormat[kind](OURS, () => turns.length < most, reasoning) as Kind;
  for (;;) {
    const turn = step(joined, turns.length);
    if (!turn) return { turns, usage: joined.usage, lastId: joined.lastId };
    turns.push(turn);
  }
}

const answerAt = (answers: readonly ResponseAnswer[], at: number): ResponseAnswer => ({
  id: `${at}`,
  ...(answers[at] ?? { content: 'End.' }),
});

function whole(answers: readonly ResponseAnswer[], most = 3): Joined {
  let response: Json = {};
  const joined = join<JoinedBodies>('joinBodies', most, (bodies, at) => {
    const taken = bodies.take(encoder.encode(JSON.stringify(responseOf(request, answerAt(answers, at)))));
    if (!(taken instanceof Uint8Array)) return taken;
    response = JSON.parse(decoder.decode(taken));
    return undefined;
  });
  return { ...joined, response };
}

interface Streamed extends Joined {
  readonly events: readonly Json[];
  readonly text: string;
  /** The frames for each of the upstream's events. */
  readonly steps: readonly { readonly event: Json; readonly shown: string }[];
}

const jsonIn = (frame: string): Json => JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '');

function streamed(
  answers: readonly ResponseAnswer[],
  most = 3,
  changed: (event: string) => string = (event) => event,
  reasoning: ReasoningForm = {},
): Streamed {
  const steps: { event: Json; shown: string }[] = [];
  const step = (streams: JoinedStreams, at: number): ToolTurn | undefined => {
    if (at > 0) streams.begin();
    for (const event of [...eventsOf(request, answerAt(answers, at))].map(changed)) {
      const [, data = ''] = /^data: (.*)$/m.exec(event) ?? [];
      const frames = streams.take(new Frame(encoder.encode(event)));
      const shown = frames.map(({ bytes }) => decoder.decode(bytes)).join('');
      steps.push({ event: data === '' ? {} : JSON.parse(data), shown });
    }
    streams.end();
    return streams.isThrough ? streams.turn : undefined;
  };
  const joined = join('joinStreams', most, step, reasoning);
  const text = steps.map(({ shown }) => shown).join('');
  const events = text.split('\n\n').slice(0, -1).map(jsonIn);
  return { ...joined, events, text, steps, response: (events.at(-1)?.response ?? {}) as Json };
}

let ids = 0;
const call = (name: string, args = '{}') => ({ id: `call_${++ids}`, name, arguments: args });
const reasoning = { encrypted: 'sealed', summary: 'I think.' };
const kinds = ({ response }: Joined) => (response.output as Json[]).map(({ type, name }) => name ?? type);

describe('one answer without a call of ours', () => {
  const answer = { content: 'Hello there.', reasoning, toolCalls: [call('look_up')] };

  it('is the bytes that came, but for our tools in what it repeats of the request', () => {
    const own = { ...request, tools: TOOLS.slice(0, 1) };
    expect(streamed([answer]).text).toBe([...eventsOf(own, answerAt([answer], 0))].join(''));
    expect(whole([answer]).response).toEqual(responseOf(own, answerAt([answer], 0)));
  });

  it('keeps its numbers where they begin elsewhere', () => {
    const later = (event: string) =>
      event.replace(/"sequence_number":(\d+)/, (_, number) => `"sequence_number":${Number(number) + 7}`);
    expect(streamed([answer], 3, later).events.map(({ sequence_number }) => sequence_number)).toEqual(
      streamed([answer]).events.map((_, index) => index + 7),
    );
  });
});

describe.each([
  ['a body', whole],
  ['a stream', streamed],
])('answers with calls of ours, as %s', (_, joined) => {
  it('are one, without the calls of ours and their reasoning', () => {
    const answers = [
      { reasoning, toolCalls: [call('retrieve_ref', '{"ref":"ref_1"}')] },
      { content: 'So.', reasoning },
    ];
    const seen = joined(answers);
    expect(kinds(seen)).toEqual(['reasoning', 'message']);
    expect(seen.response).toMatchObject({ id: 'resp_1', status: 'completed', tools: TOOLS.slice(0, 1) });
    expect(seen.turns).toHaveLength(1);
    expect(seen.turns[0]).toMatchObject({
      messages: [{ type: 'reasoning', encrypted_content: 'sealed' }, { type: 'function_call' }],
      calls: [{ name: 'retrieve_ref', arguments: '{"ref":"ref_1"}' }],
    });
  });

  it('show the text before a call of ours', () => {
    const seen = joined([
      { content: 'Wait.', reasoning, toolCalls: [call('retrieve_ref')] },
      { content: 'So.' },
    ]);
    expect(kinds(seen)).toEqual(['reasoning', 'message', 'message']);
  });

  it('let the first call decide', () => {
    const ours = joined([{ toolCalls: [call('retrieve_ref'), call('look_up')] }, { content: 'So.' }]);
    expect(kinds(ours)).toEqual(['message']);
    expect(ours.turns[0]?.messages).toHaveLength(1);
    const callers = joined([{ toolCalls: [call('look_up'), call('retrieve_ref')] }]);
    expect([kinds(callers), callers.turns]).toEqual([['look_up'], []]);
    const custom = joined([{ customCalls: [call('look_up', 'x')], toolCalls: [] }]);
    expect(kinds(custom)).toEqual(['look_up']);
  });

  it('drop calls of ours, and their reasoning, once none is answered any more', () => {
    const seen = joined([{ reasoning, toolCalls: [call('retrieve_ref'), call('look_up')] }], 0);
    expect([kinds(seen), seen.turns]).toEqual([['look_up'], []]);
  });

  it('count as the last prompt and all completions', () => {
    const { input_tokens, output_tokens, total_tokens } = responseOf(request).usage as Record<string, number>;
    const seen = joined([{ toolCalls: [call('retrieve_ref')] }, { content: 'So.' }]);
    expect(seen.response.usage).toMatchObject({
      input_tokens,
      output_tokens: 2 * (output_tokens ?? 0),
      total_tokens: (input_tokens ?? 0) + 2 * (output_tokens ?? 0),
      output_tokens_details: { reasoning_tokens: 0 },
    });
    expect(seen.usage).toEqual({
      prompt_tokens: 2 * (input_tokens ?? 0),
      completion_tokens: 2 * (output_tokens ?? 0),
      total_tokens: 2 * (total_tokens ?? 0),
    });
  });

  it('continue after tools that the upstream has answered', () => {
    const items = [
      { type: 'tool_search_call', id: 'ts_1', call_id: 'search_1', execution: 'server', arguments: {} },
      { type: 'tool_search_output', id: 'tso_1', call_id: 'search_1', execution: 'server', tools: [] },
      { type: 'shell_call', id: 'sh_1', call_id: 'shell_1', environment: { type: 'container_reference' } },
      { type: 'shell_call_output', id: 'sho_1', call_id: 'shell_1', output: [] },
    ];
    const seen = joined([{ hosted: items, toolCalls: [call('retrieve_ref')] }, { content: 'So.' }]);
    expect(kinds(seen)).toEqual([...items.map(({ type }) => type), 'message']);
    expect(seen.turns[0]?.messages.slice(0, -1)).toEqual(items);
    const local = [{ ...items[2], environment: { type: 'local' } }];
    expect(joined([{ hosted: local, toolCalls: [call('retrieve_ref')] }]).turns).toEqual([]);
  });

  it('say arguments that are no JSON object back as an empty one', () => {
    const seen = joined([{ toolCalls: [call('retrieve_ref', '{"ref":')] }]);
    expect(seen.turns[0]?.messages[0]).toMatchObject({ arguments: '{}' });
    expect(seen.turns[0]?.calls[0]?.arguments).toBe('{"ref":');
  });
});

const anyAnswer: fc.Arbitrary<ResponseAnswer> = fc.record(
  {
    content: fc.constantFrom('Hm.', 'Hello there, caller.'),
    reasoning: fc.constantFrom(reasoning, { encrypted: 'sealed' }),
    toolCalls: fc
      .array(fc.constantFrom('look_up', 'retrieve_ref', 'search_memory'), { maxLength: 3 })
      .map((names) => names.map((name) => call(name))),
    customCalls: fc
      .array(fc.constantFrom('patch', 'retrieve_ref'), { maxLength: 1 })
      .map((names) => names.map((name) => call(name, 'text'))),
  },
  { requiredKeys: [] },
);

describe('whatever the answers', () => {
  it('the stream is that of one response, which is the body’s', () => {
    fc.assert(
      fc.property(fc.array(anyAnswer, { minLength: 1, maxLength: 4 }), fc.nat(3), (answers, most) => {
        const body = whole(answers, most);
        const stream = streamed(answers, most);
        expect(stream.turns).toEqual(body.turns);
        expect(stream.usage).toEqual(body.usage);
        expect({ ...stream.response, id: '' }).toEqual({ ...body.response, id: '' });

        const { events } = stream;
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
        expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
          'response.created',
          'response.in_progress',
        ]);
        const responses = events.flatMap(({ response }) => (response ? [response as Json] : []));
        expect(responses).toHaveLength(3);
        expect(new Set(responses.map(({ id }) => id)).size).toBe(1);

        const output = stream.response.output as Json[];
        const ended = events.filter(({ type }) => type === 'response.output_item.done');
        expect(ended.map(({ item }) => item)).toEqual(output);
        const begun = events.filter(({ type }) => type === 'response.output_item.added');
        expect(begun.map(({ output_index }) => output_index)).toEqual([...output.keys()]);
        for (const { output_index, item_id } of events)
          if (item_id !== undefined) expect(output[output_index as number]?.id).toBe(item_id);

        for (const [index, item] of output.entries()) {
          if (item.type === 'function_call') expect(OURS).not.toContain(item.name);
          if (item.type === 'reasoning') expect(output[index + 1]?.type).not.toBe('reasoning');
        }
      }),
      { numRuns: 300 },
    );
  });
});

const UNSTORED: ReasoningForm = { isUnstored: true };
const asItCame = (event: string): string => event;

describe('an answer that the upstream does not store', () => {
  it('F24: is the same as with reasoning held back, except for reasoning before calls of ours', () => {
    fc.assert(
      fc.property(fc.array(anyAnswer, { minLength: 1, maxLength: 4 }), fc.nat(3), (answers, most) => {
        const waits = streamed(answers, most);
        const flows = streamed(answers, most, asItCame, UNSTORED);
        expect(flows.turns).toEqual(waits.turns);
        expect(flows.usage).toEqual(waits.usage);
        const output = flows.response.output as Json[];
        const rest = output.filter((item) => !isMarked(item));
        expect({ ...flows.response, id: '', output: rest }).toEqual({ ...waits.response, id: '' });
        if (rest.length === output.length && flows.response.id === waits.response.id)
          expect(flows.text).toBe(waits.text);

        const { events } = flows;
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
        const ended = events.filter(({ type }) => type === 'response.output_item.done');
        expect(ended.map(({ item }) => item)).toEqual(output);
        const begun = events.filter(({ type }) => type === 'response.output_item.added');
        expect(begun.map(({ output_index }) => output_index)).toEqual([...output.keys()]);
        for (const { output_index, item_id } of events)
          if (item_id !== undefined) expect(output[output_index as number]?.id).toBe(item_id);

        for (const [index, item] of rest.entries())
          if (item.type === 'reasoning') expect(rest[index + 1]?.type).not.toBe('reasoning');
      }),
      { numRuns: 300 },
    );
  });

  it('F24: shows each event of its reasoning at once, but for the last one', () => {
    const answers = [
      { reasoning, toolCalls: [call('retrieve_ref')] },
      { reasoning, content: 'Wait.', toolCalls: [call('search_memory')] },
      { reasoning, content: 'So.' },
    ];
    const { steps, response } = streamed(answers, 3, asItCame, UNSTORED);
    const told = steps.filter(({ event }) => JSON.stringify(event).includes('reasoning'));
    const ofReasoning = told.filter(({ event }) => !event.response);
    expect(ofReasoning).toHaveLength(3 * 6);
    for (const { event, shown } of ofReasoning) {
      const isEnd = event.type === 'response.output_item.done';
      expect([event.type, shown.includes(`"type":"${event.type}"`)]).toEqual([event.type, !isEnd]);
    }
    const types = (response.output as Json[]).map((item) => (isMarked(item) ? 'marked' : item.type));
    expect(types).toEqual(['marked', 'reasoning', 'message', 'reasoning', 'message']);
  });

  it('F24: marks reasoning at the end of an answer that another one follows', () => {
    const behind = { type: 'reasoning', id: 'rs_behind', summary: [], encrypted_content: 'sealed' };
    const hosted = [{ ...call('retrieve_ref'), type: 'function_call', call_id: 'call_1' }, behind];
    const { response, turns, events } = streamed([{ hosted }, { content: 'So.' }], 3, asItCame, UNSTORED);
    expect(turns[0]?.messages).toHaveLength(1);
    const marked = { ...behind, encrypted_content: REASONING_MARK };
    expect(response.output).toMatchObject([marked, { type: 'message' }]);
    expect(events.filter(({ type }) => type === 'response.output_item.done')).toMatchObject([
      { item: marked },
      { item: { type: 'message' } },
    ]);
  });

  it('F24: keeps reasoning at the end of the caller’s answer as it came', () => {
    const hosted = [{ type: 'reasoning', id: 'rs_last', summary: [], encrypted_content: 'sealed' }];
    const { response } = streamed([{ hosted }], 3, asItCame, UNSTORED);
    expect(response.output).toEqual(hosted);
  });

  it('F24: has the mark where the caller has not asked for encrypted reasoning', () => {
    const answers = [
      { reasoning, toolCalls: [call('retrieve_ref')] },
      { reasoning, content: 'So.' },
    ];
    const { response, events } = streamed(answers, 3, asItCame, { ...UNSTORED, isHidden: true });
    expect(JSON.stringify(events)).not.toContain('"sealed"');
    const ended = events.filter(({ type }) => type === 'response.output_item.done');
    for (const items of [response.output as Json[], ended.map(({ item }) => item as Json)])
      expect(items.map(({ encrypted_content }) => encrypted_content)).toEqual([
        REASONING_MARK,
        undefined,
        undefined,
      ]);
  });

  it.each<[string, string, ReasoningForm, number]>([
    ['says so itself', '"store":false', {}, 1],
    ['says that it is stored, whatever it was told', '"store":true', UNSTORED, 0],
    ['says that it is stored', '"store":true', {}, 0],
  ])('F24: is known by what the upstream says: it %s', (_, store, form, marked) => {
    const answers = [{ reasoning, toolCalls: [call('retrieve_ref')] }, { content: 'So.' }];
    const says = (event: string) => event.replaceAll('"parallel_tool_calls":true', store);
    const output = streamed(answers, 3, says, form).response.output as Json[];
    expect(output.filter(isMarked)).toHaveLength(marked);
    expect(output).toHaveLength(1 + marked);
  });
});

describe('a stored answer', () => {
  const stored = (event: string) => event.replace('"parallel_tool_calls":true', '"store":true');

  const answers = [{ content: 'Wait.', toolCalls: [call('retrieve_ref')] }, { content: 'So.' }];

  it('F17: has one id, and reports the id from which the upstream can continue', () => {
    const { events, response, lastId } = streamed(answers, 3, stored);
    expect(events[0]).toMatchObject({ response: { id: 'resp_0' } });
    expect([response.id, lastId]).toEqual(['resp_0', 'resp_1']);
    const unstored = streamed(answers);
    expect([unstored.response.id, unstored.lastId]).toEqual(['resp_0', undefined]);
  });

  it('F17: has the id of the last one where nothing of another was seen', () => {
    const silent = [{ reasoning, toolCalls: [call('retrieve_ref')] }, { content: 'So.' }];
    const { response, lastId } = streamed(silent, 3, stored);
    expect([response.id, lastId]).toEqual(['resp_1', undefined]);
  });
});

describe('an answer that breaks off', () => {
  it('in an error ends with it after the opening events', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const [created = ''] = eventsOf(request);
    const error = { type: 'error', sequence_number: 1, message: 'Busy.', code: 'x', param: null };
    const take = (data: string) => streams.take(Frame.of(data)).map(({ bytes }) => decoder.decode(bytes));
    expect(take(/^data: (.*)$/m.exec(created)?.[1] ?? '')).toEqual([]);
    expect(take(JSON.stringify(error))).toEqual([
      expect.stringContaining('"type":"response.created"'),
      expect.stringContaining('Busy.'),
    ]);
    expect([streams.turn, streams.isThrough]).toEqual([undefined, false]);
  });
});

describe('a request that goes on', () => {
  const goOn = (request: Json, messages: object[], isUnstored = false): Json[] => {
    const turn = { messages, isUnstored, calls: [{ id: 'c', name: 'retrieve_ref', arguments: '{}' }] };
    const body = responsesFormat.goOn(encoder.encode(JSON.stringify(request)), turn, ['it']);
    return JSON.parse(decoder.decode(body)).input;
  };
  const thought = { type: 'reasoning', id: 'rs_1', summary: [] };
  const called = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'retrieve_ref', arguments: '{}' };
  const result = { type: 'function_call_output', call_id: 'c', output: 'it' };
  const asked = { role: 'user', content: 'Go.' };

  it('has the turn and its results after its items', () => {
    expect(goOn({ input: [asked] }, [thought, called])).toEqual([asked, thought, called, result]);
    expect(goOn({ input: 'Go.' }, [called])).toEqual([asked, called, result]);
  });

  it('F22: refers to nothing on an upstream that stores nothing, by the request or by its answer', () => {
    const { id: _, ...anonymous } = called;
    expect(goOn({ store: false, input: [asked] }, [thought, called])).toEqual([asked, anonymous, result]);
    expect(goOn({ input: [asked] }, [thought, called], true)).toEqual([asked, anonymous, result]);
    const sealed = { ...thought, encrypted_content: 'x' };
    expect(goOn({ input: [asked] }, [sealed, called], true)).toEqual([asked, sealed, called, result]);
    expect(goOn({ store: false, input: [asked] }, [sealed, called])).toEqual([asked, sealed, called, result]);
  });
});

describe('upstreams that are less exact', () => {
  /** The answers' events as one upstream sends them. The last answer has no round after it. */
  function told(answers: readonly Json[][], most = 3) {
    let text = '';
    const joined = join<JoinedStreams>('joinStreams', most, (streams, at) => {
      if (at > 0) streams.begin();
      for (const event of answers[at] ?? []) {
        const data = JSON.stringify(event);
        for (const { bytes } of streams.take(Frame.of(data))) text += decoder.decode(bytes);
      }
      return streams.isThrough ? streams.turn : undefined;
    });
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
    return { ...joined, events, response: (events.at(-1)?.response ?? {}) as Json };
  }
  const created = (id: string) => ({ type: 'response.created', response: { id, output: [] } });
  const completed = (id: string, ...output: Json[]) => ({
    type: 'response.completed',
    response: { id, status: 'completed', output },
  });
  const begins = (output_index: number, item: Json) => ({
    type: 'response.output_item.added',
    output_index,
    item,
  });
  const ends = (output_index: number, item: Json) => ({
    type: 'response.output_item.done',
    output_index,
    item,
  });
  const says = (text: string): Json => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const calls = (call_id: string): Json => ({
    type: 'function_call',
    call_id,
    name: 'retrieve_ref',
    arguments: '{}',
  });
  const thinks = (id: string): Json => ({ type: 'reasoning', id, summary: [] });

  it('may give two items one index', () => {
    const [one, two]: [Json, Json] = [
      { id: 'fc_1', ...calls('1') },
      { id: 'fc_2', ...calls('2') },
    ];
    const opened = [created('a'), begins(0, one), begins(0, two)];
    for (const output of [[], [one, two]]) {
      const { turns } = told([[...opened, ends(0, one), ends(0, two), completed('a', ...output)]]);
      expect(turns.map((turn) => turn.calls.map(({ id }) => id))).toEqual([['1', '2']]);
    }
  });

  it('may give items no ids, and tell of an end in the last event alone', () => {
    const items = [says('One.'), says('Two.'), calls('1')];
    const opened = items.map((item, at) => begins(at, { ...item, content: [] }));
    const { turns } = told([[created('a'), ...opened, ends(0, says('One.')), completed('a', ...items)]]);
    expect(turns.map(({ messages }) => messages)).toEqual([items]);
  });

  it('may tell of items in the last event alone', () => {
    const items = [thinks('rs_1'), says('So.'), thinks('rs_2'), calls('1')];
    const answers = [[created('a'), completed('a', ...items)]];
    expect(told(answers, 0).response.output).toEqual(items.slice(0, 2));
    const { turns, events, response } = told([...answers, [created('b'), completed('b', says('End.'))]]);
    expect(turns).toHaveLength(1);
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    expect(response).toMatchObject({ id: 'a', output: [...items.slice(0, 2), says('End.')] });
  });

  it('may say something else before they open a response', () => {
    const first = [{ type: 'codex.rate_limits' }, created('a'), begins(0, says('')), ends(0, says('So.'))];
    const { response } = told([
      [...first, begins(1, calls('1')), completed('a', says('So.'), calls('1'))],
      [created('b'), completed('b')],
    ]);
    expect(response).toMatchObject({ id: 'a', output: [says('So.')] });
  });

  it('may leave the status of a body out', () => {
    const bodies = responsesFormat.joinBodies(OURS, () => true);
    const taken = bodies.take(encoder.encode(JSON.stringify({ id: 'resp_1', output: [calls('1')] })));
    expect(taken).toMatchObject({ calls: [{ id: '1' }] });
  });
});

describe('an upstream that numbers no items', () => {
  type Event = Json & { readonly type: string };
  const response = (id: string, output: Json[] = []) => ({
    id,
    object: 'response',
    status: 'completed',
    output,
  });
  const text = (id: string, words: string): Json => ({
    type: 'message',
    id,
    role: 'assistant',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  });
  /**
   * An answer as llama.cpp sends it: all items begin before the first one ends.
   *
   * @param named whether calls have ids of their own
   */
  const llama = (id: string, words: string, named: boolean, ...called: string[]): Event[] => {
    const message = text(`msg_${id}`, words);
    const calls = called.map((name, at) => ({
      ...(named ? { id: `fc_${id}${at}` } : {}),
      type: 'function_call',
      call_id: named ? `call_${id}${at}` : `fc_${id}${at}`,
      name,
      arguments: '{}',
    }));
    return [
      { type: 'response.created', response: { id, object: 'response', status: 'in_progress' } },
      { type: 'response.in_progress', response: { id, object: 'response', status: 'in_progress' } },
      { type: 'response.output_item.added', item: { ...message, content: [] } },
      { type: 'response.content_part.added', item_id: message.id, part: { type: 'output_text', text: '' } },
      { type: 'response.output_text.delta', item_id: message.id, delta: words },
      ...calls.flatMap((item, at) => [
        { type: 'response.output_item.added', item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', item_id: `fc_${id}${at}`, delta: '{}' },
      ]),
      { type: 'response.output_item.done', item: message },
      ...calls.map((item) => ({ type: 'response.output_item.done', item })),
      { type: 'response.completed', response: response(id, [message, ...calls]) },
    ];
  };
  /** The events for the caller, for each event. */
  const shownOf = (streams: JoinedStreams, events: readonly Event[]): Event[][] =>
    events.map((event) => {
      const data = JSON.stringify(event);
      return streams.take(Frame.of(data)).map(({ bytes }) => jsonIn(decoder.decode(bytes)) as Event);
    });

  it.each([true, false])(
    'F21: has its text shown at once, and calls of ours not at all (its calls have ids: %s)',
    (named) => {
      const streams = responsesFormat.joinStreams(OURS, () => true);
      const events = llama('a', 'Let me look.', named, 'retrieve_ref');
      const shown = shownOf(streams, events);
      expect(shown.slice(0, 5).map((frames) => frames.length)).toEqual([0, 0, 3, 1, 1]);
      expect(JSON.stringify(shown)).not.toContain('retrieve_ref');
      expect(JSON.stringify(shown)).not.toContain('fc_a');
      expect(shown.flat().at(-1)).toEqual({
        type: 'response.output_item.done',
        item: text('msg_a', 'Let me look.'),
      });
      expect(streams.isThrough).toBe(true);
      expect(streams.turn?.calls).toEqual([
        { id: named ? 'call_a0' : 'fc_a0', name: 'retrieve_ref', arguments: '{}' },
      ]);

      streams.begin();
      const rest = shownOf(streams, llama('b', 'So.', named, 'look_up')).flat();
      expect(rest.at(-1)).toMatchObject({
        type: 'response.completed',
        response: {
          id: 'a',
          output: [text('msg_a', 'Let me look.'), text('msg_b', 'So.'), { name: 'look_up' }],
        },
      });
      expect(rest.filter(({ type }) => type === 'response.created')).toEqual([]);
    },
  );

  const leftOut: Record<string, (event: Json) => Json | undefined> = {
    'no index': ({ output_index: _, ...event }) => event,
    'an index that is null': (event) => ('output_index' in event ? { ...event, output_index: null } : event),
    'no id of an item': ({ item_id: _, ...event }) => event,
    'no beginning of an item': (event) => (event.type === 'response.output_item.added' ? undefined : event),
    'no end of an item': (event) => (event.type === 'response.output_item.done' ? undefined : event),
    'no output in the end': (event) =>
      event.type === 'response.completed'
        ? { ...event, response: { ...(event.response as Json), output: [] } }
        : event,
  };
  const lacks = Object.keys(leftOut);

  it.each(lacks.flatMap((one) => lacks.map((other) => [one, other])))(
    'F21: fetches and shows no call of ours with %s and %s',
    (one, other) => {
      const changed = (frame: string): string => {
        const event = leftOut[one]?.(JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? ''));
        const left = event && leftOut[other]?.(event);
        return left ? `event: ${left.type}\ndata: ${JSON.stringify(left)}\n\n` : '';
      };
      const ours = { ...call('retrieve_ref', '{"ref":"ref_1"}') };
      const beginnings: ResponseAnswer[] = [
        { reasoning, toolCalls: [ours] },
        { reasoning, content: 'Wait.', toolCalls: [ours, call('look_up')] },
      ];
      const forms = [{}, UNSTORED].flatMap((form) => beginnings.map((first) => [first, form] as const));
      for (const [first, form] of forms) {
        const seen = streamed([first, { reasoning, content: 'So.' }], 1, changed, form);
        expect(seen.turns).toMatchObject([{ calls: [{ id: ours.id, arguments: '{"ref":"ref_1"}' }] }]);
        expect(seen.text).not.toContain('retrieve_ref');
        expect(seen.text).toContain('"delta":"So."');
        const ids = seen.events.flatMap(({ response }) => (response ? [(response as Json).id] : []));
        expect(new Set(ids).size).toBe(1);
      }
      const callers = streamed([{ toolCalls: [call('look_up'), ours] }], 1, changed);
      expect([callers.turns, callers.text.includes('retrieve_ref')]).toEqual([[], false]);
      expect(callers.text).toContain('look_up');
    },
  );

  it('F21: keeps its bytes where nothing of it is ours', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const events = llama('a', 'Hello.', true, 'look_up', 'look_up');
    expect(shownOf(streams, events).flat()).toEqual(events);
  });

  it('F21: may name neither items nor numbers: then the order tells', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const message = { ...text('', 'Hm.'), id: undefined };
    const item = { type: 'function_call', call_id: 'c', name: 'retrieve_ref', arguments: '{}' };
    const shown = shownOf(streams, [
      { type: 'response.created', response: response('a') },
      { type: 'response.output_item.added', item: { ...message, content: [] } },
      { type: 'response.output_text.delta', delta: 'Hm.' },
      { type: 'response.output_item.done', item: message },
      { type: 'response.output_item.added', item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', delta: '{}' },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: response('a', []) },
    ]);
    expect(shown.map((frames) => frames.length)).toEqual([0, 2, 1, 1, 0, 0, 0, 0]);
    expect(streams.turn?.calls).toEqual([{ id: 'c', name: 'retrieve_ref', arguments: '{}' }]);
  });

  it('F21: may tell of a text alone', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const shown = shownOf(streams, [
      { type: 'response.created', response: response('a') },
      { type: 'response.output_text.delta', delta: 'Hm.' },
    ]);
    expect(shown.map((frames) => frames.length)).toEqual([0, 2]);
  });
});

describe('a caller for whom nothing comes', () => {
  const jsonOf = (frames: readonly Frame[]): Json[] =>
    frames.map(({ bytes }) => jsonIn(decoder.decode(bytes)));
  const answers: readonly ResponseAnswer[] = [
    { id: '0', content: 'Wait.', reasoning, toolCalls: [call('retrieve_ref')] },
    { id: '1', content: 'So.', reasoning },
  ];

  it('F24: gets the opening events, and then events that the response is in progress', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const seen: Json[] = [];
    expect(streams.keepalive?.()).toEqual([]);
    let between = 0;
    for (const [at, answer] of answers.entries()) {
      if (at > 0) streams.begin();
      for (const event of eventsOf(request, answer)) {
        seen.push(...jsonOf(streams.take(new Frame(encoder.encode(event)))));
        const alive = jsonOf(streams.keepalive?.() ?? []);
        if (seen.length > 0) between += alive.length;
        seen.push(...alive);
      }
    }
    expect(between).toBeGreaterThan(5);
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual([...seen.keys()]);
    expect(seen[0]?.type).toBe('response.created');
    const responses = seen.flatMap((event) => (event.response ? [event.response as Json] : []));
    expect(new Set(responses.map(({ id }) => id))).toEqual(new Set(['resp_0']));
    const kindsOf = ({ output }: Json) => (output as Json[]).map(({ type }) => type);
    expect(kindsOf(responses.at(-1) ?? {})).toEqual(['reasoning', 'message', 'reasoning', 'message']);
    // Clients take this event's output for all items so far, so it must have them all.
    const ended: Json[] = [];
    for (const event of seen) {
      if (event.type === 'response.output_item.done') ended.push(event.item as Json);
      if (event.type === 'response.in_progress') expect((event.response as Json).output).toEqual(ended);
      expect(JSON.stringify(event)).not.toContain('retrieve_ref');
    }
  });

  it('F24: gets reasoning in progress as it began', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true, UNSTORED);
    const answer = { ...answers[0], reasoning: { encrypted: 'sealed' } };
    const told: number[] = [];
    for (const event of eventsOf(request, answer)) {
      streams.take(new Frame(encoder.encode(event)));
      const [alive] = jsonOf(streams.keepalive?.() ?? []);
      told.push(((alive?.response as Json)?.output as Json[])?.length ?? -1);
    }
    // The first two events open the response. Then reasoning, which ends with the item after it;
    // then a text and its end.
    expect(told).toEqual([0, 0, 1, 1, ...Array(5).fill(-1), 2, 2, 2, 2, 2, 2]);
  });

  it('F24: is sent none in the middle of an item', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    for (const event of [...eventsOf(request, { content: 'Hello there.' })].slice(0, 6))
      streams.take(new Frame(encoder.encode(event)));
    expect(streams.keepalive?.()).toEqual([]);
  });
});
