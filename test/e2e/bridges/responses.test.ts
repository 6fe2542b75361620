/** Chat clients of a model that takes tools over the Responses API alone. */
import type { ServerResponse } from 'node:http';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, refuse, sendJson } from '../../../tools/upstream/behaviours.ts';
import { type BilledBody, Vendor } from '../../../tools/upstream/invoice.ts';
import { eventsOf, type ResponseAnswer, responseOf } from '../../../tools/upstream/response.ts';
import { result, system, user } from '../../support/conversations/chat.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';

type Json = Record<string, unknown>;
type Message = { role: string } & Json;
type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

const MODEL = 'gpt-6-astra';
const TOOLS = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
];
const INSTRUCTIONS = 'You look around. '.repeat(300);
/** Nothing is edited, and no tool of Precis's is offered. */
const BRIDGED = { mode: 'none', upstream_api: 'responses' };

/** The reasoning that led to each call and to each text, by the call's id or the text. */
const thoughts = new Map<string, string>();
let made = 0;

const itemsOf = ({ input }: Json): Json[] => (Array.isArray(input) ? (input as Json[]) : []);

function saidBy({ type, role, call_id, content }: Json): string | undefined {
  if (type === 'function_call') return String(call_id);
  if (role !== 'assistant') return undefined;
  return typeof content === 'string' ? content : String((content as Json[])[0]?.text);
}

/** How many calls and texts of the model have come back without the reasoning before them. */
function lostIn(body: Json): number {
  const items = itemsOf(body);
  let thought: unknown;
  return items.filter((item) => {
    if (item.type === 'reasoning') thought = item.encrypted_content;
    const said = saidBy(item);
    const isLost = said !== undefined && thoughts.has(said) && thoughts.get(said) !== thought;
    return isLost;
  }).length;
}

function answer(said: ResponseAnswer): ResponseAnswer {
  const encrypted = `thought-${++made}`;
  for (const { id } of said.toolCalls ?? []) thoughts.set(id, encrypted);
  if (said.content) thoughts.set(said.content, encrypted);
  return { id: `${made}`, ...said, reasoning: { encrypted } };
}

function send(body: Json, said: ResponseAnswer, response: ServerResponse): void {
  const whole = answer(said);
  if (body.stream !== true) {
    sendJson(response, responseOf(body, whole));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of eventsOf(body, whole)) response.write(event);
  response.end();
}

/** Looks until it has been asked for the last time; every third time it fetches something first. */
const reasoning: Behaviour = (_, response, { body }) => {
  const items = itemsOf(body);
  const results = items.filter(({ type }) => type === 'function_call_output').length;
  const isAsked = JSON.stringify(items.at(-1)).includes('How far');
  const call = (name: string, args: object) => ({
    id: `call_${made + 1}`,
    name,
    arguments: JSON.stringify(args),
  });
  if (isAsked) return send(body, { content: `So far, ${made + 1}.` }, response);
  const fetches = JSON.stringify(body.tools).includes('retrieve_ref') && results % 3 === 2;
  const toolCalls = [fetches ? call('retrieve_ref', { ref: 'ref_none' }) : call('look', { at: results })];
  send(body, results % 2 === 0 ? { content: `I look, ${made + 1}.`, toolCalls } : { toolCalls }, response);
};

const deployment = deploy({ upstream: { responses: reasoning } });

const sent = (): Json[] =>
  deployment.upstream.requests.filter(({ path }) => path.endsWith('/responses')).map(({ body }) => body);

interface Step {
  readonly message: Message;
  readonly memory: Report;
}

async function ask(messages: readonly Message[], more: Json = {}): Promise<Step> {
  const { stream = false, ...fields } = more;
  const fixed = { model: MODEL, tools: TOOLS, memory_strategy: 'auto', memory_report: true };
  const params = { ...fixed, ...fields, messages } as unknown as Params;
  const { completions } = deployment.client().chat;
  if (!stream) {
    const completion = (await completions.create(params)) as unknown as WithMemory & {
      choices: { message: Message }[];
    };
    return { message: completion.choices[0]?.message as Message, memory: completion.memory as Report };
  }
  const reports: Report[] = [];
  const streamed = deployment.client().chat.completions.stream(params as never);
  streamed.on('chunk', (chunk) => {
    const { memory } = chunk as unknown as Partial<WithMemory>;
    if (memory) reports.push(memory as Report);
  });
  const completion = await streamed.finalChatCompletion();
  const [message] = completion.choices.map(({ message: one }) => one as unknown as Message);
  return { message: message as Message, memory: reports.at(-1) as Report };
}

/** What a client sends back of an answer. */
function back({ content, tool_calls }: Message): Message {
  return { role: 'assistant', content, ...(tool_calls ? { tool_calls } : {}) };
}

