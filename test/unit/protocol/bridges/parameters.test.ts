/** No parameter of chat completions is lost without a word, of those that OpenAI's client knows. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { BridgedBody, BridgeRefusal, ChatBody } from '../../../../src/protocol/bridges/bridge.ts';
import { BRIDGES } from '../../../../src/protocol/bridges/bridges.ts';
import { type Json, sha256 } from './responses/bridged.ts';

const TYPES = readFileSync('node_modules/openai/resources/chat/completions/completions.d.ts', 'utf8');

/** The members of an interface of the client. */
function membersOf(name: string): string[] {
  const [, body = ''] = new RegExp(`^export interface ${name} \\{\\n(.*?)^\\}`, 'ms').exec(TYPES) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, member = '']) => member);
}

const PARAMETERS = membersOf('ChatCompletionCreateParamsBase');

const look = { type: 'function', function: { name: 'look' } };
const image = (more: Json): Json => ({
  type: 'image_url',
  image_url: { url: 'https://a.test/b.png', ...more },
});

/** A value of each parameter that says something. */
const SAYING: Json = {
  messages: [{ role: 'user', content: 'Something else.' }],
  model: 'claude-opus-4-6',
  audio: { voice: 'sage', format: 'wav' },
  frequency_penalty: 0.5,
  function_call: 'auto',
  functions: [{ name: 'f' }],
  logit_bias: { 50: 1 },
  logprobs: true,
  max_completion_tokens: 99,
  max_tokens: 98,
  metadata: { run: '7' },
  modalities: ['text', 'audio'],
  moderation: { model: 'omni-moderation-latest' },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'A' },
  presence_penalty: 0.5,
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: { type: 'json_object' },
  safety_identifier: 's',
  seed: 1,
  service_tier: 'flex',
  stop: ['END'],
  store: true,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  tool_choice: 'required',
  tools: [look, { type: 'function', function: { name: 'write' } }],
  top_logprobs: 2,
  top_p: 0.5,
  user: 'u',
  verbosity: 'low',
  web_search_options: {},
};

/** Values that say nothing. */
const SILENT: Json[] = [
  { temperature: 1, top_p: 1, n: 1, modalities: ['text'], logprobs: false, top_logprobs: 0 },
  { frequency_penalty: 0, presence_penalty: 0, logit_bias: {}, stop: [], verbosity: null, seed: null },
  Object.fromEntries(
    PARAMETERS.filter((name) => !['model', 'messages', 'tools'].includes(name)).map((name) => [name, null]),
  ),
];

/** What an API does without: its cache needs no key, and its reader knows of usage. */
const NEEDLESS: Readonly<Record<string, readonly string[]>> = {
  messages: ['prompt_cache_key', 'stream_options'],
  responses: ['stream_options'],
};

const BASE = { model: 'claude-opus-4-5', messages: [{ role: 'user', content: 'Look.' }], tools: [look] };

describe.each(Object.values(BRIDGES))('over $api', (bridge) => {
  const written = (chat: Json): BridgedBody | BridgeRefusal =>
    bridge.body({ ...BASE, ...chat } as unknown as ChatBody, () => undefined, {
      showsReasoning: false,
      sha256,
    });

  function fateOf(chat: Json): {
    obstacle?: string;
    param?: string;
    notices?: readonly string[];
    json?: string;
  } {
    const obstacle = bridge.obstacle({ ...BASE, ...chat } as unknown as ChatBody);
    if (obstacle !== undefined) return { obstacle };
    const body = written(chat);
    if ('message' in body) return { param: body.param };
    return { notices: body.notices, json: new TextDecoder().decode(body.body) };
  }
  const plain = fateOf({});

  it('the list has each parameter', () => {
    expect(PARAMETERS.length).toBeGreaterThan(30);
    expect(Object.keys(SAYING).sort()).toEqual([...PARAMETERS].sort());
  });

  it.each(PARAMETERS)('%s is sent, refused, noted, or keeps the request on chat', (name) => {
    const { obstacle, param, notices = [], json } = fateOf({ [name]: SAYING[name] });
    const isLost =
      obstacle === undefined && param === undefined && notices.length === 0 && json === plain.json;

    expect(isLost).toBe(NEEDLESS[bridge.api]?.includes(name) === true);
    for (const said of [obstacle, param]) expect([undefined, name]).toContain(said);
  });

  it.each(SILENT)('nothing is written for what says nothing, %#', (chat) => {
    expect(fateOf(chat)).toEqual(plain);
  });

  it('a parameter that nobody knows is sent, or refused by its name', () => {
    const { param, json } = fateOf({ some_day: 1 });
    expect(param ?? json).toMatch(/some_day/);
  });

  const cited = (said: Json): Json => ({ ...said, annotations: [{ type: 'url_citation' }] });
  const message = (more: Json): Json => ({ messages: [{ role: 'user', content: 'Look.', ...more }] });

  it.each<[what: string, chat: Json]>([
    ['a name', message({ name: 'ada' })],
    [
      'a name of an answer',
      { messages: [...BASE.messages, { role: 'assistant', content: 'A', name: 'ada' }] },
    ],
    ['an unknown member of a message', message({ weight: 0 })],
    ['citations of an answer', { messages: [...BASE.messages, cited({ role: 'assistant', content: 'A' })] }],
    [
      'citations of a text of an answer',
      { messages: [...BASE.messages, { role: 'assistant', content: [cited({ type: 'text', text: 'A' })] }] },
    ],
    ['the detail of an image', message({ content: [image({ detail: 'low' })] })],
    [
      'a mark of a cache',
      message({ content: [{ type: 'text', text: 'A', cache_control: { type: 'ephemeral' } }] }),
    ],
    [
      'a mark of OpenAI’s cache',
      message({ content: [{ type: 'text', text: 'A', prompt_cache_breakpoint: { mode: 'explicit' } }] }),
    ],
    ['an unknown member of a part', message({ content: [{ type: 'text', text: 'A', some_day: 1 }] })],
    [
      'an unknown member of a tool',
      { tools: [{ type: 'function', function: { name: 'look', some_day: 1 } }] },
    ],
    ['a choice that nobody knows', { tool_choice: 'some_day' }],
    ['a format that nobody knows', { response_format: { type: 'some_day' } }],
    [
      'the description of a format',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', description: 'some_day', schema: {} },
        },
      },
    ],
  ])('%s is sent or noted', (_, chat) => {
    const { notices = [], json = '' } = fateOf(chat);
    expect(notices.length > 0 || /some_day|"detail"|cache_control|breakpoint/.test(json)).toBe(true);
  });

  it('nothing is noted of what an answer has, and its client sends back', () => {
    const answer = {
      role: 'assistant',
      content: 'A',
      refusal: null,
      annotations: [],
      audio: null,
      function_call: null,
    };
    const echoed = { ...answer, reasoning_content: 'Hm.', reasoning_details: [], name: undefined };
    expect(fateOf({ messages: [...BASE.messages, echoed, { role: 'user', content: 'B' }] }).notices).toEqual(
      [],
    );
    expect(fateOf(message({ content: [image({ detail: 'auto' })] })).notices).toEqual([]);
  });
});
