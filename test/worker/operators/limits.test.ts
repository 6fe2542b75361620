/** Callers' limits, before an upstream that bills: what is refused, and what is counted. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { utcTimeOf } from '../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import { amountOf } from '../../../src/memory/money/amounts.ts';
import type { CallerLimits } from '../../../src/memory/money/caller-limits.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { untilDayLasts } from '../../support/day.ts';
import { quiet } from '../../support/quiet.ts';
import { restoreLimits, shorten } from '../../support/time-limits.ts';
import { startApp, watchedObjects } from '../support.ts';

beforeEach(quiet);
beforeEach(() => untilDayLasts(20_000), 60_000);
/** In nanodollars, with a thousand tokens of input and a hundred of output each. */
const PRICE = 1_000 * 400 + 100 * 1_600;
const MODEL = 'gpt-4.1-mini';
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 0 },
};
const QUESTION = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(3_900) }] };

let made = 0;

/** A deployment with one caller, and an upstream that answers with a usage or as it is asked to. */
function limited(limits: CallerLimits | undefined, variables: Partial<Env> = {}) {
  const name = `limited-${made++}`;
  const key = `a-key-of-the-caller-${name}`;
  const objects = watchedObjects(env.TENANT_MEMORY as DurableObjectNamespace);
  const started = startApp(
    env.REFS,
    {
      ACCESS_KEYS: `${name}=${key}`,
      UPSTREAM_API_KEY: 'sk-the-key-of-the-deployment',
      CALLER_LIMITS: JSON.stringify(limits ? { [name]: limits } : {}),
      TENANT_MEMORY: objects.namespace,
      ...variables,
    },
    key,
  );
  const upstream = { answer: (): Response => Response.json({ choices: [], usage: USAGE }) };
  const fetched = vi.mocked(globalThis.fetch).mockImplementation(async () => upstream.answer());
  const tenant = new Tenants(env.PRECIS_SECRET).ofName(name).id;
  const days = async () => {
    const stub = env.TENANT_MEMORY.getByName(tenant) as unknown as {
      usage(
        from: number,
        to: number,
      ): Promise<{ spent: { requests: number; tokens: number; amount: number }[] }>;
    };
    return (await stub.usage(0, 1e6)).spent;
  };
  const codeOf = async (asked: Promise<Response>): Promise<string> => {
    const answer = await asked;
    if (answer.ok) return 'ok';
    return ((await answer.json()) as { error: { code: string } }).error.code;
  };
  return { ...started, name, key, objects, upstream, fetched, days, codeOf };
}

const dollars = (nanodollars: number): number => nanodollars / 1e9;

