/** Over which API, with which key and headers a chat request is sent, whatever keys there are. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { messageOf } from '../../../tools/upstream/message.ts';
import { responseOf } from '../../../tools/upstream/response.ts';
import { assistant, result, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { question, SUMMARIZE, startApp } from '../support.ts';

beforeEach(quiet);
type Json = Record<string, unknown>;
type Answer = (url: string, body: Json) => Response | undefined;

const OPENAI = 'https://api.openai.com/v1';
const ANTHROPIC = 'https://api.anthropic.com/v1';
const GATEWAY = 'https://gateway.test/v1';

const SHARED = {
  ACCESS_KEYS: 'ann=an-access-key-of-the-caller-ann',
  openai: { UPSTREAM_API_KEY: 'sk-the-key-of-the-deployer-for-openai' },
  anthropic: { ANTHROPIC_API_KEY: 'sk-ant-the-key-of-the-deployer' },
} as const;
const ACCESS_KEY = 'an-access-key-of-the-caller-ann';
const OWN_OPENAI = 'sk-a-key-of-openai-of-a-caller';
const OWN_ANTHROPIC = 'sk-ant-a-key-of-a-caller';

const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
const ASKED = [user('Look.')];

let made = 0;

/** The Worker before upstreams that answer, unless a test says otherwise. */
function start(variables: Partial<Env>, key: string, otherwise: Answer = () => undefined) {
  const { request } = startApp(env.REFS, { UPSTREAM_BASE_URL: OPENAI, ...variables }, key);
  const sent: { readonly url: string; readonly headers: Headers; readonly body: Json }[] = [];
  vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
    const { url, headers, ...rest } = new Request(input, init);
    const text = await new Request(input, init).text();
    if (text === '') return Response.json({ data: [] });
    const body = JSON.parse(text) as Json;
    sent.push({ url, headers, body, ...rest });
    return otherwise(url, body) ?? Response.json(answerTo(url, body));
  });
  const ask = async (body: Json, headers: Record<string, string> = {}) => {
    const fields = { messages: ASKED, tools: TOOLS, memory_report: true, ...body };
    const response = await request('/v1/chat/completions', {
      method: 'POST',
      headers,
      body: JSON.stringify(fields),
    });
    return { status: response.status, json: (await response.json()) as Json };
  };
  const last = () => sent.at(-1);
  return { ask, sent, last };
}

function answerTo(url: string, body: Json): object {
  if (url.endsWith('/messages')) return messageOf(body, { content: 'Done.' });
  if (url.endsWith('/responses')) return responseOf(body, { content: 'Done.' });
  const message = assistant('Done.');
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  };
}

/** The key that a request was sent with. */
function keyOf(headers: Headers): string | null {
  return headers.get('x-api-key') ?? headers.get('authorization')?.replace('Bearer ', '') ?? null;
}

const CLAUDE = 'claude-opus-5-5';
const GPT = 'gpt-6-astra';
const { ACCESS_KEYS, openai, anthropic } = SHARED;
const SENT = { openai: openai.UPSTREAM_API_KEY, anthropic: anthropic.ANTHROPIC_API_KEY };
const gateway = { UPSTREAM_BASE_URL: GATEWAY };

/** The keys of a deployment and of a caller, what is asked, and where it is sent or why not. */
type Row = [
  keys: string,
  variables: Partial<Env>,
  key: string,
  asked: { readonly model: string; readonly upstream_api?: string; readonly n?: number },
  sent: readonly [url: string, key: string] | { readonly status: number; readonly error: Json },
];

const closed = (variable: string) => ({
  status: 404,
  error: { code: 'not_forwarded', message: expect.stringContaining(variable) },
});

