/** Causes of cache misses that are planted over HTTP. The vendors bill by caches of their own. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ListedRun } from '../../../src/memory/run/event.ts';
import { type StatsByDay, statsByDay } from '../../../src/reference/schemas/conversations.ts';
import { respond, sendAnswer } from '../../../tools/upstream/behaviours.ts';
import { Vendor } from '../../../tools/upstream/invoice.ts';
import { itemsOf, responsesTools } from '../../../tools/upstream/items.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { assistant, result } from '../../support/conversations/chat.ts';
import { fileSearch } from '../../support/conversations/hosted-items.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn, ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';

type Json = Record<string, unknown>;

const METRICS_TOKEN = 'the-token-of-the-operator';
const openai = deploy({
  vars: { METRICS_TOKEN },
  limits: { metricsBatchMs: 100 },
  upstream: { strict: false },
});
const anthropic = deployMessages();

const STRATEGY = { mode: 'auto', token_budget: 100_000, compact_retrieval: 'off' };
const SAID = 'It weighs a lot.';
const SAYS = { messages: { type: 'answer', content: SAID } } as const;
/** Requests of a conversation. The last one has what is planted. */
const REQUESTS = 4;

let vendor = new Vendor();
/** The verdict that the next answers of the Responses API have, if they are asked for one. */
let diagnosis: Json | undefined;

/** What a call is billed. */
function billed(body: RecordedRequest['body'], said: string) {
  const { tools, reasoning_effort, reasoning, prompt_cache_key: key, response_format, text } = body ?? {};
  // The cache is of one key and of these settings.
  const head = [tools, reasoning_effort, reasoning, response_format, text, key];
  return vendor.call({ ...body, tools: head }, said);
}

function answers(_: IncomingMessage, response: ServerResponse, { path, body }: RecordedRequest): void {
  const usage = billed(body, SAID);
  const isAsked = body?.prompt_cache_options?.comparison_response_id !== undefined;
  if (path.endsWith('/responses')) {
    const fields = isAsked && diagnosis ? { prompt_cache_diagnostics: diagnosis } : {};
    respond(response, body, { content: SAID, usage, fields });
  } else sendAnswer(response, body, { content: SAID }, { id: 'chatcmpl-1', model: 'gpt-4.1', usage });
}

beforeEach(() => {
  vendor = new Vendor();
  diagnosis = undefined;
  openai.upstream.become({ strict: false, chat: answers });
  anthropic.upstream.become(SAYS);
});

/** A tool as chat has it. */
const tool = (says: string) => ({
  type: 'function',
  function: { name: 'weigh', description: says, parameters: { type: 'object', properties: {} } },
});

/** The steps of an agent as chat has them. @param topic of the request at the beginning */
const stepsOf = (count: number, topic: string): Json[] => [
  { role: 'user', content: rows(topic, 60) },
  ...Array.from({ length: count }, (_, at) => {
    const id = `call_${at}`;
    const call = { id, type: 'function', function: { name: 'weigh', arguments: '{}' } };
    return [{ role: 'assistant', content: null, tool_calls: [call] }, result(id, rows(`step ${at}`, 60))];
  }).flat(),
];

/** The same in Messages. */
const blocksOf = (messages: readonly Json[]): Json[] =>
  messages.map(({ role, content, tool_calls: calls, tool_call_id: id }) => {
    if (Array.isArray(calls))
      return {
        role,
        content: calls.map((call) => ({ type: 'tool_use', id: call.id, name: 'weigh', input: {} })),
      };
    if (id !== undefined)
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] };
    return { role, content };
  });

/** Turns without a tool, as chat has them. The stub says the same in each. */
const turnsOf = (count: number): Json[] =>
  Array.from({ length: count }, (_, at) => [
    { role: 'user', content: rows(`turn ${at}`, 150) },
    assistant(SAID),
  ])
    .flat()
    .slice(0, -1);