describe('a caller with a budget', () => {
  it('is answered until it is spent, and then refused before the upstream is asked', async () => {
    const { chat, fetched, days } = limited({ usd_per_day: dollars(2 * PRICE) });
    const first = await chat(QUESTION);
    expect(first.headers.get('x-memory-budget-day')).toMatch(/^0\.0005\d+$/);
    await chat(QUESTION);
    const refused = await chat(QUESTION);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      error: { code: 'budget_exceeded', type: 'insufficient_quota' },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(refused.headers.get('x-memory-budget-day')).toBe('0');
    expect(fetched).toHaveBeenCalledTimes(2);
    expect(await days()).toMatchObject([{ requests: 2, tokens: 2_200, amount: 2 * PRICE }]);
  });

  it('spends no more than that and one estimate with 50 requests at the same time', async () => {
    const { chat, fetched, days, codeOf } = limited({ usd_per_day: dollars(10 * PRICE - 1) });
    const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(chat(QUESTION))));
    const answered = codes.filter((code) => code === 'ok').length;
    expect(answered).toBe(fetched.mock.calls.length);
    expect(new Set(codes)).toEqual(new Set(['ok', 'budget_exceeded']));
    const [day] = await days();
    expect(day).toMatchObject({ requests: answered, amount: answered * PRICE });
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThanOrEqual(10);
  });

  it('pays what its bills say where the upstream does not report what its cache keeps', async () => {
    const { chat, request, key, upstream, days } = limited({ usd_per_day: 1 });
    const usage = {
      prompt_tokens: 8_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 0 },
    };
    upstream.answer = () =>
      Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }], usage });
    const asked = { ...QUESTION, model: 'gpt-6-luna', conversation_id: 'billed' };
    for (const strategy of ['none', 'auto', { mode: 'auto', observe: true }])
      expect((await chat({ ...asked, memory_strategy: strategy })).status).toBe(200);
    const bills = async () => {
      const listed = await request('/v1/conversations/billed/requests', {
        headers: { authorization: `Bearer ${key}` },
      });
      const { data } = (await listed.json()) as {
        data: { bill: { about?: true; actual: number } | null }[];
      };
      return data.map(({ bill }) => bill);
    };
    await expect.poll(async () => (await bills()).length).toBe(3);
    const billed = await bills();
    expect(billed.map((bill) => bill?.about)).toEqual([true, true, true]);
    const amount = billed.reduce((sum, bill) => sum + (bill?.actual ?? 0), 0);
    expect(await days()).toMatchObject([{ requests: 3, amount }]);
  });

  it('pays nothing for what the upstream refuses, or does not take', async () => {
    const { chat, upstream, days } = limited({ usd_per_day: 1 });
    upstream.answer = () => Response.json({ error: { message: 'no' } }, { status: 400 });
    await chat(QUESTION);
    upstream.answer = () => {
      throw new Error('unreachable');
    };
    await chat(QUESTION);
    expect(await days()).toMatchObject([{ requests: 2, tokens: 0, amount: 0 }]);
  });

  it('pays for what a request has asked for whose answer nobody waits for', async () => {
    const { chat, fetched, days } = limited({ usd_per_day: 1 }, { UPSTREAM_HEADERS_TIMEOUT_MS: '10' });
    fetched.mockImplementation(
      (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    );
    expect((await chat(QUESTION)).status).toBe(504);
    const sent = fetched.mock.calls[0]?.[1]?.body as Uint8Array;
    const tokens = Math.ceil(sent.length / 4);
    const amount = tokens * 400 + QUESTION.max_tokens * 1_600;
    expect(await days()).toMatchObject([{ requests: 1, tokens: tokens + QUESTION.max_tokens, amount }]);
  });

  it('pays the estimate for a stream that reports no usage, and for one that breaks off', async () => {
    const { chat, upstream, days } = limited({ usd_per_day: 1 });
    const event = (content: string) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const words = Array.from({ length: 20 }, () => event('word'));
    const stream = (ends: boolean): Response => {
      const events = [...words, ...(ends ? ['data: [DONE]\n\n'] : [])].map((one) =>
        new TextEncoder().encode(one),
      );
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const next = events.shift();
          if (next) controller.enqueue(next);
          else if (ends) controller.close();
          else controller.error(new Error('broken'));
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
    const input = Math.ceil(JSON.stringify({ ...QUESTION, stream: true }).length / 4);
    upstream.answer = () => stream(true);
    await chat({ ...QUESTION, stream: true });
    const [whole] = await days();
    expect(whole?.tokens).toBeGreaterThanOrEqual(input + 20);
    expect(whole?.tokens).toBeLessThanOrEqual(input + 20 * 20);
    upstream.answer = () => stream(false);
    await chat({ ...QUESTION, stream: true });
    const [both] = await days();
    expect((both?.tokens ?? 0) - (whole?.tokens ?? 0)).toBeGreaterThanOrEqual(input + 20);
  });

  it('is refused a model without a price, unless the deployment says otherwise', async () => {
    const unknown = { ...QUESTION, model: 'a-model-of-nobody' };
    const { chat, codeOf, fetched } = limited({ usd_per_day: 1 });
    expect(await codeOf(chat(unknown))).toBe('model_not_allowed');
    expect(await codeOf(chat({ ...QUESTION, service_tier: 'priority' }))).toBe('model_not_allowed');
    expect(fetched).not.toHaveBeenCalled();
    const open = limited({ usd_per_day: 1, unpriced_models: 'allow' });
    expect(await open.codeOf(open.chat(unknown))).toBe('ok');
    expect(await open.days()).toMatchObject([{ tokens: 1_100, amount: 0 }]);
  });

  it('counts embeddings, of which the body is read', async () => {
    const { request, days } = limited({ usd_per_month: 1, unpriced_models: 'allow' });
    const body = JSON.stringify({ model: 'text-embedding-3-small', input: 'words' });
    const answer = await request('/v1/embeddings', { method: 'POST', body });
    expect(answer.headers.get('x-memory-budget-month')).toBe('1');
    expect(await days()).toMatchObject([{ requests: 1, tokens: 1_100 }]);
    await request('/v1/models');
    expect(await days()).toMatchObject([{ requests: 1 }]);
  });

  it('pays for embeddings what their usage says', async () => {
    const { request, upstream, days } = limited({ tokens_per_minute: 10_000 });
    const embedding = Array.from({ length: 1_536 }, (_, at) => Math.sin(at));
    upstream.answer = () =>
      Response.json({ data: [{ embedding, index: 0 }], usage: { prompt_tokens: 8, total_tokens: 8 } });
    const body = JSON.stringify({ model: 'text-embedding-3-small', input: 'eight tokens' });
    await (await request('/v1/embeddings', { method: 'POST', body })).text();
    expect(await days()).toMatchObject([{ tokens: 8 }]);
  });

  it('is reserved the most output that any of its fields asks for', async () => {
    const { request, fetched } = limited({ usd_per_day: 0.001 });
    const body = JSON.stringify({
      model: MODEL,
      input: 'words',
      max_completion_tokens: 1,
      max_output_tokens: 100_000,
    });
    const ask = async () => (await request('/v1/responses', { method: 'POST', body })).status;
    const statuses = await Promise.all(Array.from({ length: 20 }, ask));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it('is reserved the longest answer of the model where it asks for no limit', async () => {
    const most = 1_000 * 400 + 32_768 * 1_600;
    const { chat, upstream, days } = limited({ usd_per_day: dollars(most) });
    const long = { ...USAGE, completion_tokens: 32_000, total_tokens: 33_000 };
    upstream.answer = () => Response.json({ choices: [], usage: long });
    const { max_tokens: _, ...open } = QUESTION;
    await Promise.all(Array.from({ length: 20 }, () => chat(open)));
    const [day] = await days();
    expect(day?.amount).toBeLessThanOrEqual(2 * most);
  });

  it('pays for reasoning that a stream without usage does not show', async () => {
    const { chat, upstream, days } = limited({ usd_per_day: 10 });
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'ok' } }] })}\n\n`;
    upstream.answer = () =>
      new Response(`${event}data: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } });
    const asked = { model: 'gpt-5', stream: true, messages: QUESTION.messages };
    await (await chat({ ...asked, max_completion_tokens: 20_000 })).text();
    const [day] = await days();
    expect(day?.tokens).toBeGreaterThan(20_000);
  });

  it('gets no summary for its deployer’s money when it is spent', async () => {
    const { request, codeOf, fetched } = limited({ usd_per_day: 0 });
    const body = JSON.stringify({ ...QUESTION, memory_strategy: { mode: 'summarize' } });
    expect(await codeOf(request('/v1/compact', { method: 'POST', body }))).toBe('budget_exceeded');
    const items = JSON.stringify({ model: MODEL, input: [{ role: 'user', content: 'words' }] });
    expect(await codeOf(request('/v1/responses/compact', { method: 'POST', body: items }))).toBe(
      'budget_exceeded',
    );
    expect(fetched).not.toHaveBeenCalled();
  });
});

