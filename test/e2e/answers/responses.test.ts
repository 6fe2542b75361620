/** `POST /v1/responses`, with the `openai` client and an upstream as strict as OpenAI's API. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, respond } from '../../../tools/upstream/behaviours.ts';
import { asResponses } from '../../../tools/upstream/items.ts';
import { eventsOf } from '../../../tools/upstream/response.ts';
import { agentRun } from '../../support/clients/agent-run.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';

// A late request for a summary would get the answer that a later test has queued.
const deployment = deploy({ summarizer: true, upstream: { strict: { jsonArguments: true } } });

type Json = Record<string, unknown>;
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const client = () => new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey: KEY, maxRetries: 0 });
const lastBody = (): Json =>
  deployment.upstream.requests.findLast(({ path }) => path.endsWith('/responses'))?.body;

/** An agent's requests as bodies of the Responses API, one for each step. */
function requestsOf(topic: string): Json[] {
  const run = agentRun(topic, 7);
  const ends = run.flatMap(({ role }, index) => (role === 'assistant' && index > 0 ? [index] : []));
  return ends.map((end) => {
    const chat = { model: 'gpt-4.1', messages: run.slice(0, end) };
    return JSON.parse(new TextDecoder().decode(asResponses(new TextEncoder().encode(JSON.stringify(chat)))));
  });
}

async function ask(body: Json, stream: boolean, more: Json = {}): Promise<{ text: string; memory: Report }> {
  const params = { ...body, ...more, memory_report: true } as unknown as Body;
  const final = stream
    ? await client()
        .responses.stream(params as never)
        .finalResponse()
    : await client().responses.create(params);
  return { text: final.output_text, memory: (final as unknown as { memory: Report }).memory };
}

// What a mode does to an array does not depend on how an answer came.
describe('an agent over the Responses API, with answers in one piece and in streams in turn,', () => {
  it.each([
    ['compact', { mode: 'compact', token_budget: 4_000 }],
    ['auto', { mode: 'auto', token_budget: 8_000, min_reclaim_tokens: 0 }],
    ['trim', { mode: 'trim', token_budget: 8_000 }],
  ])(
    'is answered at every step, keeps its prefix, and can fetch what was removed, in mode %s',
    async (mode, memory_strategy) => {
      let before: Json | undefined;
      let moved = 0;
      const refs = new Set<string>();
      for (const [at, body] of requestsOf(mode).entries()) {
        const { text, memory } = await ask(body, at % 2 === 0, { memory_strategy });
        expect(text).toBe('This is what the upstream has to say.');
        expect(memory.mode).toBe(mode);
        const sent = lastBody();
        if (memory.frontier.moved) moved++;
        else if (before) {
          const input = before.input as Json[];
          expect((sent.input as Json[]).slice(0, input.length)).toEqual(input);
        }
        expect([sent.memory_strategy, sent.memory_report]).toEqual([undefined, undefined]);
        for (const { ref } of memory.refs) refs.add(ref);
        before = sent;
      }
      expect(moved).toBeGreaterThan(0);
      if (mode !== 'trim') expect(refs.size).toBeGreaterThan(0);
      for (const ref of refs) expect((await deployment.fetch(`/v1/refs/${ref}`)).status).toBe(200);
    },
  );
});

describe.each(ofTurn(1, [false, true]))('an agent over the Responses API (streamed: %s)', (stream) => {
  it('has its old turns summarized', async () => {
    const words = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ');
    const input = Array.from({ length: 6 }, (_, turn) => [
      user(`Question ${turn}: ${words}`),
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: `Answer ${turn}.`, annotations: [] }],
      },
    ]).flat();
    const memory_strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };
    const { memory } = await ask({ model: 'gpt-4.1', input: [...input, user('Go on.')] }, stream, {
      memory_strategy,
      conversation_id: `summarised ${stream}`,
    });
    expect(memory.applied_edits.map(({ type }) => type)).toEqual(['summarize']);
    const sent = lastBody().input as Json[];
    expect(JSON.stringify(sent)).toContain('<session_summary');
    expect(sent.length).toBeLessThan(input.length);
  });
});

describe('a conversation over the Responses API', () => {
  it('is archived unchanged', async () => {
    const input = [user('Where are the quinces?')];
    await ask({ model: 'gpt-4.1', input }, false, {
      memory_strategy: { mode: 'trim', max_turns: 9, archive: true },
      conversation_id: 'archived items',
    });
    const archived = async () => {
      const response = await deployment.fetch('/v1/conversations/archived%20items/messages');
      return ((await response.json()) as { data?: { message: Json }[] }).data ?? [];
    };
    await until('the conversation is archived', async () => (await archived()).length === 2);
    expect((await archived()).map(({ message }) => message)).toEqual([
      input[0],
      assistant('This is what the upstream has to say.'),
    ]);
  });
});

describe('a stream whose last event lists nothing', () => {
  /** Ends its stream as Codex' backend does. */
  const listsNothing: Behaviour = (_, response, { body }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of eventsOf(body))
      response.write(
        event.startsWith('event: response.completed')
          ? event.replace(/"output":\[.*\]/, '"output":[]')
          : event,
      );
    response.end();
  };
  const say = async (memory_strategy: object, conversation_id: string) => {
    deployment.upstream.next(listsNothing);
    const input = [user('Where are the quinces?')];
    const response = await deployment.postTo('/v1/responses', {
      model: 'gpt-4.1',
      input,
      stream: true,
      memory_strategy,
      conversation_id,
    });
    expect(await response.text()).toContain('"output":[]');
    return async (what: string): Promise<Json> => {
      const stored = await deployment.fetch(`/v1/conversations/${conversation_id}/${what}`);
      return stored.ok ? ((await stored.json()) as Json) : {};
    };
  };

  it('F20: is archived with the answer that was streamed', async () => {
    const stored = await say({ mode: 'trim', max_turns: 9, archive: true }, 'unlisted');
    const archived = async () => ((await stored('messages')).data ?? []) as Json[];
    await until('the answer is archived', async () => (await archived()).length === 2);
    expect((await archived())[1]?.message).toEqual(assistant('This is what the upstream has to say.'));
  });

  it('F20: closes its round in rolling memory', async () => {
    const stored = await say(
      { mode: 'rolling_summary', summarize_after_seq: 1, full_zone_turns: 0 },
      'unlisted-rolling',
    );
    const memories = async () => ((await stored('memory')).memories ?? []) as Json[];
    await until('the round is being remembered', async () => (await memories()).length === 1);
  });
});