/** What differs in a request. */
interface Asked {
  readonly topic?: string;
  /** In place of the steps of an agent. */
  readonly messages?: readonly Json[];
  readonly toolSays?: string;
  readonly fields?: Json;
  readonly strategy?: Json;
}

interface Wire {
  readonly name: string;
  readonly path: string;
  ask(path: string, init?: RequestInit): Promise<Response>;
  body(messages: readonly Json[], toolSays: string): Json;
  /** The vendor forgets what it has cached. */
  forget(): void;
}

const ofOpenai = (path: string, init: RequestInit = {}) =>
  openai.fetch(path, { ...init, headers: { 'content-type': 'application/json' } });

const CHAT: Wire = {
  name: 'chat',
  path: '/v1/chat/completions',
  ask: ofOpenai,
  body: (messages, says) => ({ model: 'gpt-4.1', tools: [tool(says)], messages }),
  forget: () => {
    vendor = new Vendor();
  },
};

const RESPONSES: Wire = {
  ...CHAT,
  name: 'responses',
  path: '/v1/responses',
  body: (messages, says) => ({
    model: 'gpt-4.1',
    store: false,
    tools: responsesTools([tool(says)]),
    input: itemsOf(messages),
  }),
};

const MESSAGES: Wire = {
  name: 'messages',
  path: '/v1/messages',
  ask: (path, init = {}) =>
    anthropic.fetch(path, { ...init, headers: { 'content-type': 'application/json' } }),
  body: (messages, description) => ({
    model: 'claude-sonnet-4-6',
    max_tokens: 1_024,
    tools: [{ name: 'weigh', description, input_schema: { type: 'object' } }],
    messages: blocksOf(messages),
  }),
  forget: () => anthropic.upstream.become(SAYS),
};

/** Of a gateway. */
const CLAUDE: Wire = {
  ...CHAT,
  name: 'chat, of Claude',
  body: (messages, says) => ({ model: 'claude-sonnet-4.6', tools: [tool(says)], messages }),
};

const OF_OPENAI = [CHAT, RESPONSES];
const ALL = [...OF_OPENAI, MESSAGES];

const over = ({ name }: Wire): string => `the cause of a miss, over ${name}`;

let conversations = 0;