describe('an answer that does not tell what it has cost', () => {
  const TEXTS: Readonly<Record<string, readonly object[]>> = {
    '/v1/chat/completions': [{ choices: [{ index: 0, delta: { content: 'Well' } }] }],
    '/v1/responses': [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } },
      { type: 'response.output_text.delta', delta: 'Well', item_id: 'msg_1', output_index: 0 },
    ],
    '/v1/messages': [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 10, output_tokens: 1 },
        },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well' } },
    ],
  };
  /**
   * A caller who leaves after the first words.
   *
   * @param more of the body
   * @param sent before these words, or instead of them if it is a text
   */
  async function left(path: string, more: object, sent: object[] | string = []): Promise<number> {
    const key = { ANTHROPIC_API_KEY: 'sk-ant-the-key-of-the-deployment' };
    const { request, upstream, days } = limited({ usd_per_day: 100 }, key);
    upstream.answer = () => {
      const isText = typeof sent === 'string';
      const texts = isText
        ? [sent]
        : [...sent, ...(TEXTS[path] ?? [])].map((event) => `data: ${JSON.stringify(event)}\n\n`);
      const events = texts.map((text) => new TextEncoder().encode(text));
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const next = events.shift();
          if (next) controller.enqueue(next);
          else controller.error(new Error('left'));
        },
      });
      const type = isText ? 'application/json' : 'text/event-stream';
      return new Response(body, { headers: { 'content-type': type } });
    };
    const array =
      path === '/v1/responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] };
    const headers = { 'anthropic-version': '2023-06-01' };
    const body = JSON.stringify({ stream: true, ...array, ...more });
    await request(path, { method: 'POST', headers, body }).catch(() => undefined);
    return (await days())[0]?.tokens ?? 0;
  }

  it.each([
    ['/v1/chat/completions', { model: 'gpt-5', max_completion_tokens: 60_000 }],
    ['/v1/responses', { model: 'gpt-5', max_output_tokens: 60_000 }],
    ['/v1/responses', { model: 'gpt-4.1', reasoning: { effort: 'high' }, max_output_tokens: 60_000 }],
    ['/v1/messages', { model: 'claude-sonnet-5', max_tokens: 60_000 }],
    ['/v1/messages', { model: 'claude-opus-4-6', max_tokens: 60_000, thinking: { type: 'adaptive' } }],
  ])('counts with the reasoning that it may have had: %s %o', async (path, more) => {
    expect(await left(path, more)).toBeGreaterThanOrEqual(60_000);
  });

  it.each([
    ['/v1/responses', { model: 'gpt-5.1', reasoning: { effort: 'none' }, max_output_tokens: 60_000 }],
    ['/v1/responses', { model: 'gpt-4.1', max_output_tokens: 60_000 }],
    ['/v1/messages', { model: 'claude-sonnet-5', max_tokens: 60_000, thinking: { type: 'disabled' } }],
  ])('counts with what was seen where the model does not reason: %s %o', async (path, more) => {
    expect(await left(path, more)).toBeLessThan(100);
  });

  it('counts with no more thinking than its request allows', async () => {
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    const tokens = await left('/v1/messages', { model: 'claude-opus-4-5', max_tokens: 60_000, thinking });
    expect(tokens).toBeGreaterThanOrEqual(2_000);
    expect(tokens).toBeLessThan(2_100);
  });

  it('counts with the usual output at least where its request names no limit', async () => {
    expect(await left('/v1/responses', { model: 'gpt-5' })).toBeGreaterThanOrEqual(4_096);
  });

  it('counts no usage in the schema of a tool, which a response repeats', async () => {
    const usage = { input_tokens: 1, output_tokens: 0 };
    const parameters = { type: 'object', properties: {}, default: { ...usage, usage } };
    const tools = [{ type: 'function', name: 'f', parameters }];
    const body = { model: 'gpt-4.1', max_output_tokens: 100, tools, instructions: 'x'.repeat(40_000) };
    const begun = { type: 'response.created', response: { ...body, usage: null } };
    const part = JSON.stringify({ tools }).slice(0, -'}}}]}'.length);

    expect(await left('/v1/responses', body, [begun])).toBeGreaterThan(10_000);
    expect(await left('/v1/responses', body, part)).toBeGreaterThan(10_000);
  });

  it('counts with its reasoning when it comes whole without a usage', async () => {
    const { request, upstream, days } = limited({ usd_per_day: 100 });
    upstream.answer = () => Response.json({ id: 'resp_1', object: 'response', output: [] });
    const body = JSON.stringify({ model: 'gpt-5', input: 'Hi', max_output_tokens: 30_000 });
    await request('/v1/responses', { method: 'POST', body });
    expect((await days())[0]?.tokens).toBeGreaterThanOrEqual(30_000);
  });
});

