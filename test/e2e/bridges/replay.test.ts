/**
 * Answers of every shape, sent back by a client that knows nothing of reasoning. The upstreams take
 * no reasoning that they have not issued or that is on another prefix, and no item without the
 * reasoning that led to it.
 */
import type { ServerResponse } from 'node:http';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { sendJson } from '../../../tools/upstream/behaviours.ts';
import { blocksIn } from '../../../tools/upstream/bound-thinking.ts';
import type { MessageAnswer } from '../../../tools/upstream/message.ts';
import { type Mapped, mapped } from '../../support/clients/mapped-answers.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const deployment = deployMessages({ refuses: true });

/** Each number of answers up to this one is sent back. */
const TURNS = 8;
const TOOLS: Json[] = [
  { type: 'function', function: { name: 'read', parameters: { type: 'object', properties: {} } } },
];
const CUSTOM: Json = { type: 'custom', custom: { name: 'sql' } };

const reasoning = (name: string): Json => ({
  ...{ type: 'reasoning', id: `rs_${name}`, summary: [], encrypted_content: `thought ${name}` },
});
const message = (
  name: string,
  phase: string,
  part: Json = { type: 'output_text', text: `Words ${name}.` },
) => ({
  ...{ type: 'message', id: `msg_${name}`, role: 'assistant', status: 'completed', phase, content: [part] },
});
const call = (name: string, called = 'read', args = '{}'): Json => ({
  ...{ type: 'function_call', id: `fc_${name}`, call_id: `call_${name}`, status: 'completed' },
  ...{ name: called, arguments: args },
});
const custom = (name: string): Json => ({
  ...{ type: 'custom_tool_call', id: `ctc_${name}`, call_id: `call_${name}`, status: 'completed' },
  ...{ name: 'sql', input: 'select 1' },
});
const search = (name: string): Json => ({
  ...{
    type: 'web_search_call',
    id: `ws_${name}`,
    status: 'completed',
    action: { type: 'search', query: 'q' },
  },
});
const PACK = JSON.stringify({
  tool_uses: ['read', 'read'].map((name) => ({ recipient_name: `functions.${name}`, parameters: {} })),
});

/** The items of an answer, by its turn. */
const OF_RESPONSES: Readonly<Record<string, (turn: number) => Json[]>> = {
  'a call': (n) => [reasoning(`${n}`), call(`${n}`)],
  'a preamble and a call': (n) => [reasoning(`${n}`), message(`${n}`, 'commentary'), call(`${n}`)],
  'calls at once': (n) => [reasoning(`${n}`), call(`${n}a`), custom(`${n}b`), call(`${n}c`)],
  'reasoning between calls': (n) => [
    ...[reasoning(`${n}a`), call(`${n}a`)],
    ...[reasoning(`${n}b`), message(`${n}`, 'commentary'), custom(`${n}b`)],
  ],
  'a hosted call': (n) => [reasoning(`${n}a`), search(`${n}`), reasoning(`${n}b`), call(`${n}`)],
  'calls in one': (n) => [reasoning(`${n}`), call(`${n}`, 'parallel', PACK)],
  'texts alone': (n) => [
    ...[reasoning(`${n}a`), message(`${n}a`, 'commentary')],
    ...[reasoning(`${n}b`), message(`${n}b`, 'final_answer')],
  ],
  'a refusal': (n) => [
    reasoning(`${n}`),
    message(`${n}`, 'final_answer', { type: 'refusal', refusal: `No, ${n}.` }),
  ],
};

const use = (name: string, args = '{}') => ({ id: `toolu_${name}`, name: 'read', arguments: args });
const cited = (text: string): Json => ({
  ...{ type: 'text', text, citations: [{ type: 'char_location', cited_text: 'a', document_index: 0 }] },
});

/** What an answer says after its thought, by its turn. */
const OF_MESSAGES: Readonly<Record<string, (turn: number) => MessageAnswer>> = {
  'a call': (n) => ({ toolCalls: [use(`${n}`)] }),
  'words and a call': (n) => ({ content: `I look, ${n}.`, toolCalls: [use(`${n}`, '{"at": 1.0}')] }),
  'calls at once': (n) => ({ toolCalls: [use(`${n}a`), use(`${n}b`), use(`${n}c`)] }),
  'words and calls': (n) => ({ content: 'I look.', toolCalls: [use(`${n}a`), use(`${n}b`)] }),
  'words alone': (n) => ({ content: `It is ${n}.` }),
  'the same words each time': () => ({ content: 'It is.' }),
  'cited words': (n) => ({ blocks: [{ type: 'text', text: `It is ${n}` }, cited(', as a says')] }),
};

/** A model that gives its answers one after the other. */
interface Model {
  readonly name: string;
  readonly tools: readonly Json[];
  /** What its upstream has read last, from the beginning to the end. */
  read(): readonly Json[];
  /** How many pieces of reasoning are in that, and how many it has issued before. */
  reasoning(): readonly [sent: number, issued: number];
}