const ROWS: Row[] = [
  ['OpenAI', { ACCESS_KEYS, ...openai }, ACCESS_KEY, { model: GPT }, [`${OPENAI}/responses`, SENT.openai]],
  [
    'OpenAI',
    { ACCESS_KEYS, ...openai },
    ACCESS_KEY,
    { model: CLAUDE },
    [`${OPENAI}/chat/completions`, SENT.openai],
  ],
  [
    'OpenAI',
    { ACCESS_KEYS, ...openai },
    ACCESS_KEY,
    { model: CLAUDE, upstream_api: 'messages' },
    closed('ANTHROPIC_API_KEY'),
  ],
  [
    'Anthropic',
    { ACCESS_KEYS, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE },
    [`${ANTHROPIC}/messages`, SENT.anthropic],
  ],
  [
    'Anthropic',
    { ACCESS_KEYS, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE, upstream_api: 'messages' },
    [`${ANTHROPIC}/messages`, SENT.anthropic],
  ],
  [
    'Anthropic',
    { ACCESS_KEYS, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE, n: 2 },
    { status: 400, error: { param: 'n' } },
  ],
  ['Anthropic', { ACCESS_KEYS, ...anthropic }, ACCESS_KEY, { model: GPT }, closed('UPSTREAM_API_KEY')],
  [
    'Anthropic',
    { ACCESS_KEYS, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE, upstream_api: 'chat' },
    closed('UPSTREAM_API_KEY'),
  ],
  [
    'Anthropic',
    { ACCESS_KEYS, ...anthropic, ...gateway },
    ACCESS_KEY,
    { model: CLAUDE },
    [`${ANTHROPIC}/messages`, SENT.anthropic],
  ],
  [
    'both',
    { ACCESS_KEYS, ...openai, ...anthropic },
    ACCESS_KEY,
    { model: GPT },
    [`${OPENAI}/responses`, SENT.openai],
  ],
  [
    'both',
    { ACCESS_KEYS, ...openai, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE },
    [`${ANTHROPIC}/messages`, SENT.anthropic],
  ],
  [
    'both',
    { ACCESS_KEYS, ...openai, ...anthropic },
    ACCESS_KEY,
    { model: CLAUDE, n: 2 },
    { status: 400, error: { param: 'n' } },
  ],
  [
    'both',
    { ACCESS_KEYS, ...openai, ...anthropic, ...gateway },
    ACCESS_KEY,
    { model: CLAUDE },
    [`${GATEWAY}/chat/completions`, SENT.openai],
  ],
  ['none', {}, OWN_OPENAI, { model: GPT }, [`${OPENAI}/responses`, OWN_OPENAI]],
  [
    'none',
    {},
    OWN_OPENAI,
    { model: CLAUDE, upstream_api: 'messages' },
    [`${OPENAI}/chat/completions`, OWN_OPENAI],
  ],
  ['none', {}, OWN_ANTHROPIC, { model: CLAUDE }, [`${ANTHROPIC}/messages`, OWN_ANTHROPIC]],
  ['none', {}, OWN_ANTHROPIC, { model: CLAUDE, n: 2 }, { status: 400, error: { param: 'n' } }],
  ['none', gateway, OWN_ANTHROPIC, { model: CLAUDE }, [`${GATEWAY}/chat/completions`, OWN_ANTHROPIC]],
  [
    'none',
    gateway,
    OWN_OPENAI,
    { model: CLAUDE, upstream_api: 'messages' },
    [`${GATEWAY}/messages`, OWN_OPENAI],
  ],
];

describe('a chat request', () => {
  it.each(ROWS)(
    'is sent with the right key, or refused: keys of %s %#',
    async (_, variables, key, asked, where) => {
      const { upstream_api, ...fields } = asked;
      const { ask, sent } = start(variables, key);
      const strategy = upstream_api === undefined ? 'auto' : { mode: 'auto', upstream_api };
      const { status, json } = await ask({ ...fields, memory_strategy: strategy, user: `${made++}` });

      if (!('status' in where)) {
        expect({ status, json }).toMatchObject({
          status: 200,
          json: { choices: [{ message: { content: 'Done.' } }] },
        });
        expect(sent.map(({ url, headers }) => [url, keyOf(headers)])).toEqual([where]);
      } else {
        expect({ status, json }).toMatchObject({ status: where.status, json: { error: where.error } });
        expect(sent).toEqual([]);
      }
    },
  );
});

