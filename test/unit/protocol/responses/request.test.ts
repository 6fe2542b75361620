import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { answerIdentity } from '../../../../src/protocol/message-names.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { definitionOf } from '../../../../src/retrieval/tool.ts';
import { asResponses } from '../../../../tools/upstream/items.ts';
import { requestsOf, sampleTraces } from '../../../support/conversations/traces.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { type Viewed, viewOf, viewOfRequest } from '../../../support/laws/view-of.ts';
import { optionsOf, STRATEGIES } from '../../../traces/strategies.ts';

function requestOf(body: Uint8Array | object) {
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
  const read = readResponsesRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

/** The edits of a view, without the bytes of a part, which each protocol writes in its own way. */
const doneBy = ({ view, plan }: Pick<Viewed, 'view' | 'plan'>) => ({
  frontier: plan.replay.moves,
  removals: [...view.removals.values()]
    .flat()
    .map(({ kind, reason, message, call, replacement }) => [
      kind,
      reason,
      message,
      call,
      kind === 'part' ? '' : replacement,
    ]),
  dropped: [...view.dropped],
  covers: view.summary?.covers,
  recap: view.recap && [view.recap.after, view.recap.goesOn],
  trim: view.trim?.request?.message,
});

/** One request in this many is compared, another one under each setting. */
const EVERY = runs(8, 1);

const SETTINGS = Object.entries(STRATEGIES).map(([name, strategy], at) => ({ name, strategy, at }));

describe.each(SETTINGS)('recorded conversations as items under $name', ({ name, strategy, at }) => {
  it.each(sampleTraces().map((trace) => [trace.id, trace] as const))(
    '%s has the view that it has as messages',
    (_, trace) => {
      // Items have no speakers' names.
      const messages = trace.messages.map(({ name: _, ...message }) => message);
      const bodies = [...requestsOf({ ...trace, messages })].toReversed();
      for (const body of bodies.filter((_, index) => index % EVERY === at % EVERY)) {
        const options = optionsOf(name);
        const chat = viewOf(body, strategy, options);
        const items = viewOfRequest(requestOf(asResponses(body)), strategy, options);
        expect(doneBy(items)).toEqual(doneBy(chat));
      }
    },
  );
});

const message = (role: string, content: unknown) => ({ role, content });
const said = (text: string) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const reasoning = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: 'x'.repeat(80) });
const called = (id: string) => ({ type: 'function_call', call_id: id, name: 'search', arguments: '{"q":1}' });
const output = (id: string, text = 'found') => ({ type: 'function_call_output', call_id: id, output: text });

describe('a body of the Responses API', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('word '.repeat(300), '{"a":1}', [{ type: 'input_text', text: 'word '.repeat(300) }]),
  );
  const item = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom('message', 'reasoning', 'function_call', 'function_call_output', 'new', 7),
        role: fc.constantFrom('user', 'assistant', 'system', null),
        call_id: fc.constantFrom('a', 'b', 3),
        name: value,
        arguments: value,
        output: value,
        content: value,
        encrypted_content: value,
      },
      { requiredKeys: [] },
    ),
  );
  const strategies = [
    { mode: 'compact', token_budget: 50, compact_keep: 0, compact_keep_steps: 0 },
    { mode: 'trim', token_budget: 50 },
    { mode: 'auto', token_budget: 50, min_reclaim_tokens: 0 },
  ] as const;

  it('of whatever items is sent unchanged, or as a view that can be read', () => {
    forAll(
      runs(25, 300),
      fc.array(item, { maxLength: 12 }),
      fc.constantFrom(...strategies),
      (input, strategy) => {
        const bytes = new TextEncoder().encode(JSON.stringify({ model: 'gpt-4.1', input }));
        const request = requestOf(bytes);
        expect(request.write(undefined)).toEqual(bytes);
        const view = JSON.parse(new TextDecoder().decode(viewOfRequest(request, strategy).bytes));
        expect(Array.isArray(view.input)).toBe(true);
      },
    );
  });
});