describe('what is not edited', () => {
  it('is sent byte for byte', async () => {
    const body =
      '{"model":"gpt-4.1", "input":[{"role":"user","content":"12345678901234567890"},{"type":"something_new","x":1.0}],"x-extra":{"b":1.0}}';
    deployment.upstream.next((_, response, { body: sent }) => respond(response, sent));
    const response = await deployment.fetch('/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-memory-strategy': 'auto' },
      body,
    });
    expect(response.headers.get('x-memory-mode')).toBe('auto');
    expect(deployment.upstream.requests.at(-1)?.rawBody.toString()).toBe(body);
  });

  it.each([
    ['previous_response_id', { previous_response_id: 'resp_1', input: 'Go on.' }],
    ['conversation', { conversation: 'conv_1', input: 'Go on.' }],
    [
      'an item that is only referred to',
      {
        input: [{ type: 'item_reference', id: 'msg_1' }, user('Go on.')],
      },
    ],
  ])('is a request with %s, and the report says so', async (_, fields) => {
    const { memory } = await ask({ model: 'gpt-4.1', ...fields }, false, {
      memory_strategy: { mode: 'compact', token_budget: 0 },
    });
    expect(memory.warnings).toEqual(['upstream_state']);
    expect(lastBody()).toEqual({ model: 'gpt-4.1', ...fields });
  });

  it.each([{}, { input: null }])(
    'is a request of a stored prompt, which has no items: %j',
    async (fields) => {
      const sent = { model: 'gpt-4.1', prompt: { id: 'pmpt_1' }, ...fields };
      deployment.upstream.next((_, response, { body }) => respond(response, body));
      const response = await deployment.postTo('/v1/responses', {
        ...sent,
        memory_strategy: 'auto',
        memory_report: true,
      });
      expect(response.status).toBe(200);
      expect(lastBody()).toEqual(sent);
    },
  );

  it('is reasoning, which goes with the call that it has led to', async () => {
    const turn = (name: string): Json[] => [
      user(`Look for ${name}.`),
      { type: 'reasoning', id: `rs_${name}`, summary: [], encrypted_content: 'x'.repeat(200) },
      { type: 'function_call', call_id: `call_${name}`, name: 'search', arguments: '{"for":"it"}' },
      { type: 'function_call_output', call_id: `call_${name}`, output: `${name} `.repeat(400) },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Found.', annotations: [] }],
      },
    ];
    const input = [...turn('apples'), ...turn('pears'), ...turn('plums'), user('Thanks.')];
    const compacted = await ask({ model: 'gpt-4.1', input }, false, {
      memory_strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
    });
    expect(compacted.memory.refs).toHaveLength(3);
    const sent = lastBody().input as Json[];
    expect(sent.filter(({ type }) => type === 'reasoning')).toEqual(
      input.filter(({ type }) => type === 'reasoning'),
    );
    await ask({ model: 'gpt-4.1', input }, false, {
      memory_strategy: { mode: 'trim', max_turns: 2, keep_last_n_turns: 2 },
    });
    expect((lastBody().input as Json[]).map(({ type }) => type)).toEqual(
      input.slice(10).map(({ type }) => type),
    );
  });
});

describe('a stream', () => {
  const events = async (response: Response): Promise<Json[]> =>
    (await response.text())
      .split('\n\n')
      .flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? [])
      .map((data) => JSON.parse(data) as Json);
  const stream = (more: Json = {}) =>
    deployment.postTo('/v1/responses', {
      model: 'gpt-4.1',
      input: 'Hello',
      stream: true,
      memory_strategy: { mode: 'compact', token_budget: 9 },
      ...more,
    });

  it('has no event by Precis, and the report in its last one', async () => {
    const plain = await events(await stream());
    const reported = await events(await stream({ memory_report: true }));
    expect(reported.map(({ type }) => type)).toEqual(plain.map(({ type }) => type));
    const { memory, ...response } = (reported.at(-1)?.response ?? {}) as Json;
    expect(response).toEqual(plain.at(-1)?.response);
    expect(memory).toMatchObject({ mode: 'compact' });
  });

  it('that breaks off ends in an error, and is not completed', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{}}\n\n',
        () => response.destroy(),
      );
    });
    const seen = await events(await stream());
    expect(seen.map(({ type }) => type)).toEqual(['response.created', 'error']);
    expect(seen.at(-1)).toMatchObject({ sequence_number: 1, code: 'upstream_unreachable', param: null });
  });
});

describe('bad input', () => {
  it.each([
    ['input', { input: 7 }],
    ['input', { input: { role: 'user' } }],
    ['memory_strategy', { input: 'Hello', memory_strategy: { mode: 'compct' } }],
  ])('is refused with the name of %s', async (param, fields) => {
    const response = await deployment.postTo('/v1/responses', { model: 'gpt-4.1', ...fields });
    const { error } = (await response.json()) as { error: { param: string } };
    expect([response.status, error.param.split('.')[0]]).toEqual([400, param]);
  });
});
