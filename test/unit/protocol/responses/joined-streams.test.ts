import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JoinedForm } from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { isMarked, REASONING_MARK } from '../../../../src/protocol/responses/reasoning.ts';
import { eventsOf, type ResponseAnswer, responseOf } from '../../../../tools/upstream/response.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import {
  answerAt,
  call,
  decoder,
  encoder,
  type Json,
  kinds,
  OURS,
  reasoning,
  request,
  streamed,
  TOOLS,
  UNSTORED,
  whole,
} from './joined.ts';

/** The events begin and end each item of the output once, in order, and name it by its id. */
function expectItems(events: readonly Json[], output: readonly Json[]): void {
  const ended = events.filter(({ type }) => type === 'response.output_item.done');
  expect(ended.map(({ item }) => item)).toEqual(output);
  const begun = events.filter(({ type }) => type === 'response.output_item.added');
  expect(begun.map(({ output_index }) => output_index)).toEqual([...output.keys()]);
  for (const { output_index, item_id } of events)
    if (item_id !== undefined) expect(output[output_index as number]?.id).toBe(item_id);
}

describe('one answer without a call of Precis’s tools', () => {
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

describe('an answer that breaks off', () => {
  const own = { ...request, tools: TOOLS.slice(0, 1) };
  const seen = (answer: ResponseAnswer, length: number, form?: JoinedForm) => {
    const streams = responsesFormat.joinStreams(OURS, () => true, form);
    const came = [...eventsOf(own, answer)].slice(0, length);
    const shown = came.flatMap((event) => streams.take(new Frame(encoder.encode(event))));
    const text = [...shown, ...(streams.release?.() ?? [])]
      .map(({ bytes }) => decoder.decode(bytes))
      .join('');
    return { came: came.join(''), text };
  };
  const asks = { reasoning, content: 'Hello there.', toolCalls: [call('look_up')] };

  it.each([undefined, UNSTORED])('has shown every event that came, wherever that is (%s)', (form) => {
    for (let length = 0; length < [...eventsOf(own, asks)].length; length++) {
      const { came, text } = seen(asks, length, form);
      expect(text).toBe(came);
    }
  });

  it.each([undefined, UNSTORED])(
    'shows no call of Precis’s tools, nor what it was thought for (%s)',
    (form) => {
      const answer = { reasoning, toolCalls: [call('retrieve_ref')] };
      const events = [...eventsOf(own, answer)];
      for (
        let length = events.findIndex((event) => event.includes('retrieve_ref')) + 1;
        length < events.length;
        length++
      ) {
        const { text } = seen(answer, length, form);
        expect(text).toContain('response.created');
        expect(text).not.toContain('retrieve_ref');
        expect(text.includes('"type":"reasoning"')).toBe(form !== undefined);
        if (form) expect(text).toContain(REASONING_MARK);
      }
    },
  );
});

describe.each([
  ['a body', whole],
  ['a stream', streamed],
])('answers with calls of Precis’s tools, as %s', (_, joined) => {
  it('are one, without the calls of Precis’s tools and their reasoning', () => {
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

  it('show the text before a call of Precis’s tools', () => {
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

  it('drop calls of Precis’s tools once none is answered, and reasoning that led to nothing else', () => {
    const calls = [call('retrieve_ref'), call('look_up')];
    const seen = joined([{ reasoning, toolCalls: calls }], 0);
    expect([kinds(seen), seen.turns]).toEqual([['reasoning', 'look_up'], []]);
    const alone = joined([{ reasoning, toolCalls: calls.slice(0, 1) }], 0);
    expect([kinds(alone), alone.turns]).toEqual([[], []]);
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
      { type: 'program', id: 'pg_1', call_id: 'program_1', code: 'x', fingerprint: 'f' },
      { type: 'program_output', id: 'po_1', call_id: 'program_1', result: 'x' },
    ];
    const seen = joined([{ hosted: items, toolCalls: [call('retrieve_ref')] }, { content: 'So.' }]);
    expect(kinds(seen)).toEqual([...items.map(({ type }) => type), 'message']);
    expect(seen.turns[0]?.messages.slice(0, -1)).toEqual(items);
    const local = [{ ...items[2], environment: { type: 'local' } }];
    expect(joined([{ hosted: local, toolCalls: [call('retrieve_ref')] }]).turns).toEqual([]);
  });

  it('drop a program after a call of Precis’s tools, with what it asks of the caller', () => {
    const { id: _, ...ours } = call('retrieve_ref');
    const items = [
      { type: 'function_call', id: 'fc_1', call_id: 'ours', ...ours },
      { type: 'program', id: 'pg_1', call_id: 'p', code: 'x', fingerprint: 'f' },
      { type: 'function_call', id: 'fc_2', call_id: 'inner', name: 'look_up', arguments: '{}' },
      { type: 'program_output', id: 'po_1', call_id: 'p', result: 'x' },
    ];
    const seen = joined([{ hosted: items }, { content: 'So.' }]);
    expect([kinds(seen), seen.turns[0]?.messages]).toEqual([['message'], [items[0]]]);
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
  it('the stream is of one response, which is the body’s', () => {
    forAll(runs(50, 300), fc.array(anyAnswer, { minLength: 1, maxLength: 4 }), fc.nat(3), (answers, most) => {
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
      expectItems(events, output);

      for (const [index, item] of output.entries()) {
        if (item.type === 'function_call') expect(OURS).not.toContain(item.name);
        if (item.type === 'reasoning') expect(output[index + 1]?.type).not.toBe('reasoning');
      }
    });
  });
});

const unchanged = (event: string): string => event;

describe('an answer that the upstream does not store', () => {
  it('F24: is the same as with reasoning held back, except for reasoning before calls of Precis’s tools', () => {
    forAll(runs(50, 300), fc.array(anyAnswer, { minLength: 1, maxLength: 4 }), fc.nat(3), (answers, most) => {
      const waits = streamed(answers, most);
      const flows = streamed(answers, most, unchanged, UNSTORED);
      expect(flows.turns).toEqual(waits.turns);
      expect(flows.usage).toEqual(waits.usage);
      const output = flows.response.output as Json[];
      const rest = output.filter((item) => !isMarked(item));
      expect({ ...flows.response, id: '', output: rest }).toEqual({ ...waits.response, id: '' });
      if (rest.length === output.length && flows.response.id === waits.response.id)
        expect(flows.text).toBe(waits.text);

      const { events } = flows;
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
      expectItems(events, output);

      for (const [index, item] of rest.entries())
        if (item.type === 'reasoning') expect(rest[index + 1]?.type).not.toBe('reasoning');
    });
  });

  it('F24: shows each event of its reasoning at once, but for the last one', () => {
    const answers = [
      { reasoning, toolCalls: [call('retrieve_ref')] },
      { reasoning, content: 'Wait.', toolCalls: [call('search_memory')] },
      { reasoning, content: 'So.' },
    ];
    const { steps, response } = streamed(answers, 3, unchanged, UNSTORED);
    const reasoningSteps = steps.filter(({ event }) => JSON.stringify(event).includes('reasoning'));
    const ofReasoning = reasoningSteps.filter(({ event }) => !event.response);
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
    const { response, turns, events } = streamed([{ hosted }, { content: 'So.' }], 3, unchanged, UNSTORED);
    expect(turns[0]?.messages).toHaveLength(1);
    const marked = { ...behind, encrypted_content: REASONING_MARK };
    expect(response.output).toMatchObject([marked, { type: 'message' }]);
    expect(events.filter(({ type }) => type === 'response.output_item.done')).toMatchObject([
      { item: marked },
      { item: { type: 'message' } },
    ]);
  });

  it('F24: marks reasoning that led only to a call that nobody answers', () => {
    const asked = (...names: string[]) => {
      const answer = { reasoning, toolCalls: names.map((name) => call(name)) };
      const { events, response } = streamed([answer], 0, undefined, UNSTORED);
      expectItems(events, response.output as Json[]);
      return (response.output as Json[]).map((item) => isMarked(item));
    };
    expect(asked('retrieve_ref')).toEqual([true]);
    expect(asked('retrieve_ref', 'look_up')).toEqual([false, false]);
  });

  it('F24: keeps reasoning at the end of the caller’s answer unchanged', () => {
    const hosted = [{ type: 'reasoning', id: 'rs_last', summary: [], encrypted_content: 'sealed' }];
    const { response } = streamed([{ hosted }], 3, unchanged, UNSTORED);
    expect(response.output).toEqual(hosted);
  });

  it('F24: has the mark where the caller has not asked for encrypted reasoning', () => {
    const answers = [
      { reasoning, toolCalls: [call('retrieve_ref')] },
      { reasoning, content: 'So.' },
    ];
    const { response, events } = streamed(answers, 3, unchanged, { ...UNSTORED, isHidden: true });
    expect(JSON.stringify(events)).not.toContain('"sealed"');
    const ended = events.filter(({ type }) => type === 'response.output_item.done');
    for (const items of [response.output as Json[], ended.map(({ item }) => item as Json)])
      expect(items.map(({ encrypted_content }) => encrypted_content)).toEqual([
        REASONING_MARK,
        undefined,
        undefined,
      ]);
  });

  it.each<[string, string, JoinedForm, number]>([
    ['says so itself', '"store":false', {}, 1],
    ['says that it is stored, whatever the request says', '"store":true', UNSTORED, 0],
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
    // OpenAI's own streams go on to a response that has failed. Nothing else is a part of it.
    expect(take('{"type":"response.output_text.delta","sequence_number":2,"delta":"x"}')).toEqual([]);
    const failed = { type: 'response.failed', sequence_number: 3, response: { status: 'failed' } };
    expect(take(JSON.stringify(failed))).toEqual([expect.stringContaining('"type":"response.failed"')]);
    expect([streams.turn, streams.isThrough]).toEqual([undefined, false]);
  });
});

describe('a request that goes on', () => {
  const goOn = (request: Json, messages: object[], isUnstored = false): Json[] => {
    const turn = { messages, isUnstored, calls: [{ id: 'c', name: 'retrieve_ref', arguments: '{}' }] };
    const { body } = responsesFormat.goOn(encoder.encode(JSON.stringify(request)), turn, ['it']);
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
