/**
 * What real clients make of answers in which the model could fetch: over Messages where the request
 * keeps it from fetching, and in every protocol where the answer must be JSON, or where the
 * provider fails within a call of Precis.
 */
import type { ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Report } from '../../../src/memory/plan/report.ts';
import { behave, sendJson } from '../../../tools/upstream/behaviours.ts';
import {
  type Answer,
  chunks,
  completion,
  type ToolCall,
  usageOf,
} from '../../../tools/upstream/completion.ts';
import { messageEvents } from '../../../tools/upstream/message.ts';
import { eventsOf } from '../../../tools/upstream/response.ts';
import { markersIn, refsIn } from '../../support/clients/agent-caller.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';
import { until } from '../../support/deployment/polling.ts';

const deployment = deployMessages();
beforeEach(() => deployment.openai.become({}));

type Json = Record<string, unknown>;

const openai = () =>
  new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey: 'sk-the-key-of-a-client', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: deployment.url, apiKey: MESSAGES_KEY, maxRetries: 0 });

const MODEL = 'gpt-4.1';
const STRATEGY = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, compact_retrieval: 'tool' };
const QUESTION = 'What do apples weigh?';
const LATER = 'And the seventh?';
const ARGUMENTS = '{"of":"apples"}';
const SCHEMA = {
  type: 'object',
  properties: { of: { type: 'string' } },
  required: ['of'],
  additionalProperties: false,
};

/** A conversation whose output has left the view, in the three protocols. */
const CHAT = {
  model: MODEL,
  messages: [
    { role: 'user', content: QUESTION },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'search', arguments: ARGUMENTS } }],
    },
    { role: 'tool', tool_call_id: 'call_a', content: rows('apples', 100) },
    { role: 'assistant', content: 'A lot.' },
    { role: 'user', content: LATER },
  ],
  tools: [{ type: 'function', function: { name: 'search', strict: true, parameters: SCHEMA } }],
  memory_strategy: STRATEGY,
} as const;
const RESPONSES = {
  model: MODEL,
  input: [
    { role: 'user', content: QUESTION },
    { type: 'function_call', call_id: 'call_a', name: 'search', arguments: ARGUMENTS },
    { type: 'function_call_output', call_id: 'call_a', output: rows('apples', 100) },
    { role: 'assistant', content: 'A lot.' },
    { role: 'user', content: LATER },
  ],
  tools: [{ type: 'function', name: 'search', parameters: SCHEMA, strict: true }],
  memory_strategy: STRATEGY,
} as const;
const weighing = (output: string): Anthropic.MessageParam[] => [
  { role: 'user', content: QUESTION },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'toolu_a', name: 'search', input: { of: 'apples' } }],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_a', content: output }] },
];
const MESSAGES = {
  model: MESSAGES_MODEL,
  max_tokens: 1_000,
  messages: [
    ...weighing(rows('apples', 100)),
    { role: 'assistant' as const, content: 'A lot.' },
    { role: 'user' as const, content: LATER },
  ],
  tools: [{ name: 'search', input_schema: SCHEMA as Anthropic.Tool.InputSchema }],
  memory_strategy: STRATEGY,
};

let calls = 0;
/** A call of Precis's tool, for what the view has named by a ref. */
const fetching = (body: unknown): ToolCall => ({
  id: `toolu_ours_${++calls}`,
  name: 'retrieve_ref',
  arguments: JSON.stringify({ ref: refsIn(body)[0], lines: `${calls}` }),
});

/** An answer to a body, of either upstream. */
type Says = (body: Json) => Answer;

/** Both upstreams answer so. */
const answers = (says: Says): void => {
  deployment.upstream.become({ messages: { type: 'model', answer: says } });
  deployment.openai.become({
    chat: (request, response, recorded) =>
      void behave({ type: 'answer', ...says(recorded.body) }, request, response, recorded),
  });
};

const OURS = 'toolu_ours';
const asked = (): Json[] =>
  [...deployment.upstream.messages(), ...deployment.openai.requests].flatMap(({ body = [] }) => body);

