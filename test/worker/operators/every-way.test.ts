/**
 * Walks every way by which a caller can have a model asked with the deployer's key: each passes the
 * caller's limits (`test/support/ways-upstream.ts`).
 */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { CallerLimits } from '../../../src/memory/money/caller-limits.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { compactionOf } from '../../../tools/upstream/compaction.ts';
import { messageOf } from '../../../tools/upstream/message.ts';
import { step } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { ASK_MODEL, ASK_UPSTREAM } from '../../support/ways-upstream.ts';
import { startApp } from '../support.ts';

beforeEach(quiet);
type Json = Record<string, unknown>;

const MODEL = 'gpt-4.1-mini';
const CLAUDE = 'claude-opus-5-5';
const SUMMARIZER = {
  SUMMARIZER_BASE_URL: 'http://summarizer.test/v1',
  SUMMARIZER_MODEL: 'gpt-4.1-nano',
  SUMMARIZER_API_KEY: 'sk-the-key-of-the-summarizer',
} as const;
const SUMMARY = writeSections(
  new Map([
    ['## User Intent', 'Go on.'],
    ['## Progress', 'Much was done.'],
    ['## Next Steps', 'Go on.'],
  ]),
);
/** Of one answer: more than any budget below. */
const USAGE = {
  prompt_tokens: 10_000,
  completion_tokens: 1_000,
  total_tokens: 11_000,
  input_tokens: 10_000,
  output_tokens: 1_000,
};

let made = 0;

/** A caller with limits, before upstreams that answer anything. */
function caller(limits: CallerLimits | undefined, variables: Partial<Env>) {
  const name = `walker-${made++}`;
  const key = `a-key-of-the-caller-${name}`;
  const { request } = startApp(
    env.REFS,
    {
      ACCESS_KEYS: `${name}=${key}`,
      UPSTREAM_API_KEY: 'sk-the-key-of-the-deployment',
      ANTHROPIC_API_KEY: 'sk-ant-the-key-of-the-deployment',
      CALLER_LIMITS: JSON.stringify(limits ? { [name]: limits } : {}),
      ...variables,
    },
    key,
  );
  /** Calls with a body: those that a model answers, or counts for. */
  const asked: { readonly url: string; readonly model: unknown }[] = [];
  vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
    const sent = new Request(input, init);
    const text = await sent.text();
    if (text === '') return Response.json({ data: [] });
    const body = JSON.parse(text) as Json;
    asked.push({ url: sent.url, model: body.model });
    return answerTo(sent, body);
  });
  const ask = async (path: string, body: Json): Promise<number> => {
    const headers = { 'anthropic-version': '2023-06-01' };
    const answer = await request(path, { method: 'POST', headers, body: JSON.stringify(body) });
    await answer.text();
    return answer.status;
  };
  const spent = async () => {
    const stub = env.TENANT_MEMORY.getByName(new Tenants(env.PRECIS_SECRET).ofName(name).id);
    const { spent: days } = await (
      stub as unknown as {
        usage(from: number, to: number): Promise<{ spent: { amount: number; summaries: number }[] }>;
      }
    ).usage(0, 1e6);
    return days;
  };
  return { name, ask, asked, spent };
}

function answerTo({ url, headers }: Request, body: Json): Response {
  if (/count_tokens|input_tokens/.test(url)) return Response.json({ input_tokens: 7 });
  if (url.endsWith('/embeddings')) return Response.json({ data: [], usage: USAGE });
  if (url.endsWith('/messages')) {
    const { usage, ...message } = messageOf(
      body,
      body.compaction ? compactionOf(body, Object.fromEntries(headers)) : {},
    ) as Json;
    return Response.json({ ...message, usage: { ...(usage as Json), ...USAGE } });
  }
  if (url.endsWith('/responses')) {
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }];
    const output = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }];
    return Response.json({ id: 'resp_1', object: 'response', status: 'completed', output, usage: USAGE });
  }
  const content = url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL) || isPrompt(body) ? SUMMARY : 'Done.';
  const message = { role: 'assistant', content };
  return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE });
}

/** Whether a body is a summarizer's, sent to the request's own upstream. */
function isPrompt({ messages }: Json): boolean {
  return Array.isArray(messages) && JSON.stringify(messages[0]).includes('"role":"system"');
}

const talk = (turns: number): Json[] => [
  ...Array.from({ length: 2 * turns }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `${at}: ${'a sentence of words. '.repeat(100)}`,
  })),
  { role: 'user', content: 'Go on.' },
];

const withOutput = (): Json[] => [
  { role: 'user', content: 'Read the file.' },
  ...step('call_1', 'read', 'a line of the file\n'.repeat(2_000)),
  { role: 'assistant', content: 'It is read.' },
  ...talk(3),
];

interface Way {
  readonly name: string;
  /** The files of `test/support/ways-upstream.ts` that it passes. */
  readonly files: readonly string[];
  readonly path: string;
  readonly body: Json;
  readonly variables?: Partial<Env>;
  /** The calls that must have been made without limits. */
  readonly reaches: RegExp;
  /** Whether it costs nothing, so that only its model is asked. */
  readonly isFree?: true;
}

