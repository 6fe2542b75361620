/** `POST /v1/responses/input_tokens`: the count of the view that would be sent. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { RESPONSES } from '../../support/deployment/protocol.ts';

const deployment = deploy();
const shared = deploy({
  vars: {
    ACCESS_KEYS: `alice=${'a-key-of-alice-'.repeat(3)}`,
    UPSTREAM_API_KEY: 'sk-of-the-account-0123456789',
  },
});

const STRATEGIES = {
  none: { mode: 'none' },
  compact: { mode: 'compact', token_budget: 20_000 },
  auto: { mode: 'auto', token_budget: 20_000 },
} as const;

describe('a count of input tokens', () => {
  const { model, tools, messages } = recording;
  const { input, tools: functions } = RESPONSES.body({ model, tools, messages: messages.slice(0, 43) }) as {
    input: object[];
    tools: object[];
  };
  const client = () => new OpenAI({ baseURL: `${deployment.url}/v1`, apiKey: KEY, maxRetries: 0 });
  const count = async (fields: object) => {
    const body = { model, input, tools: functions, ...fields } as OpenAI.Responses.InputTokenCountParams;
    return client().responses.inputTokens.count(body);
  };
  const sent = () => deployment.upstream.requests.at(-1);

  it.each(Object.entries(STRATEGIES))(
    'in mode %s is of what a request then sends',
    async (mode, strategy) => {
      const counted = await count({ memory_strategy: strategy });
      const { body: asked, path } = sent() ?? {};
      const whole = await count({});
      await client().responses.create({ model, input, tools: functions, memory_strategy: strategy } as never);
      const created = sent()?.body;

      expect(path).toBe('/v1/responses/input_tokens');
      expect(counted.object).toBe('response.input_tokens');
      expect([asked?.input, asked?.tools, asked?.model]).toEqual([created?.input, created?.tools, model]);
      if (mode === 'none') expect(counted).toEqual(whole);
      else expect(counted.input_tokens).toBeLessThan(whole.input_tokens);
    },
  );

  it.each([
    ['in no mode', undefined],
    ...Object.entries({ ...STRATEGIES, native: { mode: 'native' } }),
  ] as const)('asks for a compaction as the request does that is counted: %s', async (_, memory_strategy) => {
    const fields = {
      model,
      input,
      context_management: [{ type: 'compaction', compact_threshold: 1_000_000 }],
      ...(memory_strategy && { memory_strategy }),
    };
    for (const route of ['/v1/responses/input_tokens', '/v1/responses'])
      await deployment.postTo(route, fields);

    const [counted, answered] = deployment.upstream.requests.slice(-2).map(({ body }) => body);
    expect(counted).toEqual(answered);
  });

  it('has the headers of the view, and stores nothing', async () => {
    const request = { model, input, tools: functions, memory_strategy: STRATEGIES.compact };
    const asText = JSON.stringify(request).replaceAll('apples', 'pears of a count');
    const response = await deployment.fetch('/v1/responses/input_tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: asText.replace('"role":"user"', '"role": "user"'),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-applied')).toContain('compact');
    expect(Number(response.headers.get('x-memory-tokens-after'))).toBeLessThan(20_000);
    const stranger = { authorization: 'Bearer sk-a-stranger-0123456789012345' };
    await deployment.fetch('/v1/responses/input_tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...stranger },
      body: asText,
    });
    const refs = await deployment.fetch('/v1/refs', { headers: stranger });
    expect(((await refs.json()) as { data: unknown[] }).data).toEqual([]);
  });

  it('of an observed conversation is of the caller’s array', async () => {
    await count({ memory_strategy: { ...STRATEGIES.auto, observe: true } });
    expect(sent()?.body?.input).toEqual(input);
  });

  it('is the upstream’s own error where it refuses one', async () => {
    deployment.upstream.next({ type: 'error', status: 404 });
    await expect(count({ memory_strategy: STRATEGIES.auto })).rejects.toMatchObject({ status: 404 });
    await expect(count({ memory_strategy: { mode: 'nothing' } })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_memory_strategy',
    });
  });

  it('is open to callers of a shared account, but for its stored data', async () => {
    const ask = (body: object) =>
      shared.postTo(
        '/v1/responses/input_tokens',
        { model, input: 'Hello', ...body },
        { authorization: `Bearer ${'a-key-of-alice-'.repeat(3)}` },
      );
    expect((await ask({})).status).toBe(200);
    expect(shared.upstream.requests.at(-1)?.body).toEqual({ model, input: 'Hello' });
    expect((await ask({ previous_response_id: 'resp_1' })).status).toBe(400);

    const named = { input: 'Hello', prompt_cache_key: 'of-alice' };
    for (const more of [
      {},
      { memory_strategy: STRATEGIES.compact },
      { memory_strategy: { ...STRATEGIES.compact, observe: true } },
    ]) {
      expect((await ask({ ...named, ...more })).status).toBe(200);
      const counted = shared.upstream.requests.at(-1)?.body;
      const headers = {
        authorization: `Bearer ${'a-key-of-alice-'.repeat(3)}`,
        'content-type': 'application/json',
      };
      await shared.fetch('/v1/responses', {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, ...named, ...more }),
      });
      const { store, ...answered } = shared.upstream.requests.at(-1)?.body ?? {};
      expect(store).toBe(false);
      expect(counted).toEqual(answered);
      expect(JSON.stringify(counted)).not.toContain('of-alice');
    }
  });
});
