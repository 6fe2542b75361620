/** Old outputs of OpenAI's own tools, over HTTP, with the `openai` client and a strict upstream. */
import OpenAI from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import { linesAbout } from '../../support/conversations/conversations.ts';
import {
  asks,
  codeRun,
  fileSearch,
  type Item,
  localShellStep,
  mcpCall,
  says,
  shellStep,
  webSearch,
} from '../../support/conversations/hosted-items.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms, ofTurn } from '../../support/deployment/in-turn.ts';

/** How the upstream names an item that it refuses. */
type Naming = (index: number, item: Item) => object;

let refuses: { readonly type: string; readonly naming: Naming; readonly inStream: boolean } | undefined;

/** Refuses items of a kind with a placeholder in them. */
const upstream: Behaviour = (request, response, recorded) => {
  const input = recorded.body.input as Item[];
  const index = input.findIndex((item) => item.type === refuses?.type && JSON.stringify(item).includes('⟦'));
  const item = input[index];
  if (!refuses || !item) return void behave({ type: 'answer' }, request, response, recorded);
  const error = refuses.naming(index, item);
  if (!refuses.inStream)
    return void behave({ type: 'error', status: 400, body: { error } }, request, response, recorded);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`event: error\ndata: ${JSON.stringify({ type: 'error', ...error })}\n\n`);
};

const deployment = deploy({ upstream: { responses: upstream }, summarizer: true });

beforeEach(() => {
  refuses = undefined;
});