const SUMMARIZE = { mode: 'summarize', keep_last_n_turns: 1, context_limit: 4 };
const toModel = { messages: [{ role: 'user', content: 'Hi' }] };
const OWN_UPSTREAM = /api\.|upstream/;
const OF_SUMMARIZER = /^http:\/\/summarizer\.test/;
const attempt = 'answer/attempt.ts';
const summarizer = 'summary/summarizer.ts';

const WAYS: readonly Way[] = [
  {
    name: 'chat completions, over the Responses API',
    files: ['answer/bridge/bridged-call.ts'],
    path: '/v1/chat/completions',
    body: { ...toModel, memory_strategy: { mode: 'none', upstream_api: 'responses' } },
    reaches: /api\.openai\.com.*\/responses$|upstream.*\/responses$/,
  },
  {
    name: "chat completions, over Anthropic's Messages",
    files: ['answer/bridge/bridged-call.ts'],
    path: '/v1/chat/completions',
    body: { ...toModel, memory_strategy: { mode: 'none', upstream_api: 'messages' } },
    reaches: /\/messages$/,
  },
  {
    name: 'chat completions, observed',
    files: ['answer/observed.ts'],
    path: '/v1/chat/completions',
    body: { ...toModel, memory_strategy: { mode: 'none' } },
    reaches: /chat\/completions$/,
  },
  {
    name: 'chat completions, with a view',
    files: [attempt],
    path: '/v1/chat/completions',
    body: { messages: withOutput(), memory_strategy: { mode: 'auto' } },
    reaches: /chat\/completions$/,
  },
  {
    name: 'responses',
    files: [attempt],
    path: '/v1/responses',
    body: { input: talk(3), memory_strategy: { mode: 'auto' } },
    reaches: /responses$/,
  },
  {
    name: 'messages',
    files: [attempt],
    path: '/v1/messages',
    body: { model: CLAUDE, max_tokens: 100, ...toModel },
    reaches: /messages$/,
  },
  {
    name: 'a summary that a request waits for',
    files: [summarizer],
    path: '/v1/chat/completions',
    body: { messages: talk(6), conversation_id: 'foreground', memory_strategy: SUMMARIZE },
    variables: SUMMARIZER,
    reaches: OF_SUMMARIZER,
  },
  {
    name: 'a rolling memory, made after the answer',
    files: [summarizer],
    path: '/v1/chat/completions',
    body: {
      messages: talk(6),
      conversation_id: 'rolling',
      memory_strategy: { mode: 'rolling_summary', full_zone_turns: 0, summarize_after_seq: 1 },
    },
    variables: SUMMARIZER,
    reaches: OF_SUMMARIZER,
  },
  {
    name: 'the memory of a session, made after the answer',
    files: [summarizer],
    path: '/v1/chat/completions',
    body: {
      messages: talk(3),
      conversation_id: 'session',
      user: 'ann',
      memory_injection: { publish: 'each_round' },
    },
    variables: SUMMARIZER,
    reaches: OF_SUMMARIZER,
  },
  {
    name: 'digests of outputs',
    files: [summarizer],
    path: '/v1/chat/completions',
    body: {
      messages: withOutput().slice(0, 3),
      conversation_id: 'digests',
      tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
      memory_strategy: {
        mode: 'auto',
        offload_min_tokens: 1_000,
        offload_fresh_tokens: 1_000,
        offload_digest: 'model',
      },
    },
    variables: SUMMARIZER,
    reaches: OF_SUMMARIZER,
  },
  {
    name: 'a summary by the API itself',
    files: ['summary/own-compaction.ts'],
    path: '/v1/messages',
    body: {
      model: CLAUDE,
      max_tokens: 100,
      messages: talk(12).map((message, at) => ({
        ...message,
        at: undefined,
        content: `${at} ${message.content}`,
      })),
      conversation_id: 'own',
      memory_strategy: { mode: 'native', compact_threshold: 6_000 },
    },
    reaches: /messages(?:\?.*)?$/,
  },
  ...['/v1/compact', '/v1/responses/compact', '/v1/conversations/ended/end'].flatMap((path) =>
    [SUMMARIZER, {}].map(
      (variables): Way => ({
        name: `${path}, by ${'SUMMARIZER_MODEL' in variables ? 'the deployment’s summarizer' : 'the request’s upstream'}`,
        files: [summarizer],
        path,
        body: {
          [path === '/v1/responses/compact' ? 'input' : 'messages']: talk(6),
          conversation_id: path === '/v1/conversations/ended/end' ? undefined : 'compacted',
          memory_strategy: SUMMARIZE,
          ...(path === '/v1/compact' ? { force: true } : {}),
        },
        variables,
        reaches: 'SUMMARIZER_MODEL' in variables ? OF_SUMMARIZER : OWN_UPSTREAM,
      }),
    ),
  ),
  {
    name: 'embeddings',
    files: ['routes/passthrough.ts'],
    path: '/v1/embeddings',
    body: { input: 'words' },
    reaches: /embeddings$/,
  },
  {
    name: 'input tokens of a response',
    files: ['answer/count-input.ts'],
    path: '/v1/responses/input_tokens',
    body: { input: talk(1) },
    reaches: /input_tokens$/,
    isFree: true,
  },
  {
    name: 'tokens of messages',
    files: ['answer/count-input.ts'],
    path: '/v1/messages/count_tokens',
    body: { model: CLAUDE, ...toModel },
    reaches: /count_tokens$/,
    isFree: true,
  },
];