const REFUSED = (message: string, more: Json = {}) =>
  Response.json(
    { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } },
    { status: 400 },
  );
const paths = (sent: readonly { url: string }[]) =>
  sent.map(({ url }) => new URL(url).pathname.replace('/v1', ''));

describe('a refusal', () => {
  const needed = (model: string) =>
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;

  it.each<[what: string, refusal: () => Response, isLearned: boolean]>([
    ['the known sentence', () => REFUSED(needed('gpt-9'), { param: 'reasoning_effort' }), true],
    [
      'the sentence, from a gateway',
      () => REFUSED(`litellm.BadRequestError: OpenAIException - ${needed('gpt-9')}`),
      true,
    ],
    [
      'the sentence in a quote',
      () => REFUSED(`Invalid schema for function 'look': "${needed('gpt-9')}"`),
      false,
    ],
    ['the sentence after other words', () => REFUSED(`Blocked by a rule: ${needed('gpt-9')}`), false],
    [
      'the sentence elsewhere',
      () => REFUSED('No.', { param: needed('gpt-9'), metadata: { message: needed('gpt-9') } }),
      false,
    ],
    ['a path and a tool', () => REFUSED('The tool look may not fetch /v1/responses.'), false],
  ])('of tools over chat is learned from its own words alone: %s', async (_, refusal, isLearned) => {
    const { ask, sent } = start({}, OWN_OPENAI, (url) =>
      url.endsWith('/completions') ? refusal() : undefined,
    );
    const { status } = await ask({ model: `gpt-9-${made++}`, memory_strategy: 'auto' });

    expect(paths(sent)).toEqual(isLearned ? ['/chat/completions', '/responses'] : ['/chat/completions']);
    expect(status).toBe(isLearned ? 200 : 400);
  });

  const unknown = (status: number, error: Json) => () => Response.json({ error }, { status });

  it.each<[what: string, refusal: () => Response, isLearned: boolean]>([
    ['404', unknown(404, { message: 'Unknown request URL.', code: 'unknown_url', param: null }), true],
    ['405', () => new Response('Method Not Allowed', { status: 405 }), true],
    ['501', unknown(501, { message: 'Not implemented.' }), false],
    [
      '404 of a model',
      unknown(404, { message: 'The model does not exist.', code: 'model_not_found' }),
      false,
    ],
    ['404 of an item', unknown(404, { message: "Item with id 'rs_1' not found.", param: 'input' }), false],
  ])('of a route is learned: %s', async (_, refusal, isLearned) => {
    const { ask, sent } = start({}, OWN_OPENAI, (url) =>
      url.endsWith('/responses') ? refusal() : undefined,
    );
    const { status } = await ask({ model: `${GPT}-${made++}`, memory_strategy: 'auto' });

    expect(paths(sent).includes('/chat/completions')).toBe(isLearned);
    expect(status === 200).toBe(isLearned);
  });

  it.each<[variables: Partial<Env>, key: string]>([
    [{}, OWN_ANTHROPIC],
    [{ ACCESS_KEYS, ...openai, ...anthropic }, ACCESS_KEY],
  ])('of Messages sends no Claude to OpenAI, also not later %#', async (variables, key) => {
    const more = { ...variables, ANTHROPIC_BASE_URL: GATEWAY };
    const { ask, sent } = start(more, key, (url) =>
      url.startsWith(GATEWAY) ? Response.json({ detail: 'Not Found' }, { status: 404 }) : undefined,
    );
    const asked = { model: `${CLAUDE}-${made++}`, memory_strategy: 'auto' };
    const statuses = [(await ask(asked)).status, (await ask(asked)).status];

    expect(statuses).toEqual([404, 404]);
    expect(sent.map(({ url }) => url)).toEqual([`${GATEWAY}/messages`, `${GATEWAY}/messages`]);
  });

  it("of Messages to a caller of OpenAI takes no key of Anthropic's there", async () => {
    const { ask, sent } = start({ ANTHROPIC_BASE_URL: GATEWAY }, 'sk-short', (url) =>
      url.startsWith(GATEWAY) ? Response.json({ detail: 'Not Found' }, { status: 404 }) : undefined,
    );
    const asked = {
      model: `${CLAUDE}-${made++}`,
      memory_strategy: { mode: 'auto', upstream_api: 'messages' },
    };
    // Keys as short as these have no tenant of their own.
    await ask(asked);
    await ask(asked, { authorization: 'Bearer sk-ant-short' });

    expect(sent.map(({ url, headers }) => [url, keyOf(headers)])).toEqual([
      [`${GATEWAY}/messages`, 'sk-short'],
      [`${OPENAI}/chat/completions`, 'sk-short'],
      [`${GATEWAY}/messages`, 'sk-ant-short'],
    ]);
  });
});