describe('a limit of output that the API of the path does not know', () => {
  it.each([
    ['/v1/responses', { input: 'words' }, ['max_tokens', 'max_completion_tokens']],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'words' }] }, ['max_output_tokens']],
  ])('is none: %s', async (path, array, fields) => {
    // Two answers of the longest that the model writes cost more.
    const { request, fetched } = limited({ usd_per_day: dollars(32_768 * 1_600) });
    const limits = Object.fromEntries(fields.map((field) => [field, 1]));
    const body = JSON.stringify({ model: MODEL, ...array, ...limits });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await request(path, { method: 'POST', body })).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});

describe('a field in another case, which servers written in Go read too', () => {
  it.each([
    ['a limit of output', { Max_Tokens: 30_000 }],
    ['several answers', { N: 100 }],
    ['models', { Fallbacks: ['gpt-4.1'] }],
    ['a letter that folds to another', { fallbac\u212as: ['gpt-4.1'] }],
    ['a name within', { fallbacks: [{ model: MODEL, Model: 'gpt-4.1' }] }],
  ])('is reserved as if it were read: %s', async (_, more) => {
    const { chat, codeOf } = limited({ usd_per_day: dollars(2 * PRICE - 1) });
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(chat({ ...QUESTION, ...more }))));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  });

  it('makes nothing cheaper where nobody reads it', async () => {
    const { chat, codeOf } = limited({ usd_per_day: dollars(2 * PRICE - 1) });
    const asked = { ...QUESTION, max_tokens: 30_000, Max_Tokens: 1 };
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(chat(asked))));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  });

  it.each([{ Service_Tier: 'priority' }, { SPEED: 'fast' }])(
    'is refused under a budget where it has another price: %j',
    async (more) => {
      const { chat, codeOf, fetched } = limited({ usd_per_day: 10 });
      expect(await codeOf(chat({ ...QUESTION, ...more }))).toBe('model_not_allowed');
      expect(fetched).not.toHaveBeenCalled();
    },
  );

  it('names no model that is not allowed', async () => {
    const { chat, fetched } = limited({ models: [MODEL] });
    const refused = await chat({ ...QUESTION, Fallbacks: ['gpt-6'] });
    expect(await refused.json()).toMatchObject({ error: { code: 'model_not_allowed', param: 'fallbacks' } });
    expect(fetched).not.toHaveBeenCalled();
  });
});