describe('JSON after words that the model said before it fetched', () => {
  const INTERIM = '{"grams":0}';
  const ANSWER = '{"grams":433}';
  const FOUND = { grams: 433 };
  const grams = z.object({ grams: z.number() });
  const format = jsonSchemaOutputFormat({
    type: 'object',
    properties: { grams: { type: 'number' } },
    required: ['grams'],
    additionalProperties: false,
  });
  const chat = { ...CHAT, response_format: zodResponseFormat(grams, 'found') };
  const responses = { ...RESPONSES, text: { format: zodTextFormat(grams, 'found') } };
  const messages = { ...MESSAGES, output_config: { format } };

  beforeEach(() =>
    answers((body) =>
      JSON.stringify(body).includes(OURS)
        ? { content: ANSWER }
        : { content: INTERIM, toolCalls: [fetching(body)] },
    ),
  );

  interface Parsed {
    readonly parsed: unknown;
    readonly text: unknown;
    /** The pieces of text in a stream's events. */
    readonly streamed?: string;
  }
  const CLIENTS: Readonly<Record<string, () => Promise<Parsed>>> = {
    'chat.completions.parse': async () => {
      const { choices } = await openai().chat.completions.parse(chat as never);
      return { parsed: choices[0]?.message.parsed, text: choices[0]?.message.content };
    },
    'chat.completions.stream': async () => {
      let streamed = '';
      const stream = openai().chat.completions.stream({ ...chat, stream: true } as never);
      stream.on('content', (delta) => {
        streamed += delta;
      });
      const { choices } = await stream.finalChatCompletion();
      return { parsed: choices[0]?.message.parsed, text: choices[0]?.message.content, streamed };
    },
    'responses.parse': async () => {
      const response = await openai().responses.parse(responses as never);
      return { parsed: response.output_parsed, text: response.output_text };
    },
    'responses.stream': async () => {
      let streamed = '';
      const stream = openai().responses.stream(responses as never);
      stream.on('response.output_text.delta', ({ delta }) => {
        streamed += delta;
      });
      const response = await stream.finalResponse();
      return { parsed: response.output_parsed, text: response.output_text, streamed };
    },
    'messages.parse': async () => {
      const message = await anthropic().messages.parse(messages);
      return { parsed: message.parsed_output, text: textOf(message) };
    },
    'messages.stream': async () => {
      let streamed = '';
      const stream = anthropic().messages.stream(messages);
      stream.on('text', (delta) => {
        streamed += delta;
      });
      const message = await stream.finalMessage();
      return { parsed: message.parsed_output, text: textOf(message), streamed };
    },
  };

  it.each(Object.entries(CLIENTS))('is all that %s reads', async (_, ask) => {
    const { parsed, text, streamed = ANSWER } = await ask();
    expect([parsed, text, streamed]).toEqual([FOUND, ANSWER, ANSWER]);
    const [first, second] = asked();
    expect(refsIn(first)).toHaveLength(1);
    // The model reads again what it has said.
    expect(JSON.stringify(second)).toContain(JSON.stringify(INTERIM).slice(1, -1));
    expect(JSON.stringify(second)).toContain(' of apples: weight');
  });
});