let keys = 0;
const callerOf = () => {
  const apiKey = `sk-the-key-of-a-hosted-caller-${++keys}`;
  const client = new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey, maxRetries: 0 });
  const ask = async (input: readonly Item[], stream: boolean, more: object = {}) => {
    const before = deployment.upstream.requests.length;
    const params = {
      model: 'gpt-5',
      store: false,
      input,
      memory_strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
      memory_report: true,
      ...more,
    } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const final = stream
      ? await client.responses.stream(params as never).finalResponse()
      : await client.responses.create(params);
    const asked = deployment.upstream.requests.slice(before).filter(({ method }) => method === 'POST');
    const views = asked.map(({ body }) => body.input as Item[]);
    return { text: final.output_text, memory: (final as unknown as { memory: Report }).memory, views };
  };
  const get = async (path: string, body?: object): Promise<Response> =>
    fetch(`${deployment.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  return { ask, get, client };
};

const [apples, pears, plums] = [linesAbout('apples'), linesAbout('pears'), linesAbout('plums')];
const OUTPUTS: Record<string, string> = {
  web_search: linesAbout('pages'),
  code_interpreter: linesAbout('runs'),
  list_orders: linesAbout('orders'),
  local_shell: linesAbout('files'),
};

/** A conversation with an output of each kind in its first turn. */
const conversation = [
  asks('Look it up.'),
  fileSearch('a', [apples, pears]),
  webSearch('b', [String(OUTPUTS.web_search)]),
  codeRun('c', [String(OUTPUTS.code_interpreter)]),
  mcpCall('d', String(OUTPUTS.list_orders)),
  ...shellStep('e', [pears, plums]),
  ...localShellStep('f', String(OUTPUTS.local_shell)),
  says('1', 'I have.'),
  asks('Thanks.'),
  says('2', 'Welcome.'),
  asks('Go on.'),
];

inBothForms('hosted tools’ outputs', (stream) => {
  it('leave the view, and their refs give them back', async () => {
    const { ask, get } = callerOf();
    const { text, memory, views } = await ask(conversation, stream);
    expect(text).toBe('This is what the upstream has to say.');
    expect(views).toHaveLength(1);
    expect(memory.applied_edits).toMatchObject([{ type: 'compact', cleared_tool_results: 6 }]);
    expect(memory.tokens?.after).toBeLessThan((memory.tokens?.before ?? 0) / 3);
    expect(memory.refs.map(({ tool_name }) => tool_name).toSorted()).toEqual(
      ['code_interpreter', 'file_search', 'list_orders', 'local_shell', 'shell', 'web_search'].toSorted(),
    );
    for (const { ref, tool_name } of memory.refs) {
      const stored = await (await get(`/v1/refs/${ref}`)).text();
      const text = OUTPUTS[tool_name];
      if (text !== undefined) expect(stored).toBe(text);
      else expect(JSON.parse(stored)).toHaveLength(2);
    }
    // A second request changes nothing of the first one's view, and stores nothing again.
    const next = await ask([...conversation, says('3', 'Done.'), asks('More.')], stream);
    expect(next.views[0]?.slice(0, 9)).toEqual(views[0]?.slice(0, 9));
  });

  it.each<[string, Naming]>([
    [
      'by its place',
      (index) => ({ message: 'Invalid value.', param: `input[${index}].results[0].text`, code: null }),
    ],
    ['by its id', (_, { id }) => ({ message: `Item '${id}' was changed.`, code: 'invalid_value' })],
    ['by its kind', (_, { type }) => ({ message: `A ${type} must be sent as it came.`, code: null })],
  ])('that the upstream refuses %s are sent whole, from then on', async (_, naming) => {
    refuses = { type: 'file_search_call', naming, inStream: stream };
    const { ask, get } = callerOf();
    const { text, memory, views } = await ask(conversation, stream);
    expect(text).toBe('This is what the upstream has to say.');
    expect(views).toHaveLength(2);
    const search = (view: readonly Item[] = []) => view.find(({ type }) => type === 'file_search_call');
    expect(JSON.stringify(search(views[0]))).toContain('⟦removed');
    expect(search(views[1])).toEqual(conversation[1]);
    // The others stay placeholders.
    expect(memory.applied_edits).toMatchObject([{ type: 'compact', cleared_tool_results: 5 }]);
    expect(memory.warnings).toContain('outputs_whole');
    expect(memory.frontier.moved).toBe(true);

    const next = [...conversation, says('3', 'Done.'), asks('More.')];
    const again = await ask(next, stream);
    expect(again.views).toHaveLength(1);
    expect(search(again.views[0])).toEqual(conversation[1]);
    expect(again.memory.warnings).toContain('outputs_whole');

    const { receipt } = again.memory;
    expect(receipt?.unedited).toEqual(['file_search_call']);
    const verified = await get('/v1/verify', { model: 'gpt-5', input: next, receipt });
    expect(await verified.json()).toMatchObject({ valid: true, complete: true });

    const explained = await get('/v1/explain', {
      model: 'gpt-5',
      input: next,
      memory_strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
    });
    const { messages } = (await explained.json()) as {
      messages: { edits?: { kind: string; tool_name: string }[] }[];
    };
    const kinds = messages.flatMap(({ edits = [] }) =>
      edits.map(({ kind, tool_name }) => `${kind} ${tool_name}`),
    );
    expect(kinds).toEqual([
      'hosted web_search',
      'hosted code_interpreter',
      'hosted list_orders',
      'output shell',
      'output local_shell',
    ]);
  });
});

/** A call with arguments that may depend on the output before it. */
const calls =
  (name: string, args: (last: string) => object, id = `call_of_${name}`): Behaviour =>
  (request, response, recorded) => {
    const last = String((recorded.body.input as Item[]).at(-1)?.output ?? '');
    const call = { id, name, arguments: JSON.stringify(args(last)) };
    void behave({ type: 'answer', toolCalls: [call] }, request, response, recorded);
  };

it.each(ofTurn(1, [false, true]))(
  'a model finds and fetches a hosted output (streamed: %s)',
  async (stream) => {
    const before = deployment.upstream.requests.length;
    deployment.upstream.next(
      calls('list_refs', () => ({ tool: 'web_search' })),
      calls('retrieve_ref', (last) => ({ ref: last.split(' ', 1)[0] })),
      { type: 'answer', content: 'Found.' },
    );
    const { text } = await callerOf().ask(conversation, stream, {
      memory_strategy: {
        mode: 'auto',
        token_budget: 3_000,
        compact_keep: 1,
        min_reclaim_tokens: 0,
        compact_retrieval: 'tool',
      },
    });
    expect(text).toBe('Found.');
    const bodies = deployment.upstream.requests
      .slice(before)
      .flatMap(({ body }) => (body?.input ? [body.input] : []));
    const [, listed, fetched] = bodies.map((input) => String((input as Item[]).at(-1)?.output));
    expect(listed).toMatch(/^ref_[a-z2-7]{26} web_search \(call_id=ws_b\), \d+ tokens: .+$/);
    expect(fetched).toContain(OUTPUTS.web_search?.slice(0, 200));
  },
);

describe.each([
  [false, false],
  [true, false],
  [true, true],
])('a refusal in a later round (streamed: %s, inside the stream: %s)', (stream, inStream) => {
  const memory_strategy = {
    mode: 'auto',
    token_budget: 3_000,
    compact_keep: 1,
    min_reclaim_tokens: 0,
    compact_retrieval: 'tool',
  };

  it.each([1, 2])('after %i of them has the item whole, in that round and from then on', async (rounds) => {
    const naming: Naming = (index) => ({ message: 'Invalid value.', param: `input[${index}]`, code: null });
    const lists = Array.from({ length: rounds }, (_, round) =>
      calls('list_refs', () => ({ tool: 'shell' }), `call_${round}`),
    );
    deployment.upstream.next(...lists);
    refuses = { type: 'web_search_call', naming, inStream };
    const { ask } = callerOf();
    const { text, views } = await ask(conversation, stream, { memory_strategy });
    expect(text).toBe('This is what the upstream has to say.');
    expect(views).toHaveLength(rounds + 2);
    const search = (view: readonly Item[] = []) => view.find(({ type }) => type === 'web_search_call');
    for (const view of views.slice(0, -1)) expect(JSON.stringify(search(view))).toContain('⟦removed');
    const [refused, last] = views.slice(-2);
    expect(search(last)).toEqual(conversation[2]);
    // Other items are as they were, and the calls of all rounds follow them, with results.
    expect(last?.filter(({ type }) => type !== 'web_search_call')).toEqual(
      refused?.filter(({ type }) => type !== 'web_search_call'),
    );
    expect(last?.filter(({ type }) => type === 'function_call_output')).toHaveLength(rounds);

    const next = [...conversation, says('3', 'Done.'), asks('More.')];
    const again = await ask(next, stream, { memory_strategy });
    expect(again.views).toHaveLength(1);
    expect(search(again.views[0])).toEqual(conversation[2]);
    expect(again.memory.warnings).toContain('outputs_whole');
    // The report before was of the view with the placeholder.
    expect(again.memory.frontier.moved).toBe(true);
    const later = await ask([...next, says('4', 'Done.'), asks('More.')], stream, { memory_strategy });
    expect(later.memory.frontier.moved).toBe(false);
  });
});

it('a refusal of something else in a later round goes to the caller unchanged', async () => {
  const error = { message: 'Invalid value.', param: 'input[0].content', code: 'invalid_value' };
  deployment.upstream.next(
    calls('list_refs', () => ({ tool: 'shell' })),
    { type: 'error', status: 400, body: { error } },
  );
  const before = deployment.upstream.requests.length;
  const memory_strategy = { mode: 'auto', token_budget: 3_000, compact_keep: 1, compact_retrieval: 'tool' };
  const asked = callerOf().ask(conversation, false, { memory_strategy });
  await expect(asked).rejects.toMatchObject({ message: expect.stringContaining('Invalid value.') });
  const posts = deployment.upstream.requests.slice(before).filter(({ method }) => method === 'POST');
  expect(posts).toHaveLength(2);
});

describe('an upstream’s refusal', () => {
  it('of another item goes back unchanged', async () => {
    deployment.upstream.next({
      type: 'error',
      status: 400,
      body: { error: { message: 'Invalid value.', param: 'input[0].content', code: 'invalid_value' } },
    });
    await expect(callerOf().ask(conversation, false)).rejects.toMatchObject({
      status: 400,
      param: 'input[0].content',
    });
    expect(deployment.upstream.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('holds for its conversation alone', async () => {
    refuses = {
      type: 'mcp_call',
      naming: (index) => ({ message: 'Invalid value.', param: `input[${index}]`, code: null }),
      inStream: false,
    };
    const { ask } = callerOf();
    expect((await ask(conversation, false)).views).toHaveLength(2);
    refuses = undefined;
    const { views } = await ask(conversation.with(0, asks('Look up another one.')), false);
    expect(JSON.stringify(views[0]?.find(({ type }) => type === 'mcp_call'))).toContain('⟦removed');
  });

  it('is counted with what stays', async () => {
    refuses = {
      type: 'mcp_call',
      naming: (index) => ({ message: 'Invalid value.', param: `input[${index}]`, code: null }),
      inStream: false,
    };
    const { ask, client } = callerOf();
    await ask(conversation, false);
    await client.responses.inputTokens.count({
      model: 'gpt-5',
      input: conversation,
      memory_strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
    } as never);
    const counted = deployment.upstream.requests.at(-1)?.body.input as Item[];
    expect(counted.find(({ type }) => type === 'mcp_call')).toEqual(
      mcpCall('d', String(OUTPUTS.list_orders)),
    );
    expect(JSON.stringify(counted.find(({ type }) => type === 'web_search_call'))).toContain('⟦removed');
  });
});