describe('models that a gateway may ask instead of one', () => {
  const DEAR = 'gpt-4.1';

  it.each([
    ['models', { models: [MODEL, DEAR] }],
    ['fallbacks', { fallbacks: [DEAR] }],
    ['fallbacks', { fallbacks: [{ model: DEAR }] }],
    ['fallbacks', { fallbacks: [{ [MODEL]: [DEAR] }] }],
    ['context_window_fallbacks', { context_window_fallbacks: [{ [MODEL]: [DEAR] }] }],
    ['content_policy_fallbacks', { content_policy_fallbacks: [{ [MODEL]: [DEAR] }] }],
  ])('are reserved at the price of the dearest: %s', async (_, more) => {
    // Two of the cheap one, and one of the dear one.
    const { chat, codeOf } = limited({ usd_per_day: dollars(2 * PRICE - 1) });
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(chat({ ...QUESTION, ...more }))));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  });

  it('is reserved with what it may write instead, if it says so itself', async () => {
    const { chat, codeOf } = limited({ usd_per_day: dollars(2 * PRICE - 1) });
    const asked = { ...QUESTION, fallbacks: [{ model: MODEL, max_tokens: 30_000 }] };
    const codes = await Promise.all(Array.from({ length: 5 }, () => codeOf(chat(asked))));
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
  });

  it('count at the price of the one that has answered, and of the dearest where none is named', async () => {
    const dear = 1_000 * 2_000 + 100 * 8_000;
    const { chat, upstream, days } = limited({ usd_per_day: 10 });
    const asked = { ...QUESTION, models: [DEAR] };
    upstream.answer = () => Response.json({ model: `openai/${MODEL}-2025-04-14`, choices: [], usage: USAGE });
    await chat(asked);
    expect(await days()).toMatchObject([{ amount: PRICE }]);
    // What an answer repeats of its request names no model that has answered.
    const metadata = { model: MODEL };
    upstream.answer = () => Response.json({ metadata, model: DEAR, choices: [], usage: USAGE });
    await chat(asked);
    expect(await days()).toMatchObject([{ amount: PRICE + dear }]);
    upstream.answer = () => Response.json({ choices: [], usage: USAGE });
    await chat(asked);
    expect(await days()).toMatchObject([{ amount: PRICE + 2 * dear }]);
  });

  it.each([
    ['a model without a price', { models: ['a-model-of-nobody'] }],
    ['a list that can’t be read', { fallbacks: [7] }],
    ['a tier without a price', { fallbacks: [{ model: DEAR, speed: 'fast' }] }],
    ['another spelling', { Model: DEAR }],
    ['several in one name', { model: `${MODEL},${DEAR}` }],
  ])('are refused under a budget: %s', async (_, more) => {
    const { chat, codeOf, fetched } = limited({ usd_per_day: 10 });
    expect(await codeOf(chat({ ...QUESTION, ...more }))).toBe('model_not_allowed');
    expect(fetched).not.toHaveBeenCalled();
  });
});