function ofResponses(itemsOf: (turn: number) => Json[]): Model {
  const issued = new Set<string>();
  const reasoned = new Map<string, string>();
  let turn = 0;
  let before = 0;
  const answer = (body: Json, response: ServerResponse): void => {
    before = issued.size;
    const output = itemsOf(turn++);
    let thought = '';
    for (const { type, id, call_id, encrypted_content } of output) {
      if (type === 'reasoning') {
        thought = String(id);
        issued.add(String(encrypted_content));
      } else for (const name of [id, call_id]) if (name) reasoned.set(String(name), thought);
    }
    const whole = {
      id: `resp_${turn}`,
      created_at: 1_790_000_000,
      model: body.model,
      status: 'completed',
      output,
    };
    if (body.stream) sendEvents(response, whole);
    else sendJson(response, whole);
  };
  deployment.openai.become({
    strict: { issued, reasoned, strictByDefault: true, jsonArguments: true },
    responses: (_, response, { body }) => answer(body, response),
  });
  const read = () =>
    (deployment.openai.requests.findLast(({ path }) => path.endsWith('/responses'))?.body.input ??
      []) as Json[];
  const sent = () => read().filter(({ type }) => type === 'reasoning').length;
  return { name: 'gpt-6-astra', tools: [...TOOLS, CUSTOM], read, reasoning: () => [sent(), before] };
}

function sendEvents(response: ServerResponse, whole: Json & { readonly output: readonly Json[] }): void {
  const events: Json[] = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    ...whole.output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: 'response.completed', response: whole },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

function ofMessages(saidBy: (turn: number) => MessageAnswer): Model {
  let turn = 0;
  deployment.upstream.become({
    thinks: true,
    messages: { type: 'model', answer: () => ({ id: `${turn}`, ...saidBy(turn++) }) },
  });
  const body = () => deployment.upstream.messages().at(-1)?.body ?? {};
  const read = () => (body().messages ?? []) as Json[];
  return {
    name: 'claude-sonnet-5-5',
    tools: TOOLS,
    read,
    reasoning: () => [blocksIn(body()).length, turn - 1],
  };
}

const MATRIX = [
  ...Object.entries(OF_RESPONSES).map(([shape, of]) => ({
    api: 'responses',
    shape,
    model: () => ofResponses(of),
  })),
  ...Object.entries(OF_MESSAGES).map(([shape, of]) => ({
    api: 'messages',
    shape,
    model: () => ofMessages(of),
  })),
].flatMap((one, at) => ofTurn(at, [false, true]).map((stream) => ({ ...one, stream })));

describe.each(MATRIX)('$shape over $api (stream: $stream)', ({ api, shape, model, stream }) => {
  const apiKey = 'sk-ant-the-key-of-a-client-that-replays';

  /** By the official client. */
  async function ask({ name, tools }: Model, messages: readonly Json[]): Promise<Mapped> {
    const client = new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey, maxRetries: 0 });
    const params = {
      ...{ model: name, tools, messages, stream, conversation_id: `${shape} ${api} ${stream}` },
      memory_strategy: { mode: 'none', upstream_api: api, cache_marks: 'off' },
    };
    return mapped(await client.chat.completions.create(params as never).asResponse());
  }

  it(`is sent back with its reasoning after each of ${TURNS} turns, and as it was`, async () => {
    const asked = model();
    const messages: Json[] = [
      { role: 'developer', content: 'Be.' },
      { role: 'user', content: 'Go.' },
    ];
    let before: readonly Json[] = [];
    for (let turn = 0; turn <= TURNS; turn++) {
      const { status, choice, isWhole } = await ask(asked, messages);
      expect({ status, isWhole }).toEqual({ status: 200, isWhole: true });
      const read = asked.read();
      expect(read.slice(0, before.length)).toEqual(before);
      before = read;
      const [sent, issued] = asked.reasoning();
      expect(sent).toBe(issued);
      const { content, refusal, tool_calls = [] } = choice.message as { tool_calls?: Json[] } & Json;
      const calls = tool_calls.length > 0 ? { tool_calls } : {};
      messages.push({ role: 'assistant', content, ...(refusal ? { refusal } : {}), ...calls });
      for (const { id } of tool_calls) messages.push({ role: 'tool', tool_call_id: id, content: 'out' });
      if (tool_calls.length === 0) messages.push({ role: 'user', content: 'More.' });
    }
    expect(asked.reasoning()[1]).toBeGreaterThanOrEqual(TURNS);

    // The same conversation in another order of its beginning, of which nothing is kept.
    const other = messages.map((one, at) => (at === 1 ? { role: 'user', content: 'Go on.' } : one));
    // An upstream that misses its reasoning refuses a call.
    await ask(asked, other).catch(() => undefined);
    expect(asked.reasoning()[0]).toBe(0);
  });
});