/** Results for the calls of an answer. */
function results({ tool_calls = [] }: Message): Message[] {
  return (tool_calls as { id: string }[]).map(({ id }) => result(id, `Nothing at ${id}.`));
}

async function loop(steps: number, more: Json): Promise<{ array: Message[]; memory: Report }> {
  const array: Message[] = [system(INSTRUCTIONS), user(`Look around, ${String(more.conversation_id)}.`)];
  let last: Report | undefined;
  for (let step = 0; step < steps; step++) {
    const { message, memory } = await ask(array, more);
    array.push(back(message), ...results(message));
    last = memory;
  }
  return { array, memory: last as Report };
}

const lost = (): number => sent().reduce((sum, body) => sum + lostIn(body), 0);

/** The share of all input that a vendor's cache has had, after the model's least length. */
function shareOf(bodies: readonly Json[]): number {
  const vendor = new Vendor();
  for (const body of bodies) vendor.call({ ...(body as BilledBody), model: 'gpt-5.6-terra' }, '');
  const later = vendor.invoice.slice(1);
  const sum = (of: 'input' | 'cached') => later.reduce((all, line) => all + line[of], 0);
  return sum('cached') / sum('input');
}

describe('a chat client whose model needs the Responses API', () => {
  it.each([
    { stream: false, conversation_id: 'whole', memory_strategy: BRIDGED },
    { stream: true, conversation_id: 'streamed', memory_strategy: BRIDGED },
    { stream: false, conversation_id: 'fetching', memory_strategy: 'auto' },
    { stream: true, conversation_id: 'fetching in a stream', memory_strategy: 'auto' },
  ])('loses no reasoning in 30 steps ($conversation_id)', async (more) => {
    const { array, memory } = await loop(30, more);

    expect(lost()).toBe(0);
    const isFetching = more.memory_strategy === 'auto';
    const because = isFetching ? 'model' : 'setting';
    expect(memory.upstream_api).toMatchObject({ api: 'responses', because });
    expect(memory.upstream_api?.kept_answers).toBeGreaterThanOrEqual(29);
    expect(array.filter(({ role }) => role === 'tool')).toHaveLength(30);
    const bodies = sent();
    expect(bodies.length > 30).toBe(isFetching);
    for (const [at, body] of bodies.entries()) {
      const before = itemsOf(bodies[at - 1] ?? {});
      expect(itemsOf(body).slice(0, before.length)).toEqual(before);
      expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    }
  });

  it.each(ofTurn(1, [false, true]))(
    'reads as much of its cache as a native client (stream: %s)',
    async (stream) => {
      await loop(12, { stream, conversation_id: `billed ${stream}`, memory_strategy: BRIDGED });
      const bridged = shareOf(sent());
      deployment.upstream.requests.length = 0;
      const input: Json[] = [
        system([{ type: 'input_text', text: INSTRUCTIONS }]),
        user([{ type: 'input_text', text: `Look around, billed ${stream}.` }]),
      ];
      for (let step = 0; step < 12; step++) {
        const [tool] = TOOLS;
        const tools = [{ type: 'function', strict: false, ...tool?.function }];
        const asked = { model: MODEL, tools, store: false, include: ['reasoning.encrypted_content'], input };
        const response = await deployment.postTo(
          '/v1/responses',
          { ...asked, memory_strategy: 'none' },
          { authorization: `Bearer ${KEY}` },
        );
        const { output } = (await response.json()) as { output: Json[] };
        const called = output.filter(({ type }) => type === 'function_call');
        const seen = called.map(({ call_id }) => ({
          ...{ type: 'function_call_output', call_id, output: `Nothing at ${call_id}.` },
        }));
        input.push(...output, ...seen);
      }
      const native = shareOf(sent());
      expect(bridged).toBeGreaterThan(0.5);
      // Its items have ids and a status, which are read from the cache, too.
      expect(bridged).toBeGreaterThan(native - 0.01);
    },
  );

  it('sends an answer in the plain form once its array is another one', async () => {
    const more = { conversation_id: 'forked' };
    const { array } = await loop(4, more);
    const edited = array.map((message) =>
      message.role === 'user' ? { ...message, content: 'Look elsewhere.' } : message,
    );
    const { memory } = await ask(edited, more);
    expect(lostIn(sent().at(-1) ?? {})).toBeGreaterThan(0);
    expect(itemsOf(sent().at(-1) ?? {}).some(({ type }) => type === 'reasoning')).toBe(false);
    expect(memory.upstream_api).toEqual({ api: 'responses', because: 'model', plain_answers: 4 });

    const argued = array.map((message, at) =>
      at === 4 ? JSON.parse(JSON.stringify(message).replace(/\\"at\\":\d/, '\\"at\\":99')) : message,
    );
    const kept = (await ask(argued, more)).memory.upstream_api?.kept_answers;
    expect(kept).toBe(1);

    const fork = [...array.slice(0, 4), user('How far are you?')];
    const [one, two] = await Promise.all([ask(fork, more), ask(fork, more)]);
    expect(one.message.content).not.toBe(two.message.content);
    const next = user('How far are you now?');
    deployment.upstream.requests.length = 0;
    await ask([...fork, back(one.message), next], more);
    await ask([...fork, back(two.message), next], more);
    expect(lost()).toBe(0);
  });

  it('asks again over Responses once chat has refused, and remembers it', async () => {
    const words =
      "Function tools with reasoning_effort are not supported for gpt-9 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    deployment.upstream.next((_, response) => refuse(response, 400, words));
    const more = { model: 'gpt-9', memory_strategy: 'auto' };
    const messages = [user('How far are you?')];
    const { memory } = await ask(messages, more);
    expect(memory.upstream_api).toEqual({ api: 'responses', because: 'learned' });
    await ask(messages, more);
    const paths = deployment.upstream.requests.map(({ path }) => path.replace('/v1', ''));
    expect(paths).toEqual(['/chat/completions', '/responses', '/responses']);
  });

  it('gives back the answer of chat where the route is unknown, and remembers it', async () => {
    deployment.upstream.next((_, response) => refuse(response, 404, 'Unknown request URL.'));
    const more = { model: 'gpt-6-luna' };
    const messages = [user('How far are you?')];
    const { message, memory } = await ask(messages, more);
    expect(message.content).toBe('This is what the upstream has to say.');
    expect(memory.upstream_api).toEqual({ api: 'chat', because: 'refused' });
    await ask(messages, more);
    const paths = deployment.upstream.requests.map(({ path }) => path.replace('/v1', ''));
    expect(paths).toEqual(['/responses', '/chat/completions', '/chat/completions']);
  });

  it('forgets reasoning that the upstream refuses', async () => {
    const more = { conversation_id: 'refused', memory_strategy: BRIDGED };
    const { array } = await loop(3, more);
    deployment.upstream.requests.length = 0;
    deployment.upstream.next((_, response) =>
      refuse(response, 400, 'The encrypted content could not be verified.', 'invalid_encrypted_content'),
    );
    const { message } = await ask(array, more);
    await ask([...array, back(message), ...results(message)], more);
    const counts = sent().map((body) => itemsOf(body).filter(({ type }) => type === 'reasoning').length);
    expect(counts).toEqual([3, 0, 1]);
  });

  it('leaves out ids that the upstream looks for, also where only a failed stream says so', async () => {
    const more = { stream: true, conversation_id: 'looked for', memory_strategy: BRIDGED };
    const asked = { ...more, model: 'gpt-6-of-a-gateway' };
    const { array } = await loop(2, asked);
    deployment.upstream.requests.length = 0;
    deployment.upstream.next((_, response) => {
      const error = { code: null, message: "Item with id 'rs_1' not found." };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ type: 'response.failed', response: { error } })}\n\n`);
    });
    await ask(array, asked);
    const thoughts = sent().map((body) => itemsOf(body).filter(({ type }) => type === 'reasoning'));
    expect(thoughts.map((some) => some.map((item) => 'id' in item))).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it('leaves on chat what cannot be bridged, and what nobody asks to bridge', async () => {
    const messages = [user('How far are you?')];
    const { memory } = await ask(messages, { n: 2 });
    expect(memory.upstream_api).toEqual({ api: 'chat', because: 'obstacle', param: 'n' });
    expect((await ask(messages, { memory_strategy: { mode: 'none' } })).memory.upstream_api).toBeUndefined();
    expect((await ask(messages, { tools: undefined })).memory.upstream_api).toBeUndefined();
    expect(sent()).toEqual([]);
    const asked = { mode: 'none', upstream_api: 'responses' };
    expect((await ask(messages, { memory_strategy: asked, tools: undefined })).memory.upstream_api).toEqual({
      api: 'responses',
      because: 'setting',
    });
    expect(sent()).toHaveLength(1);
  });

  it('fails in the words of chat', async () => {
    const messages = [user('Look.')];
    await expect(ask(messages, { stop: ['x'] })).rejects.toMatchObject({ status: 400, param: 'stop' });
    deployment.upstream.next((_, response) => refuse(response, 429, 'Slow down.', 'rate_limit_exceeded'));
    await expect(ask(messages)).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    const torn: Behaviour = (_, response, { body }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = [...eventsOf(body, { content: 'Half an answer.' })];
      for (const event of events.slice(0, -2)) response.write(event);
      response.end();
    };
    deployment.upstream.next(torn);
    const response = await deployment.chat({
      ...{ model: MODEL, tools: TOOLS, memory_strategy: 'auto' },
      ...{ messages, stream: true },
    });
    const text = await response.text();
    expect(text).toContain('"error":');
    expect(text).not.toContain('[DONE]');
  });
});
