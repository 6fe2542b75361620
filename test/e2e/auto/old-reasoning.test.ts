import type { ServerResponse } from 'node:http';
import type OpenAI from 'openai';
import { expect, it } from 'vitest';
import { type Behaviour, respond } from '../../../tools/upstream/behaviours.ts';
import { lines, result, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms, ofTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

type Json = Record<string, unknown>;

const ENCRYPTED = 'reasoning.encrypted_content';

/** The reasoning that led to each item and call which the upstream has answered with. */
const reasoned = new Map<string, string>();
let answers = 0;

/** A model that thinks before each call and each answer. */
const thinks: Behaviour = (_, response: ServerResponse, { body }) => {
  const id = `${++answers}`;
  const call = `call_${id}`;
  for (const name of [`msg_${id}`, `fc_${call}`, call]) reasoned.set(name, `rs_${id}`);
  const isDone = (body.input as Json[]).at(-1)?.type === 'function_call_output';
  return respond(response, body, {
    id,
    reasoning: { encrypted: `sealed ${id} ${'gAAAAABo'.repeat(120)}`, summary: 'I look at it.' },
    ...(isDone ? { content: 'Done.' } : { toolCalls: [{ id: call, name: 'look', arguments: '{}' }] }),
  });
};

const deployment = deploy({ upstream: { strict: { reasoned }, responses: thinks } });

/** Without the old reasoning the views are under the budget, so nothing is summarized. */
const CLEARING = { mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 0, low_watermark_pct: 0.5 };

const TOOLS = [{ type: 'function' as const, name: 'look', parameters: {}, strict: false }];

const thoughtsIn = (items: readonly Json[]): unknown[] =>
  items.flatMap(({ type, id }) => (type === 'reasoning' ? [id] : []));

/** A caller that sends all items back unchanged. */
async function play(turns: number, stream: boolean, more: Json = {}) {
  const client = deployment.client();
  const input: Json[] = [];
  const reports: NonNullable<WithMemory['memory']>[] = [];
  for (let request = 0; request < 2 * turns; request++) {
    const call = input.at(-1)?.type === 'function_call' ? input.at(-1)?.call_id : undefined;
    input.push(
      call === undefined
        ? { role: 'user', content: `Look at ${request}.` }
        : { type: 'function_call_output', call_id: call, output: lines(4, `found ${request}`) },
    );
    const params = {
      model: 'gpt-5.6',
      store: false,
      include: [ENCRYPTED],
      tools: TOOLS,
      memory_strategy: { ...CLEARING, ...more },
      memory_report: true,
      input,
    };
    const answer = await (stream ? streamed(client, params) : whole(client, params));
    input.push(...(answer.output as unknown as Json[]));
    if (answer.memory) reports.push(answer.memory);
  }
  const views = deployment.upstream.requests.map(({ body }) => body.input as Json[]);
  return { input, reports, views };
}

type Answer = OpenAI.Responses.Response & WithMemory;

async function whole(client: OpenAI, params: Json): Promise<Answer> {
  return (await client.responses.create(params as never)) as unknown as Answer;
}

async function streamed(client: OpenAI, params: Json): Promise<Answer> {
  const events = await client.responses.create({ ...params, stream: true } as never);
  for await (const event of events as unknown as AsyncIterable<OpenAI.Responses.ResponseStreamEvent>)
    if (event.type === 'response.completed') return event.response as Answer;
  throw new Error('the stream has not been completed');
}

/** Without marks, which follow the frontier. */
const unmarked = (items: readonly Json[]): string[] =>
  items.map((item) =>
    JSON.stringify(item).replace(
      /\[\{"type":"input_text","text":("(?:[^"\\]|\\.)*"),"prompt_cache_breakpoint":\{"mode":"explicit"\}\}\]/,
      '$1',
    ),
  );

inBothForms('encrypted reasoning of old turns', (stream) => {
  it('leaves the views of a model that bills it, and the upstream takes them', async () => {
    const { input, reports, views } = await play(8, stream);
    const last = views.at(-1) ?? [];
    const [current, earlier] = [thoughtsIn(last).at(-1), thoughtsIn(last)[0]];

    expect(thoughtsIn(input)).toHaveLength(16);
    expect(thoughtsIn(last).length).toBeLessThan(12);
    // The current turn keeps its own, as does the one before.
    const own = thoughtsIn(input).at(-2);
    expect(current).toBe(own);
    expect(earlier).not.toBe(thoughtsIn(input)[0]);
    // Calls, results and texts are all there.
    const others = (items: readonly Json[]): unknown[] =>
      items
        .filter(({ type }) => type !== 'reasoning')
        .map(({ role, type, call_id, output, arguments: given }) => [
          role,
          type,
          call_id,
          given,
          output && 1,
        ]);
    expect(others(last)).toEqual(others(input.slice(0, -2)));

    const edits = reports.flatMap(({ applied_edits }) => applied_edits);
    expect(edits.map(({ type }) => type)).toContain('clear_reasoning');
    for (const [index, { frontier }] of reports.entries()) {
      const [before = [], view = []] = [views[index - 1], views[index]];
      if (!frontier.moved) expect(unmarked(view).slice(0, before.length)).toEqual(unmarked(before));
    }
    expect(reports.filter(({ frontier }) => frontier.moved).length).toBeGreaterThan(0);
  });

  it('stays over a soft budget alone', async () => {
    const { input, views } = await play(5, stream, { token_budget: undefined, token_soft_budget: 900 });
    expect(thoughtsIn(views.at(-1) ?? [])).toEqual(thoughtsIn(input).slice(0, -1));
  });

  it('stays where clear_reasoning is false', async () => {
    const { input, views } = await play(5, stream, { clear_reasoning: false });
    expect(thoughtsIn(views.at(-1) ?? [])).toEqual(thoughtsIn(input).slice(0, -1));
  });
});

const turn = (of: string): Json[] => [
  user(`Do ${of}.`),
  {
    role: 'assistant',
    content: null,
    reasoning_content: lines(20, `before ${of}`),
    tool_calls: [{ id: `call_${of}`, type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  result(`call_${of}`, 'Nothing.'),
  { role: 'assistant', content: `Did ${of}.`, reasoning_content: lines(20, `after ${of}`) },
];

const messages = [...turn('a'), ...turn('b'), ...turn('c'), user('And now?')];
const BY_WISH = {
  ...CLEARING,
  token_budget: 1_100,
  low_watermark_pct: 0,
  compact_keep: 0,
  clear_reasoning: true,
};

overProtocols('reasoning of old turns as text', deployment, (protocol) => {
  it.each(ofTurn(1, [false, true]))(
    'leaves the view if the caller asks for it (stream: %s)',
    async (stream) => {
      deployment.upstream.next({ type: 'answer' });
      const { memory, headers, seen } = await deployment.ask({ memory_strategy: BY_WISH, stream, messages });

      expect(headers.get('x-memory-applied')).toBe('clear_reasoning');
      const [edit] = memory.applied_edits;
      const { before = 0, after = 0 } = memory.tokens ?? {};
      expect(edit).toEqual({ type: 'clear_reasoning', messages: 4, cleared_tokens: before - after });
      expect(memory.refs).toEqual([]);
      const expected = messages.map(({ reasoning_content: thought, ...message }, index) =>
        index < 8 || thought === undefined ? message : { ...message, reasoning_content: thought },
      );
      expect(seen.body.messages).toEqual(protocol.read(expected));
    },
  );

  it('stays unless the caller asks for it, and with a model that needs it', async () => {
    // The last request exceeds the budget. Without the long output, it is under it.
    const long = [...turn('long'), ...messages.slice(0, -1), user(lines(150, 'And'))];
    long[2] = result('call_long', lines(200));
    const edits = async (model: string, clear_reasoning: boolean | undefined) => {
      deployment.upstream.next({ type: 'answer' });
      const memory_strategy = { ...BY_WISH, token_budget: 4_300, offload_min_tokens: 1_000, clear_reasoning };
      const { memory } = await deployment.ask({ model, memory_strategy, messages: long });
      return memory.applied_edits.map(({ type }) => type);
    };
    expect(await edits('gpt-4.1', undefined)).toEqual(['offload']);
    expect(await edits('deepseek-v4-pro', true)).toEqual(['offload']);
    expect(await edits('gpt-4.1', true)).toEqual(['offload', 'clear_reasoning']);
  });

  it('is explained', async () => {
    const response = await deployment.postTo(
      '/v1/explain',
      protocol.body({ model: 'gpt-4.1', memory_strategy: BY_WISH, messages }),
    );
    const explained = (await response.json()) as { messages: { fate: string; edits?: Json[] }[] };
    const cleared = explained.messages.filter(({ fate }) => fate === 'cleared');
    expect(cleared).toHaveLength(4);
    expect(cleared[0]?.edits).toMatchObject([{ kind: 'reasoning', reason: 'old_reasoning' }]);
  });

  it.each([
    [{ keep_reasoning_turns: 0 }, 'keep_reasoning_turns'],
    [{ clear_reasoning: 'yes' }, 'clear_reasoning'],
  ])('is refused with the settings %j', async (more, field) => {
    const response = await deployment.chat({
      model: 'gpt-4.1',
      memory_strategy: { ...BY_WISH, ...more },
      messages,
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect(error.param).toBe(`memory_strategy.${field}`);
    expect(error.message).toContain(field);
  });
});