describe('a chat request over Messages', () => {
  it("adds its betas to the caller's", async () => {
    const { ask, last } = start({}, OWN_ANTHROPIC);
    const content = [{ type: 'file', file: { file_id: 'file_1' } }];
    const beta = 'context-1m-2025-08-07';
    await ask(
      { model: CLAUDE, memory_strategy: 'auto', messages: [user(content)] },
      { 'anthropic-beta': beta },
    );

    expect(last()?.headers.get('anthropic-beta')?.split(/, */)).toEqual([beta, 'files-api-2025-04-14']);
  });

  it("takes no key of Anthropic's to OpenAI for its summaries", async () => {
    const { ask, sent } = start({}, OWN_ANTHROPIC);
    const messages = [1, 2, 3, 4, 5, 6].flatMap((n) => [user(question(n)), assistant(`Answer ${n}.`)]);
    const strategy = { ...SUMMARIZE, upstream_api: 'messages' };
    const asked = { model: CLAUDE, messages: [...messages, ...ASKED], conversation_id: 'summaries' };
    const { status } = await ask({ ...asked, memory_strategy: strategy });

    expect(status).toBe(200);
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent.map(({ url }) => url))).toEqual(new Set([`${ANTHROPIC}/messages`]));
  });

  it('has no thinking of an answer that another key was sent for', async () => {
    const thinking = { signature: 'signed', text: 'Hm.' };
    const toolCalls = [{ id: 'toolu_1', name: 'look', arguments: '{}' }];
    const thinks: Answer = (_, body) => Response.json(messageOf(body, { thinking, toolCalls }));
    const more = { model: CLAUDE, memory_strategy: 'auto', conversation_id: 'keys' };
    const both = { ACCESS_KEYS, ...openai, ...anthropic };
    const { json } = await start(both, ACCESS_KEY, thinks).ask(more);
    const [{ message }] = json.choices as [{ message: Json }];
    const messages = [...ASKED, message, result('toolu_1', 'Nothing.')];
    const thinkingSent = async (variables: Partial<Env>): Promise<boolean> => {
      const { ask, last } = start(variables, ACCESS_KEY);
      await ask({ ...more, messages });
      return JSON.stringify(last()?.body.messages).includes('"signed"');
    };

    expect(await thinkingSent(both)).toBe(true);
    expect(await thinkingSent({ ...both, ANTHROPIC_API_KEY: 'sk-ant-another-key-of-the-deployer' })).toBe(
      false,
    );
    expect(await thinkingSent({ ...both, UPSTREAM_API_KEY: 'sk-another-key-for-openai' })).toBe(true);
  });
});