describe('items as messages', () => {
  const groupsOf = (...input: object[]) =>
    requestOf({ model: 'm', input }).messages.map(({ role, calls, json }) => [
      role,
      calls.map(({ id }) => id),
      JSON.parse(`[${new TextDecoder().decode(json)}]`).length,
    ]);

  it('of one go are one message', () => {
    expect(
      groupsOf(
        message('developer', 'Be brief.'),
        message('user', 'Go.'),
        reasoning('rs_1'),
        said('I look.'),
        called('a'),
        called('b'),
        output('a'),
        output('b'),
        reasoning('rs_2'),
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        said('Done.'),
        reasoning('rs_3'),
        called('c'),
      ),
    ).toEqual([
      ['preamble', [], 1],
      ['user', [], 1],
      ['assistant', ['a', 'b'], 4],
      ['tool', [], 1],
      ['tool', [], 1],
      ['assistant', [], 3],
      ['assistant', ['c'], 2],
    ]);
  });

  it('of unknown kinds stay with what precedes them', () => {
    expect(
      groupsOf({ type: 'new_1' }, message('user', 'Go.'), { type: 'new_2' }, called('a'), output('a'), {
        type: 'new_3',
      }),
    ).toEqual([
      ['preamble', [], 1],
      ['user', [], 2],
      ['assistant', ['a'], 1],
      ['tool', [], 2],
    ]);
  });

  it.each(['compaction', 'compaction_summary', 'context_compaction'])(
    'that replace a beginning, as a %s, go with no other',
    (type) => {
      expect(groupsOf(message('user', 'Go.'), { type, encrypted_content: 'x' })).toEqual([
        ['user', [], 1],
        ['preamble', [], 1],
      ]);
    },
  );

  it('that replace a beginning are never edited', () => {
    expect(
      groupsOf({ type: 'compaction', id: 'cmp_1', encrypted_content: 'x' }, message('user', 'Go.')),
    ).toEqual([
      ['preamble', [], 1],
      ['user', [], 1],
    ]);
  });

  it('pair by their calls, whatever kind of call', () => {
    const input = [
      message('user', 'Go.'),
      { type: 'local_shell_call', id: 'ls_1', call_id: 'sh', status: 'completed', action: { type: 'exec' } },
      { type: 'local_shell_call_output', id: 'lo_1', call_id: 'sh', output: 'line '.repeat(500) },
      called('a'),
      output('a', 'line '.repeat(500)),
      said('Done.'),
      message('user', 'Thanks.'),
    ];
    const { view } = viewOfRequest(requestOf({ model: 'gpt-4.1', input }), {
      mode: 'compact',
      compact_trigger_turns: 1,
      compact_keep: 1,
    });
    expect([...view.removals.keys()]).toEqual([2, 4]);
  });

  it('that answer a call of the upstream’s own shell or program are of its answer', () => {
    const shell = (id: string, environment: object) => [
      reasoning(`rs_${id}`),
      { type: 'shell_call', id: `sh_${id}`, call_id: id, action: { commands: ['ls'] }, environment },
      { type: 'shell_call_output', id: `sho_${id}`, call_id: id, output: [{ stdout: 'x', stderr: '' }] },
      called(`after_${id}`),
    ];
    const input = [
      message('user', 'Go.'),
      ...shell('a', { type: 'container_reference', container_id: 'c' }),
      output('after_a'),
      { type: 'program', id: 'pg_1', call_id: 'p', code: 'x', fingerprint: 'f' },
      { type: 'program_output', id: 'po_1', call_id: 'p', result: 'x', status: 'completed' },
      said('Done.'),
      message('user', 'And here?'),
      ...shell('b', { type: 'local' }),
    ];
    expect(groupsOf(...input)).toEqual([
      ['user', [], 1],
      ['assistant', ['after_a'], 4],
      ['tool', [], 1],
      ['assistant', [], 2],
      ['assistant', [], 1],
      ['user', [], 1],
      ['assistant', ['b'], 2],
      ['tool', [], 1],
      ['assistant', ['after_b'], 1],
    ]);
    const { requestPoints } = readHistory(requestOf({ model: 'm', input }).messages);
    expect(requestPoints.map(({ messages }) => messages)).toEqual([1, 3, 6, 8, 9]);
  });

  it('that end a program begin the next answer, if its calls were the caller’s, and leave with it', () => {
    const program = (id: string) => ({ type: 'program', id: `pg_${id}`, call_id: id, code: 'x' });
    const result = (id: string) => ({ type: 'program_output', id: `po_${id}`, call_id: id, result: 'x' });
    const input = [
      message('user', 'Go.'),
      ...[reasoning('rs_1'), program('p'), called('a'), output('a')],
      ...[called('b'), output('b')],
      ...[result('p'), reasoning('rs_2'), program('q'), called('c'), output('c')],
      ...[result('q'), said('Done.')],
      message('user', 'And now?'),
    ];
    expect(groupsOf(...input)).toEqual([
      ['user', [], 1],
      ['assistant', ['a'], 3],
      ['tool', [], 1],
      ['assistant', ['b'], 1],
      ['tool', [], 1],
      ['assistant', [], 1],
      ['assistant', ['c'], 3],
      ['tool', [], 1],
      ['assistant', [], 1],
      ['assistant', [], 1],
      ['user', [], 1],
    ]);
    const { messages } = requestOf({ model: 'm', input });
    const { requestPoints, bonds } = readHistory(messages);
    expect(requestPoints.map((point) => point.messages)).toEqual([1, 3, 5, 8, 11]);
    expect(bonds.map(({ caller, results }) => [caller, results.map(({ unit }) => unit)])).toEqual([
      [1, [2, 3]],
      [4, [5]],
    ]);
    expect(readHistory(messages.slice(0, 3)).bonds).toEqual([{ caller: 1, results: [], open: true }]);
  });

  it('that are an answer sent back are known by its text, with the reasoning before it too', () => {
    const sent = requestOf({ model: 'm', input: [message('user', 'Go.'), reasoning('rs_1'), said('Done.')] });
    expect(sent.messages[1]?.identity).toBe(answerIdentity('Done.'));
  });

  it.each([{}, { input: null }])('need not be there: what is put in is alone in %j', (fields) => {
    const written = requestOf({ model: 'm', prompt: { id: 'p' }, ...fields }).write(undefined, {
      injected: [{ role: 'user', content: 'Known.' }],
    });
    expect(JSON.parse(new TextDecoder().decode(written)).input).toEqual([
      { role: 'user', content: 'Known.' },
    ]);
  });

  it('that are too many to read may refer to stored objects', () => {
    const few = requestOf({
      model: 'm',
      input: Array.from({ length: 20_000 }, () => message('user', 'Go.')),
    });
    const many = requestOf({
      model: 'm',
      input: Array.from({ length: 20_001 }, () => message('user', 'Go.')),
    });
    expect([few.tooManyMessages, few.upstreamState]).toEqual([false, undefined]);
    expect([many.tooManyMessages, many.upstreamState]).toEqual([true, 'input']);
  });

  it('that are a text are a user message', () => {
    const request = requestOf({ model: 'm', instructions: 'Be brief.', input: 'Hello' });
    expect(request.messages.map(({ role }) => role)).toEqual(['preamble', 'user']);
    const written = request.write(undefined, { injected: [{ role: 'system', content: 'Known.' }] });
    expect(JSON.parse(new TextDecoder().decode(written)).input).toEqual([
      { role: 'system', content: 'Known.' },
      { role: 'user', content: 'Hello' },
    ]);
  });
});