describe('a budget that is spent over Messages', () => {
  const MODEL_OF_IT = 'claude-sonnet-5';
  const asking = (limits: CallerLimits) => {
    const { request, ...rest } = limited(limits, { ANTHROPIC_API_KEY: 'sk-ant-the-key-of-the-deployment' });
    const headers = { 'anthropic-version': '2023-06-01' };
    const ask = (more: object) => {
      const asked = { model: MODEL_OF_IT, max_tokens: 64_000, messages: [{ role: 'user', content: 'Hi' }] };
      return request('/v1/messages', {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...asked, ...more }),
      });
    };
    return { ...rest, ask };
  };
  const message = (usage: object) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: MODEL_OF_IT,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  });

  it('counts what is kept for an hour at its own price, as bills do', async () => {
    const { ask, upstream, days } = asking({ usd_per_day: 100 });
    const hour = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100_000 };
    const read = { input_tokens: 10, cache_read_input_tokens: 0, output_tokens: 10 };
    const usage = { ...read, cache_creation_input_tokens: 100_000, cache_creation: hour };
    upstream.answer = () => Response.json(message(usage));
    expect((await ask({})).status).toBe(200);
    const schedule = scheduleOf(MODEL_OF_IT, utcTimeOf(new Date()), [], '1h');
    if (!schedule) throw new Error('the model has a price');
    const amount = amountOf({ fresh: 10, cached: 0, written: 100_000, output: 10 }, schedule);
    expect(await days()).toMatchObject([{ amount }]);
  });

  it('counts what has come of a stream that breaks off', async () => {
    const { ask, upstream, days } = asking({ usd_per_day: 100 });
    const event = (data: { type: string; [field: string]: unknown }) =>
      new TextEncoder().encode(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
    const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const events = [
      event({ type: 'message_start', message: message({ ...usage, output_tokens: 1 }) }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...Array.from({ length: 2_000 }, (_, at) =>
        event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ` word ${at}` } }),
      ),
    ];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = events.shift();
        if (next) controller.enqueue(next);
        else controller.error(new Error('broken'));
      },
    });
    upstream.answer = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    await (await ask({ stream: true })).text().catch(() => '');
    const [day] = await days();
    expect(day?.tokens).toBeGreaterThan(2_000);
  });

  it('refuses the fast mode, which has prices of its own', async () => {
    const { ask, fetched } = asking({ usd_per_day: 100 });
    expect((await ask({ speed: 'fast' })).status).toBe(403);
    expect((await ask({ speed: 'standard' })).status).toBe(200);
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});