describe('the choice of a tool over Messages', () => {
  const auto = { mode: 'auto' };
  /** An output that the model has not seen. */
  const seeing = (what: string): Anthropic.MessageParam[] => weighing(rows(what, 2_500));
  const REST: Anthropic.MessageParam[] = [
    { role: 'assistant', content: 'A lot.' },
    { role: 'user', content: 'And why?' },
  ];
  const memoryOf = (message: object): Report => (message as { memory: Report }).memory;
  const ask = async (
    streams: boolean,
    messages: Anthropic.MessageParam[],
    tool_choice: Anthropic.ToolChoice,
  ): Promise<{ message: Anthropic.Message; memory: Report }> => {
    const params = { ...MESSAGES, messages, tool_choice, memory_strategy: auto, memory_report: true };
    if (!streams) {
      const message = await anthropic().messages.create(params);
      return { message, memory: memoryOf(message) };
    }
    let memory: Report | undefined;
    const stream = anthropic().messages.stream(params);
    stream.on('streamEvent', (event) => {
      memory ??= memoryOf(event);
    });
    const message = await stream.finalMessage();
    if (!memory) throw new Error('the stream has no report');
    return { message, memory };
  };
  const sent = (): unknown[][] => deployment.upstream.messages().map(({ body }) => body.messages);

  const FORBIDS: readonly Anthropic.ToolChoice[] = [{ type: 'none' }, { type: 'tool', name: 'search' }];
  it.each(FORBIDS.flatMap((choice) => [false, true].map((streams) => ({ choice, streams }))))(
    '$choice leaves whole what the model can’t fetch, then and in later views (stream: $streams)',
    async ({ choice, streams }) => {
      const fresh = seeing(`what ${choice.type} keeps (${streams})`);
      const { memory } = await ask(streams, fresh, choice);
      const later = await ask(streams, [...fresh, ...REST], { type: 'auto' });

      expect(memory.warnings).toContain('retrieval_off');
      expect(later.memory.warnings).not.toContain('retrieval_off');
      const [one = [], two = []] = sent();
      expect(markersIn(one)).toEqual([]);
      expect(unmarked(two.slice(0, one.length))).toEqual(unmarked(one));
    },
  );

  it.each(ofTurn(0, [false, true]))(
    'that leaves fetching allowed cuts it as ever (stream: %s)',
    async (streams) => {
      const { memory } = await ask(streams, seeing(`what may be cut (${streams})`), { type: 'auto' });
      expect(memory.warnings).not.toContain('retrieval_off');
      expect(markersIn(sent()[0])).toHaveLength(1);
    },
  );

  it.each(ofTurn(1, [false, true]))(
    'any ends in a call of the caller’s tool (stream: %s)',
    async (streams) => {
      const search = { id: 'toolu_b', name: 'search', arguments: '{"of":"figs"}' };
      answers((body) => {
        const names = (body.tools as { name: string }[]).map(({ name }) => name);
        return { toolCalls: [names.includes('retrieve_ref') ? fetching(body) : search] };
      });
      const { message } = await ask(streams, seeing(`what is asked for (${streams})`), { type: 'any' });
      expect(message.stop_reason).toBe('tool_use');
      expect(message.content).toMatchObject([{ type: 'tool_use', name: 'search', input: { of: 'figs' } }]);
      expect(deployment.upstream.messages().at(-1)?.body.tools).toHaveLength(MESSAGES.tools.length);
    },
  );
});