/** Sends a request of a conversation, which grows by a step with each. */
async function send(wire: Wire, id: string, at: number, asked: Asked = {}): Promise<string> {
  const {
    topic = 'apples',
    messages = stepsOf(at + 1, topic),
    toolSays = 'Weighs.',
    fields,
    strategy,
  } = asked;
  const body = {
    ...wire.body(messages, toolSays),
    conversation_id: id,
    memory_strategy: { ...STRATEGY, ...strategy },
    ...fields,
  };
  const response = await wire.ask(wire.path, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

/** What a conversation has beside its last request. */
interface Course {
  /** Before the request that is planted. */
  before?(): unknown;
  /** What all requests but the last have. */
  readonly always?: Asked;
  /** The messages of each. */
  messages?(at: number): readonly Json[];
  /** Of an answer before the last. */
  answers?(at: number): void;
  readonly user?: string;
}

/**
 * The misses of a conversation.
 *
 * @param planted what the last request has
 */
async function missesOf(
  wire: Wire,
  planted: Asked,
  { before, always = {}, messages, answers: plan, user = '' }: Course = {},
): Promise<ListedRun['cache_miss'][]> {
  const id = `misses-${++conversations}`;
  const said = (at: number) => (messages ? { messages: messages(at) } : {});
  for (let at = 0; at < REQUESTS - 1; at++) {
    plan?.(at);
    await send(wire, id, at, { ...always, ...said(at) });
  }
  await before?.();
  await send(wire, id, REQUESTS - 1, { ...planted, ...said(REQUESTS - 1) });
  let runs: ListedRun[] = [];
  await until('all events are kept', async () => {
    const page = await wire.ask(`/v1/conversations/${id}/requests?user=${user}`);
    runs = ((await page.json()) as { data: ListedRun[] }).data ?? [];
    return runs.length === REQUESTS;
  });
  return runs.map(({ cache_miss: miss }) => miss).toReversed();
}

/** All requests but the last have missed nothing. */
const NONE = Array(REQUESTS - 1).fill(null);
/** A step that the model has seen stays whole after a move, and is read again. */
const MOVES = { mode: 'compact', compact_trigger_steps: 3, compact_keep_steps: 2 };

inTurn(ALL, over, (wire) => {
  it('is none where nothing was missed', async () => {
    expect(await missesOf(wire, {})).toEqual([...NONE, null]);
  });

  it.each([
    ['tools', { toolSays: 'Weighs anything.' }, { cause: 'tools' }],
    ['a message', { topic: 'pears' }, { cause: 'message', message: 0 }],
    ['a move', { strategy: MOVES }, { cause: 'move', trigger: 'steps' }],
    ['tools of Precis', { strategy: { compact_retrieval: 'tool' } }, { cause: 'own_tools' }],
  ] as const)('is %s, where it was planted', async (_, planted, cause) => {
    expect(await missesOf(wire, planted)).toEqual([
      ...NONE,
      expect.objectContaining({ ...cause, by: 'precis', amount: expect.any(Number) }),
    ]);
  });

  it('is another model', async () => {
    const model = wire === MESSAGES ? 'claude-opus-4-8' : 'gpt-4.1-mini';
    expect(await missesOf(wire, { fields: { model } })).toEqual([
      ...NONE,
      expect.objectContaining({ cause: 'model', by: 'precis' }),
    ]);
  });

  it('is the vendor where nothing has changed', async () => {
    expect(await missesOf(wire, {}, { before: wire.forget })).toEqual([
      ...NONE,
      expect.objectContaining({ cause: 'vendor' }),
    ]);
  });
});

inTurn(ALL, over, (wire) => {
  const ofLast = (cause: string) => [...NONE, expect.objectContaining({ cause, by: 'precis' })];

  it('is another end user of the same conversation', async () => {
    const ofClaude = (session: string) => ({ metadata: { user_id: `user_a_account_b_session_${session}` } });
    const [fields, others] =
      wire === MESSAGES
        ? [ofClaude('one'), ofClaude('two')]
        : [{ safety_identifier: 'one' }, { safety_identifier: 'one', user: 'two' }];
    const course = { always: { fields }, before: wire.forget };
    const user = wire === MESSAGES ? 'user_a_account_b' : 'one';
    expect(await missesOf(wire, { fields: others }, { ...course, user })).toEqual(ofLast('user'));
  });

  it('is a memory block that was renewed', async () => {
    const label = `of-misses-${conversations}`;
    const put = (text: string) =>
      wire.ask(`/v1/blocks/${label}`, { method: 'PUT', body: JSON.stringify({ text }) });
    await put('Weigh twice.');
    const blocks = (more = {}) => ({ fields: { memory_blocks: { labels: [label], ...more } } });
    const course = { always: blocks(), before: () => put('Weigh three times.') };
    expect(await missesOf(wire, blocks({ refresh: true }), course)).toEqual(ofLast('added'));
  });

  it("is that rounds of Precis's are gone", async () => {
    const offers = { strategy: { compact_retrieval: 'tool' } };
    const call = { id: 'call_refs', name: 'list_refs', arguments: '{}' };
    const plan = (at: number) => {
      if (at !== 1) return;
      if (wire === MESSAGES) return anthropic.upstream.next({ type: 'answer', toolCalls: [call] });
      openai.upstream.next((_, response, { path, body }) => {
        const usage = billed(body, '');
        const answer = { toolCalls: [call] };
        if (path.endsWith('/responses')) respond(response, body, { ...answer, usage });
        else sendAnswer(response, body, answer, { id: 'chatcmpl-1', model: 'gpt-4.1', usage });
      });
    };
    const course = { always: offers, messages: (at: number) => turnsOf(at + 1), answers: plan };
    const without = { strategy: { compact_retrieval: 'tool', keep_rounds: false } };
    expect(await missesOf(wire, without, course)).toEqual(ofLast('rounds'));
  });
});

describe('the cause of a miss, over responses alone', () => {
  const ofLast = (cause: string) => [...NONE, expect.objectContaining({ cause, by: 'precis' })];

  it('is instructions that begin to be sent as a message', async () => {
    const fields = { model: 'gpt-6.2-sol', instructions: rows('rules', 60) };
    const planted = { fields, strategy: { move_instructions: true } };
    expect(await missesOf(RESPONSES, planted, { always: { fields } })).toEqual(ofLast('instructions'));
  });

  it('is an output of a hosted tool that the upstream wants in full', async () => {
    const search = fileSearch('a', [rows('a page', 200)]);
    const hosted = (at: number) => [
      { role: 'user', content: 'Look it up.' },
      search,
      assistant(SAID),
      ...itemsOf(turnsOf(at + 2)),
    ];
    const slides = { strategy: { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 } };
    const refused = { message: 'Invalid value.', param: 'input[1].results[0].text', code: null };
    const refuse = () => openai.upstream.next({ type: 'error', status: 400, body: { error: refused } });
    const course = { always: slides, messages: hosted, before: refuse };
    expect(await missesOf({ ...RESPONSES, body: ofItems }, slides, course)).toEqual(ofLast('hosted'));
  });
});

/** Items as they are. */
function ofItems(input: readonly Json[], says: string): Json {
  return { ...RESPONSES.body([], says), input };
}

inTurn(OF_OPENAI, over, (wire) => {
  const effort = wire === CHAT ? { reasoning_effort: 'high' } : { reasoning: { effort: 'high' } };
  const type = 'json_object';
  const format = wire === CHAT ? { response_format: { type } } : { text: { format: { type } } };
  it.each([
    ['key', { prompt_cache_key: 'another' }],
    ['effort', effort],
    ['format', format],
  ])('is another %s', async (cause, fields) => {
    expect(await missesOf(wire, { fields })).toEqual([...NONE, expect.objectContaining({ cause })]);
  });
});

describe('the cause of a miss where marks decide what is kept', () => {
  it.each([CLAUDE, MESSAGES])('is a mark that is lacking, over $name', async (wire) => {
    expect(await missesOf(wire, { strategy: { cache_marks: 'off' } })).toEqual([
      ...NONE,
      expect.objectContaining({ cause: 'mark', by: 'precis' }),
    ]);
  });

  it('is a prompt that is too short for the model', async () => {
    const fields = { model: 'claude-opus-4-6', cache_control: { type: 'ephemeral' } };
    const misses = await missesOf(MESSAGES, { fields }, { always: { fields } });
    const short = expect.objectContaining({ cause: 'short', by: 'precis' });
    // The last one is long enough, and is kept.
    expect(misses).toEqual([null, short, short, null]);
  });
});

describe('the word of a vendor', () => {
  const missed = (cause: string) => [...NONE, expect.objectContaining({ cause, by: 'vendor' })];

  it.each(ofTurn(1, [false, true]))('comes first in the Responses API (streamed: %s)', async (stream) => {
    diagnosis = { type: 'cache_miss', reason: 'service_tier_changed', cache_missed_tokens: 4_000 };
    const fields = { stream, prompt_cache_options: { comparison_response_id: 'resp_before' } };
    expect(await missesOf(RESPONSES, { fields }, { before: RESPONSES.forget })).toEqual(missed('tier'));
  });

  it.each(ofTurn(0, [false, true]))('comes first in Messages (streamed: %s)', async (stream) => {
    const fields = { stream, diagnostics: { previous_message_id: 'msg_before' } };
    const said = {
      diagnostics: { cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: 4_000 } },
    };
    const forget = () => {
      MESSAGES.forget();
      anthropic.upstream.next({ type: 'answer', content: SAID, fields: said });
    };
    expect(await missesOf(MESSAGES, { fields }, { before: forget })).toEqual(missed('tools'));
  });
});

describe('a strategy with cache_diagnostics', () => {
  const asks: Asked = { strategy: { cache_diagnostics: true } };
  const idIn = (text: string) => String((JSON.parse(text) as Json).id);
  const comparedIn = (body: RecordedRequest['body']) => body?.prompt_cache_options?.comparison_response_id;

  it('compares each request with the answer before, in the Responses API', async () => {
    const ids: (string | undefined)[] = [undefined];
    for (let at = 0; at < 3; at++) ids.push(idIn(await send(RESPONSES, 'compared', at, asks)));
    const compared = openai.upstream.requests.filter(({ path }) => path.endsWith('/responses'));
    expect(compared.map(({ body }) => comparedIn(body))).toEqual(ids.slice(0, 3));
    await send(RESPONSES, 'compared', 3, {
      ...asks,
      fields: { prompt_cache_options: { comparison_response_id: 'resp_own' } },
    });
    expect(comparedIn(openai.upstream.requests.at(-1)?.body)).toBe('resp_own');
    await send(RESPONSES, 'compared', 4);
    expect(comparedIn(openai.upstream.requests.at(-1)?.body)).toBeUndefined();
  });

  it.each(ofTurn(1, [false, true]))(
    'opts in at the first request of Messages, and compares then (streamed: %s)',
    async (stream) => {
      MESSAGES.forget();
      const id = `compared-${stream}`;
      const texts: string[] = [];
      for (let at = 0; at < 3; at++)
        texts.push(await send(MESSAGES, id, at, { ...asks, fields: { stream } }));
      const ids = texts.map((text) => /"id":"(msg_\w+)"/.exec(text)?.[1]);
      const asked = anthropic.upstream.messages().map(({ body }) => body.diagnostics);
      expect(asked).toEqual([null, ids[0], ids[1]].map((previous_message_id) => ({ previous_message_id })));
    },
  );

  it('asks an upstream that refuses it once, and again without', async () => {
    const refusal = {
      error: { message: "Unknown parameter: 'prompt_cache_options.comparison_response_id'." },
    };
    const id = 'compared-in-vain';
    const model = { ...asks, fields: { model: 'gpt-4.1-mini' } };
    await send(RESPONSES, id, 0, model);
    openai.upstream.next({ type: 'error', status: 400, body: refusal });
    for (let at = 1; at < 4; at++) await send(RESPONSES, id, at, model);
    const seen = openai.upstream.requests.filter(({ path }) => path.endsWith('/responses'));
    expect(seen.map(({ body }) => comparedIn(body) !== undefined)).toEqual([
      false,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('misses of several conversations', () => {
  const statsNow = async (): Promise<StatsByDay> =>
    statsByDay.parse(await (await openai.fetch('/v1/stats?days=2')).json());
  const toolsIn = ({ total }: StatsByDay) => total.missed.find(({ cause }) => cause === 'tools');

  it('are in the sums of the day, and counted for the operator', async () => {
    // The conversations above have some, too.
    const { requests = 0 } = toolsIn(await statsNow()) ?? {};
    await missesOf(CHAT, { toolSays: 'Weighs all.' });
    await missesOf(RESPONSES, { toolSays: 'Weighs all.' });
    await openai.fetch('/v1/conversations');
    const stats = await statsNow();
    expect(toolsIn(stats)).toMatchObject({ requests: requests + 2, amount: expect.any(Number) });
    const amounts = stats.total.missed.map(({ amount }) => amount ?? 0);
    expect(amounts).toEqual(amounts.toSorted((one, other) => other - one));
    await until('they are counted', async () => {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const text = await (await fetch(`${openai.url}/metrics`, { headers })).text();
      const counted = (name: string) =>
        Number(new RegExp(`^precis_cache_${name}_total\\{cause="tools"\\} (.+)$`, 'm').exec(text)?.[1]);
      return counted('misses') >= requests + 2 && counted('miss_dollars') > 0;
    });
  });
});