describe('the compactions of a caller', () => {
  const SUMMARY = '## Task\nx\n\n'.padEnd(600, 'word ');
  const USED = { ...USAGE, prompt_tokens: 100_000, total_tokens: 100_100 };
  /** Of one call of the summarizer. */
  const COST = 100_000 * 400 + 100 * 1_600;
  const summarized = (): Response =>
    Response.json({
      choices: [{ index: 0, message: { role: 'assistant', content: SUMMARY }, finish_reason: 'stop' }],
      usage: USED,
    });
  const turns = (name: number) => [
    ...Array.from({ length: 40 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `${name} ${at} ${'a sentence of words. '.repeat(100)}`,
    })),
    { role: 'user', content: 'go on' },
  ];
  const compactor = (limits: CallerLimits) => {
    const { request, upstream, ...rest } = limited(limits);
    upstream.answer = summarized;
    const compact = async (name: number, path = '/v1/responses/compact'): Promise<number> => {
      const array = path === '/v1/compact' ? 'messages' : 'input';
      const memory_strategy = { mode: 'summarize', keep_last_n_turns: 1, context_limit: 1_000 };
      const asked = { model: MODEL, [array]: turns(name), conversation_id: `limited-${name}` };
      const body = array === 'messages' ? { ...asked, force: true, memory_strategy } : asked;
      const answer = await request(path, { method: 'POST', body: JSON.stringify(body) });
      await answer.text();
      return answer.status;
    };
    return { ...rest, compact };
  };

  it.each(['/v1/compact', '/v1/responses/compact'])('are requests per minute: %s', async (path) => {
    const { compact, days, fetched } = compactor({ requests_per_minute: 2 });
    expect(await compact(1, path)).toBe(200);
    expect(await compact(2, path)).toBe(200);
    expect(await compact(3, path)).toBe(429);
    const tokens = fetched.mock.calls.length * 100_100;
    expect(await days()).toMatchObject([{ requests: 2, tokens }]);
  });

  it('count against a budget though the caller has asked nothing else', async () => {
    const { compact, days, fetched } = compactor({ usd_per_day: dollars(COST) });
    expect(await compact(1)).toBe(200);
    const amount = fetched.mock.calls.length * COST;
    expect(amount).toBeGreaterThan(0);
    await expect.poll(days).toMatchObject([{ amount, summaries: amount }]);
    expect(await compact(2)).toBe(429);
  });

  it('spend no more than the budget and one estimate when they come at the same time', async () => {
    const { compact } = compactor({ usd_per_day: dollars(1_000_000) });
    const statuses = await Promise.all(Array.from({ length: 8 }, (_, name) => compact(name)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });
});

describe('limits per minute', () => {
  it('refuse with the code of a rate limit, and say when to try again', async () => {
    const { chat } = limited({ requests_per_minute: 1, tokens_per_minute: 5_000 });
    const first = await chat(QUESTION);
    const limitOf = (answer: Response, name: string) => answer.headers.get(`x-ratelimit-${name}`);
    expect(limitOf(first, 'limit-requests')).toBe('1');
    expect(limitOf(first, 'remaining-requests')).toBe('0');
    expect(Number(limitOf(first, 'remaining-tokens'))).toBeLessThan(5_000);
    const refused = await chat(QUESTION);
    expect(refused.status).toBe(429);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('rate_limited');
    expect(error.message).toMatch(/of this deployment\. Please try again in \d+s\.$/);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(refused.headers.get('x-should-retry')).toBeNull();
  });
});

describe('the models of a caller', () => {
  it('are asked, and no others, also for summaries', async () => {
    const { chat, request, codeOf, fetched, objects } = limited({ models: ['gpt-4.1*'] });
    expect(await codeOf(chat(QUESTION))).toBe('ok');
    expect(await codeOf(chat({ ...QUESTION, model: 'gpt-6' }))).toBe('model_not_allowed');
    const memory_strategy = { mode: 'summarize', summarizer_model: 'gpt-6' };
    expect(await codeOf(chat({ ...QUESTION, memory_strategy }))).toBe('model_not_allowed');
    const body = JSON.stringify({ model: 'gpt-6', input: [] });
    expect(await codeOf(request('/v1/embeddings', { method: 'POST', body }))).toBe('model_not_allowed');
    expect(fetched).toHaveBeenCalledTimes(1);
    expect(objects.calls).not.toContain('reserve');
  });

  it('B11: are named once, also in embeddings', async () => {
    for (const limits of [{ models: ['gpt-4.1*'] }, { usd_per_day: 1 }, { requests_per_minute: 9 }]) {
      const { request, fetched } = limited(limits);
      for (const body of [
        '{"model":"gpt-6","input":"x","model":"gpt-4.1"}',
        '{"model":"gpt-4.1","input":"x","model":"gpt-6"}',
        '{"model":"gpt-4.1","mod\\u0065l":"gpt-6","input":"x"}',
      ]) {
        const refused = await request('/v1/embeddings', { method: 'POST', body });
        expect(refused.status).toBe(400);
        expect(await refused.json()).toMatchObject({ error: { code: 'invalid_json', param: 'model' } });
      }
      expect(fetched).not.toHaveBeenCalled();
    }
  });
});

describe('an allowed model', () => {
  it.each([
    ['models', { models: [MODEL, 'gpt-6'] }],
    ['models', { models: 'gpt-6' }],
    ['fallbacks', { fallbacks: [{ model: 'gpt-6' }] }],
    ['context_window_fallbacks', { context_window_fallbacks: [{ [MODEL]: ['gpt-6'] }] }],
    ['content_policy_fallbacks', { content_policy_fallbacks: [{ [MODEL]: ['gpt-6'] }] }],
    ['Model', { Model: 'gpt-6' }],
  ])('is no cover for others in `%s`', async (param, more) => {
    const { chat, fetched } = limited({ models: [MODEL] });
    const refused = await chat({ ...QUESTION, ...more });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: 'model_not_allowed', param } });
    expect((await chat({ ...QUESTION, models: [MODEL] })).status).toBe(200);
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});