describe('a provider’s failure within a call of Precis', () => {
  const ERROR = { code: 502, message: 'Provider disconnected' };
  const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };
  const stream = (response: ServerResponse, frames: readonly string[]): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(frames.join(''));
  };
  const frame = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
  /** How the request ended, as its conversation lists it. */
  const listed = async (conversation: string, headers: Record<string, string>): Promise<Json> => {
    let found: Json | undefined;
    await until('the request is listed', async () => {
      const response = await deployment.fetch(`/v1/conversations/${conversation}/requests`, { headers });
      const { data = [] } = (await response.json()) as { data?: Json[] };
      [found] = data;
      return found !== undefined;
    });
    return found ?? {};
  };
  const bearer = { authorization: 'Bearer sk-the-key-of-a-client' };

  const base = { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: MODEL };
  const CHUNKS: Readonly<Record<string, object>> = {
    'beside no choices': { ...base, choices: [], error: ERROR },
    alone: { error: ERROR },
    'with its finish reason': {
      ...base,
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      error: ERROR,
    },
  };
  it.each(Object.entries(CHUNKS))('is raised by a chat client: %s', async (shape, error) => {
    const conversation_id = `failed chat ${shape.length}`;
    deployment.openai.become({
      chat: (_, response, { body }) => {
        const turn = { content: 'Let me look.', toolCalls: [fetching(body)] };
        const begun = [...chunks(turn, { id: 'gen-1', model: MODEL, usage: usageOf(10, 2) }, true)];
        stream(response, [...begun.slice(0, -3), frame(error), ...begun.slice(-2), 'data: [DONE]\n\n']);
      },
    });
    const client = openai().chat.completions.stream({ ...CHAT, conversation_id, stream: true } as never);
    let text = '';
    client.on('content', (delta) => {
      text += delta;
    });
    await expect(client.finalChatCompletion()).rejects.toMatchObject({
      message: expect.stringContaining(ERROR.message),
    });
    expect(text).toBe('Let me look.');
    expect(deployment.openai.requests).toHaveLength(1);
    expect(await listed(conversation_id, bearer)).toMatchObject({ ended: 'error' });
  });

  it('is in a whole answer of a chat client, and no round follows', async () => {
    const conversation_id = 'failed whole chat';
    deployment.openai.become({
      chat: (_, response, { body }) => {
        const whole = completion(
          { toolCalls: [fetching(body)] },
          { id: 'gen-1', model: MODEL, usage: usageOf(10, 2) },
        );
        sendJson(response, { ...whole, error: ERROR });
      },
    });
    const answer = await openai().chat.completions.create({ ...CHAT, conversation_id } as never);
    expect(answer).toMatchObject({ error: ERROR });
    expect(deployment.openai.requests).toHaveLength(1);
    expect(await listed(conversation_id, bearer)).toMatchObject({ ended: 'error' });
  });

  it.each(['error', 'response.failed'])('is what a Responses client reads: %s', async (type) => {
    const conversation_id = `failed response ${type}`;
    const failed = { id: 'resp_1', object: 'response', status: 'failed', output: [] };
    deployment.openai.become({
      responses: (_, response, { body }) => {
        const events = [...eventsOf(body, { toolCalls: [fetching(body)] })];
        const error = { code: 'server_error', message: ERROR.message };
        const end =
          type === 'error' ? { type, ...error, param: null } : { type, response: { ...failed, error } };
        stream(response, [
          ...events.slice(0, -2),
          `event: ${type}\n${frame({ ...end, sequence_number: 9 })}`,
        ]);
      },
    });
    const events: Json[] = [];
    const read = await openai().responses.create({ ...RESPONSES, conversation_id, stream: true } as never);
    for await (const event of read as unknown as AsyncIterable<Json>) events.push(event);
    expect(events.at(-1)?.type).toBe(type);
    expect(JSON.stringify(events.at(-1))).toContain(ERROR.message);
    expect(events.filter((event) => /completed|retrieve_ref/.test(JSON.stringify(event)))).toEqual([]);
    expect(deployment.openai.requests).toHaveLength(1);
    expect(await listed(conversation_id, bearer)).toMatchObject({ ended: 'error' });
  });

  it('is raised by a Messages client, after the words before the call', async () => {
    const conversation_id = 'failed message';
    deployment.upstream.next(({ body }, response) => {
      const turn = { content: 'Let me look.', toolCalls: [fetching(body)] };
      const events = [...messageEvents(body, turn)].slice(0, -3);
      stream(response, [...events, `event: error\n${frame({ type: 'error', error: OVERLOADED })}`]);
    });
    const client = anthropic().messages.stream({ ...MESSAGES, ...{ conversation_id } });
    let text = '';
    client.on('text', (delta) => {
      text += delta;
    });
    await expect(client.finalMessage()).rejects.toMatchObject({ error: { error: OVERLOADED } });
    expect(text).toBe('Let me look.');
    expect(deployment.upstream.messages()).toHaveLength(1);
    expect(await listed(conversation_id, {})).toMatchObject({ ended: 'error' });
  });
});

function textOf({ content }: Pick<Anthropic.Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** Messages without cache marks, which move with the conversation. */
function unmarked(messages: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(messages, (key, value) => (key === 'cache_control' ? undefined : value)));
}