/**
 * Ways that no caller with limits has: a shared account's bodies are always read, and its stored
 * conversations are closed.
 */
const CLOSED: readonly string[] = ['answer/unread/pass-unread.ts', 'routes/models.ts'];

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Until nothing more is asked: objects work after the answer. */
async function walk(way: Way, limits: CallerLimits | undefined, model = MODEL) {
  const walker = caller(limits, way.variables ?? {});
  const status = await walker.ask(way.path, { model, ...way.body });
  if (limits === undefined)
    await vi.waitFor(
      () => expect(walker.asked.map(({ url }) => url)).toContainEqual(expect.stringMatching(way.reaches)),
      {
        timeout: 20_000,
      },
    );
  await settled();
  return { ...walker, status };
}

it('every way with limits is walked, or closed to callers that have them', () => {
  const limited = Object.entries({ ...ASK_UPSTREAM, ...ASK_MODEL }).filter(
    ([, before]) => before === 'limits',
  );
  const walked = [...new Set([...WAYS.flatMap(({ files }) => files), ...CLOSED])];
  expect(walked.sort()).toEqual(limited.map(([file]) => file).sort());
});

describe.each(WAYS)('$name', (way) => {
  it('is open to a caller without limits', async () => {
    const { status } = await walk(way, undefined);
    expect(status).toBeLessThan(300);
  });

  it.runIf(!way.isFree)('is closed to a caller whose budget is spent, and costs nothing', async () => {
    const { asked, status, spent } = await walk(way, { usd_per_day: 0 });
    expect(status).toBe(429);
    expect(asked).toEqual([]);
    expect((await spent()).every(({ amount }) => amount === 0)).toBe(true);
  });

  it('asks no model that its caller may not use', async () => {
    const { asked, status } = await walk(way, { models: ['another-model'] });
    expect(status).toBe(403);
    expect(asked).toEqual([]);
  });
});

describe('the summarizer’s work after an answer that has spent the budget', () => {
  it.each(WAYS.filter(({ name }) => name.includes('after the answer')))('is not done: $name', async (way) => {
    // One answer costs $0.0056: all of it.
    const { asked, status } = await walk(way, { usd_per_day: 0.005 });
    expect(status).toBe(200);
    expect(asked.map(({ url }) => url)).toEqual([expect.stringMatching(/chat\/completions$/)]);
    expect(asked[0]?.model).toBe(MODEL);
  });

  it('counts when it is done, at once', async () => {
    const way = WAYS.find(({ name }) => name.startsWith('a rolling memory'));
    if (!way) throw new Error('the way is there');
    const walker = caller({ usd_per_day: 1 }, way.variables ?? {});
    await walker.ask(way.path, { model: MODEL, ...way.body });
    // At the prices of the summarizer's model.
    const summary = 10_000 * 100 + 1_000 * 400;
    await vi.waitFor(
      async () => {
        const [day] = await walker.spent();
        expect(day?.summaries).toBeGreaterThan(0);
        expect((day?.summaries ?? 0) % summary).toBe(0);
      },
      { timeout: 20_000 },
    );
  });
});

describe('the summarizer’s model', () => {
  it.each([
    ['one that its caller may not use', { models: [MODEL] }, 'gpt-4.1'],
    ['one without a price, under a budget', { usd_per_day: 5 }, 'a-model-of-nobody'],
  ])('is refused: %s', async (_, limits, summarizer_model) => {
    const memory_strategy = { ...SUMMARIZE, summarizer_model };
    const variables = { ...SUMMARIZER, SUMMARIZER_MODELS: `gpt-4.1-nano,${summarizer_model}` };
    for (const path of ['/v1/chat/completions', '/v1/compact', '/v1/conversations/named/end']) {
      const { ask, asked } = caller(limits, variables);
      const status = await ask(path, {
        model: MODEL,
        messages: talk(6),
        conversation_id: undefined,
        memory_strategy,
      });
      expect([path, status, asked]).toEqual([path, 403, []]);
    }
  });

  it('is the deployer’s where no caller names another, whatever the caller may ask', async () => {
    const { ask, asked } = caller({ models: [MODEL], usd_per_day: 5 }, SUMMARIZER);
    const body = { model: MODEL, messages: talk(6), conversation_id: 'own', memory_strategy: SUMMARIZE };
    expect(await ask('/v1/chat/completions', body)).toBe(200);
    expect(asked.map(({ model }) => model)).toContain(SUMMARIZER.SUMMARIZER_MODEL);
  });
});