describe('Precis’s tools in the Responses API', () => {
  const tools = [{ type: 'function', name: 'search', parameters: {} }];
  const takes = (body: object) => requestOf({ model: 'gpt-5', input: 'Hello', tools, ...body }).takesTools;

  it.each([{}, { tools: undefined }, { tools: null }, { tools: [] }, { background: false }])(
    'may be in a body with %j',
    (body) => {
      expect(takes(body)).toBe(true);
    },
  );

  it.each([{ background: true }, { prompt: { id: 'pmpt_1' } }, { tools: {} }, { input: null }])(
    'may not be in a body with %j',
    (body) => {
      expect(takes(body)).toBe(false);
    },
  );

  it('have no name that any tool of the caller’s has', () => {
    const { toolNames } = requestOf({
      input: [
        { type: 'additional_tools', tools: [{ type: 'function', name: 'added' }] },
        { role: 'user', content: 'Hello' },
      ],
      tools: [
        ...tools,
        { type: 'custom', name: 'patch' },
        { type: 'web_search' },
        { type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'inner' }] },
      ],
    });
    expect([...toolNames].sort()).toEqual(['added', 'crm', 'inner', 'patch', 'search']);
  });

  it('are beside those that the input brings', () => {
    const added = (tools: object[]) =>
      requestOf({
        input: [
          { type: 'additional_tools', role: 'developer', tools },
          { role: 'user', content: 'Hello' },
        ],
      });
    expect(added(tools).hasTools).toBe(true);
    expect(added([]).hasTools).toBe(false);
  });

  it('are not taken for strict ones', () => {
    const request = requestOf({ input: 'Hello', tools });
    const definition = request.toolJson(definitionOf('retrieve_ref'));
    const sent = JSON.parse(new TextDecoder().decode(request.write(undefined, { tools: [definition] })));
    expect(sent.tools).toEqual([
      ...tools,
      { type: 'function', ...definitionOf('retrieve_ref').function, strict: false },
    ]);
  });
});