describe('an upstream that says how long an answer may be', () => {
  const words = 'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for it';
  const strict: Answer = (_, { max_tokens }) =>
    Number(max_tokens) > 64_000
      ? Response.json(
          { type: 'error', error: { type: 'invalid_request_error', message: words } },
          { status: 400 },
        )
      : undefined;

  it('is asked once more within that, and further requests of the model begin there', async () => {
    const { ask, sent } = start({}, OWN_ANTHROPIC, strict);
    const asked = { model: CLAUDE, memory_strategy: 'auto' };
    expect((await ask(asked)).status).toBe(200);
    expect((await ask(asked)).status).toBe(200);
    expect(sent.map(({ body }) => body.max_tokens)).toEqual([128_000, 64_000, 64_000]);
  });

  it('is not asked again where the caller has set the limit', async () => {
    const { ask, sent } = start({}, OWN_ANTHROPIC, strict);
    const { status, json } = await ask({ model: CLAUDE, memory_strategy: 'auto', max_tokens: 70_000 });
    expect({ status, json }).toMatchObject({ status: 400, json: { error: { message: words } } });
    expect(sent).toHaveLength(1);
  });
});

describe('an upstream that does not enforce all schemas of tools', () => {
  const words = 'The compiled grammar is too large. Simplify your tool schemas, or use fewer strict tools.';
  const refuses: Answer = (_, body) =>
    JSON.stringify(body.tools).includes('"strict":true')
      ? Response.json(
          { type: 'error', error: { type: 'invalid_request_error', message: words } },
          { status: 400 },
        )
      : undefined;
  const [{ function: look }] = TOOLS as [(typeof TOOLS)[number]];
  const tools = [{ type: 'function', function: { ...look, strict: true } }];

  it('is asked once more without strict tools, and further requests of the model begin there', async () => {
    const { ask, sent } = start({}, OWN_ANTHROPIC, refuses);
    const answers = [];
    for (const _ of [1, 2]) answers.push(await ask({ model: CLAUDE, memory_strategy: 'auto', tools }));

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.at(-1)?.json).toMatchObject({ memory: { upstream_api: { notices: ['strict_dropped'] } } });
    expect(sent.map(({ body }) => (body.tools as Json[])[0]?.strict)).toEqual([true, undefined, undefined]);
  });

  it('is not asked again where no tool is strict', async () => {
    const { ask, sent } = start({}, OWN_ANTHROPIC, () =>
      Response.json(
        { type: 'error', error: { type: 'invalid_request_error', message: words } },
        { status: 400 },
      ),
    );
    const { status } = await ask({ model: CLAUDE, memory_strategy: 'auto' });

    expect({ status, asked: sent.length }).toEqual({ status: 400, asked: 1 });
  });
});

describe('an upstream that looks for reasoning by its id', () => {
  it('gets the reasoning without ids, and is not asked with one again', async () => {
    const reasons: Answer = (_, body) => {
      const json = JSON.stringify(body.input);
      if (json.includes('"id":"rs_'))
        return Response.json(
          { error: { message: "Item with id 'rs_1' not found. Items are not persisted.", param: 'input' } },
          { status: 404 },
        );
      const toolCalls = [{ id: `call_${json.length}`, name: 'look', arguments: '{}' }];
      return Response.json(responseOf(body, { toolCalls, reasoning: { encrypted: 'a-thought' } }));
    };
    const { ask, sent } = start({}, OWN_OPENAI, reasons);
    const more = { model: GPT, memory_strategy: 'auto', conversation_id: 'ids' };
    const messages: Json[] = [...ASKED];
    const statuses: number[] = [];
    for (let step = 0; step < 3; step++) {
      const { status, json } = await ask({ ...more, messages });
      const [{ message }] = json.choices as [{ message: Json }];
      const [{ id }] = message.tool_calls as [{ id: string }];
      messages.push(message, result(id, 'Nothing.'));
      statuses.push(status);
    }

    expect(statuses).toEqual([200, 200, 200]);
    const reasoning = sent.map(({ body }) =>
      (body.input as Json[]).filter(({ type }) => type === 'reasoning'),
    );
    expect(reasoning.map((items) => items.length)).toEqual([0, 1, 1, 2]);
    expect(reasoning.map((items) => items.some(({ id }) => id !== undefined))).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});