describe('the settings of a gateway in a body', () => {
  const settings = { model_list: [{ model_name: MODEL, litellm_params: { model: 'gpt-6' } }] };

  it.each(['user_config', 'router_settings_override', 'api_base', 'base_url', 'api_key'])(
    'are refused for callers of a shared account: %s',
    async (field) => {
      for (const limits of [undefined, { models: [MODEL] }]) {
        const { chat, fetched } = limited(limits);
        fetched.mockClear();
        const refused = await chat({ ...QUESTION, [field]: settings });
        expect(refused.status).toBe(400);
        expect(await refused.json()).toMatchObject({ error: { param: field } });
        expect(fetched).not.toHaveBeenCalled();
        expect((await chat({ ...QUESTION, [field]: null })).status).toBe(200);
      }
    },
  );

  it.each(['user_config', 'router_settings_override'])(
    'are no way around limits of embeddings: %s',
    async (field) => {
      const { request, codeOf, fetched } = limited({ models: ['text-embedding-3-small'] });
      const body = JSON.stringify({ model: 'text-embedding-3-small', input: 'x', [field]: settings });
      expect(await codeOf(request('/v1/embeddings', { method: 'POST', body }))).toBe('model_not_allowed');
      expect(fetched).not.toHaveBeenCalled();
    },
  );
});

describe('several models in one name', () => {
  it('are refused where one of them is not allowed', async () => {
    const { chat, codeOf, fetched } = limited({ models: [`${MODEL}*`] });
    expect(await codeOf(chat({ ...QUESTION, model: `${MODEL}, gpt-6` }))).toBe('model_not_allowed');
    expect(fetched).not.toHaveBeenCalled();
    expect(await codeOf(chat({ ...QUESTION, model: `${MODEL},${MODEL}-2025-04-14` }))).toBe('ok');
  });
});

describe('a caller without limits', () => {
  it('costs no call of its object', async () => {
    const { chat, objects } = limited(undefined);
    expect((await chat(QUESTION)).headers.get('x-ratelimit-limit-requests')).toBeNull();
    expect(objects.calls).toEqual([]);
  });
});

describe('an object that does not answer', () => {
  const ways = ['failing', 'hanging'] as const;
  /** Where it hangs, and nowhere else. */
  const SHORT = { limitsMs: 20 };

  it.each(ways)('has requests refused by default: %s', async (way) => {
    const { chat, objects, fetched } = limited({ usd_per_day: 1 });
    objects[way].add('reserve');
    shorten(SHORT);
    const refused = await chat(QUESTION);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'store_failed' } });
    expect(fetched).not.toHaveBeenCalled();
  });

  it.each(ways)('has them sent if the deployment says so, and their end is counted: %s', async (way) => {
    const { chat, objects, upstream, days } = limited({ usd_per_day: 1 }, { LIMITS_UNREACHABLE: 'allow' });
    objects[way].add('reserve');
    shorten(SHORT);
    const { answer } = upstream;
    upstream.answer = () => {
      restoreLimits();
      return answer();
    };
    expect((await chat(QUESTION)).status).toBe(200);
    expect(await days()).toMatchObject([{ requests: 1, amount: PRICE }]);
  });

  it('counts what was sent meanwhile when it answers again', async () => {
    shorten({ reportSpentPauseMs: 1 });
    const { chat, objects, days } = limited({ usd_per_day: 1 }, { LIMITS_UNREACHABLE: 'allow' });
    for (const method of ['reserve', 'settle']) objects.failing.add(method);
    for (let asked = 0; asked < 3; asked++) expect((await chat(QUESTION)).status).toBe(200);
    expect(await days()).toEqual([]);
    objects.failing.clear();
    await chat(QUESTION);
    expect(await days()).toMatchObject([{ requests: 4, amount: 4 * PRICE }]);
  });

  it('counts what was sent when it answers soon after', async () => {
    shorten({ reportSpentPauseMs: 50 });
    const { chat, objects, days } = limited({ usd_per_day: 1 }, { LIMITS_UNREACHABLE: 'allow' });
    const down = Promise.withResolvers<void>();
    objects.failing.add('reserve');
    objects.gates.set('settle', down.promise);
    const asked = chat(QUESTION);
    await expect.poll(() => objects.calls).toContain('settle');
    // The first call fails, and the next one does not.
    objects.gates.clear();
    down.reject(new Error('the object is down'));
    await asked;
    expect(await days()).toMatchObject([{ requests: 1, amount: PRICE }]);
  });

  it.each(ways)('counts as estimated what it does not know the end of: %s', async (way) => {
    const { chat, objects, upstream, codeOf } = limited({ usd_per_day: dollars(PRICE / 2) });
    objects[way].add('settle');
    const { answer } = upstream;
    upstream.answer = () => {
      shorten(SHORT);
      return answer();
    };
    expect(await codeOf(chat(QUESTION))).toBe('ok');
    restoreLimits();
    expect(await codeOf(chat(QUESTION))).toBe('budget_exceeded');
  });
});