describe('a stream of the Responses API', () => {
  const encoder = new TextEncoder();
  const completed = { id: 'resp_1', status: 'completed', output: [] };

  it.each([
    ['response.completed', { type: 'response.completed', sequence_number: 4, response: completed }],
    ['response.completed', { response: completed, sequence_number: 4, type: 'response.completed' }],
    ['error', { code: 'x', message: 'Busy.', sequence_number: 4, type: 'error' }],
  ])('is over with %s, in whatever order its fields have', (type, event) => {
    const stream = new AnswerPipeline(responsesFormat.stream(undefined));
    stream.push(encoder.encode(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`));
    expect(stream.isOver).toBe(true);
    expect(stream.end().complete).toBe(true);
  });

  it('is not over with a text about its end', () => {
    const stream = new AnswerPipeline(responsesFormat.stream(undefined));
    const event = {
      type: 'response.output_text.done',
      sequence_number: 4,
      text: 'error',
      x: 'response.completed',
    };
    stream.push(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
    expect(stream.isOver).toBe(false);
    expect(stream.end().complete).toBe(false);
  });
});

describe('the text of an answer of the Responses API', () => {
  const textOf = (...before: object[]) => {
    const response = { id: 'resp_1', status: 'completed', output: [...before, said('Found.')] };
    return responsesFormat.text(new TextEncoder().encode(JSON.stringify(response)));
  };

  it('is there whatever the upstream has called and answered itself', () => {
    expect(textOf({ type: 'tool_search_call', call_id: null, execution: 'server', arguments: {} })).toBe(
      'Found.',
    );
    const shell = { call_id: 'c', environment: { type: 'container_reference' } };
    const answered = { type: 'shell_call_output', call_id: 'c', output: [] };
    expect(textOf({ type: 'shell_call', ...shell }, answered)).toBe('Found.');
  });

  it('closes nothing as long as the caller is to answer', () => {
    expect(textOf(called('a'))).toBeUndefined();
    expect(
      textOf({ type: 'mcp_approval_request', id: 'mcpr_1', name: 'x', arguments: '{}' }),
    ).toBeUndefined();
  });

  describe('that lists nothing at its end', () => {
    const gathered = (output: unknown, items: readonly object[], end = 'completed') => {
      const answer = responsesFormat.gather();
      for (const item of items)
        answer.push(Frame.of(JSON.stringify({ type: 'response.output_item.done', output_index: 0, item })));
      const response = { id: 'resp_1', status: end, output };
      answer.push(Frame.of(JSON.stringify({ type: `response.${end}`, response })));
      return answer.text();
    };

    it.each([[[]], [undefined], [null]])('F20: is the items’ that were streamed (%j)', (output) => {
      const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
      const parts = [said('Found '), said('it.')].map((item, at) => ({ ...item, id: `msg_${at}` }));
      expect(gathered(output, [reasoning, ...parts])).toBe('Found it.');
      expect(gathered(output, [said('Let me look.'), called('a')])).toBeUndefined();
      const message = { ...said('Found.'), id: 'msg_1' };
      expect(gathered(output, [message, message])).toBe('Found.');
      expect(gathered(output, [said('Fou')], 'failed')).toBeUndefined();
      expect(gathered(output, [])).toBeUndefined();
    });

    it('F20: is the end’s where it lists anything', () => {
      expect(gathered([said('Found.')], [said('Fou')])).toBe('Found.');
    });
  });
});
