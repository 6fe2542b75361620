/** Keys of conversations for the upstream's prompt cache. */
import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn, ofTurn } from '../../support/deployment/in-turn.ts';

const deployment = deploy({ upstream: { strict: false } });
const ACCESS_KEY = 'a-key-of-the-deployment-for-caches';
const sharing = deploy({
  vars: { ACCESS_KEYS: `alice=${ACCESS_KEY}`, UPSTREAM_API_KEY: 'sk-the-key-of-the-account-1' },
  upstream: { strict: false },
});
const uncached = deploy({ vars: { UPSTREAM_PROMPT_CACHE: 'false' }, upstream: { strict: false } });

type Json = Record<string, unknown>;

let keys = 0;
const callerOf = (on = deployment, key = `sk-the-key-of-a-keyed-caller-${++keys}`) => {
  return async (
    path: 'chat/completions' | 'responses',
    body: Json,
    { headers = {}, turns = 2 }: { headers?: Record<string, string>; turns?: number } = {},
  ) => {
    const field = path === 'responses' ? 'input' : 'messages';
    const talk = Array.from({ length: turns }, (_, turn) => [
      { role: 'user', content: `Question ${turn} of this one.` },
      { role: 'assistant', content: `Answer ${turn}.` },
    ]).flat();
    const before = on.upstream.requests.length;
    const sent = JSON.stringify({ memory_strategy: 'auto', ...body, [field]: talk.slice(0, -1) });
    const response = await fetch(`${on.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: sent,
    });
    await response.text();
    const seen = on.upstream.requests.slice(before).filter(({ method }) => method === 'POST');
    const fields = seen.map(({ body }) => body.prompt_cache_key);
    const ids = seen.map(({ headers: got }) => got['x-grok-conv-id']);
    return { status: response.status, fields, ids, sent, raw: seen.map(({ rawBody }) => String(rawBody)) };
  };
};

const NAMED = { conversation_id: 'conversation one' };
const KEY = /^[0-9a-f]{40}$/;

const PLACES = [
  ['grok-4.6', 'responses', 'fields'],
  ['grok-4.6', 'chat/completions', 'ids'],
  ['x-ai/grok-4-7', 'chat/completions', 'ids'],
  ['gpt-5', 'responses', 'fields'],
  ['openai/gpt-5', 'chat/completions', 'fields'],
] as const;

inTurn(
  PLACES,
  ([model, path]) => `a conversation with ${model} over ${path}`,
  ([model, path, place]) => {
    const other = place === 'ids' ? 'fields' : 'ids';

    it.each(ofTurn(0, [false, true]))(
      'has a key of its own from its first request on (stream: %s)',
      async (stream) => {
        const ask = callerOf();
        const first = await ask(path, { model, stream, ...NAMED }, { turns: 1 });
        const next = await ask(path, { model, stream, ...NAMED }, { turns: 3 });
        const another = await ask(path, { model, stream, conversation_id: 'conversation two' });
        const strangers = await callerOf()(path, { model, stream, ...NAMED });
        expect(first[place]).toEqual([expect.stringMatching(KEY)]);
        expect(next[place]).toEqual(first[place]);
        expect(first[other]).toEqual([undefined]);
        expect(new Set([first, another, strangers].map((one) => one[place][0])).size).toBe(3);
      },
    );

    it('without a name has one from its first request on, where nothing is cached otherwise', async () => {
      const ask = callerOf();
      const [first, second, third] = [
        await ask(path, { model }, { turns: 1 }),
        await ask(path, { model }, { turns: 2 }),
        await ask(path, { model }, { turns: 3 }),
      ];
      const isNeeded = model.includes('grok');
      expect(first[place]).toEqual([isNeeded ? expect.stringMatching(KEY) : undefined]);
      expect([second[place], third[place]]).toEqual([first[place], first[place]]);
      const strangers = await callerOf()(path, { model }, { turns: 1 });
      if (isNeeded) expect(strangers[place]).not.toEqual(first[place]);
    });

    it('keeps the caller’s', async () => {
      const ask = callerOf();
      const inBody = await ask(path, { model, ...NAMED, prompt_cache_key: 'mine' });
      expect([inBody.fields, inBody.ids]).toEqual([['mine'], [undefined]]);
      const none = await ask(path, { model, ...NAMED, prompt_cache_key: null });
      expect([none.fields, none.ids]).toEqual([[null], [undefined]]);
      const inHeader = await ask(path, { model, ...NAMED }, { headers: { 'x-grok-conv-id': 'mine' } });
      expect([inHeader.fields, inHeader.ids]).toEqual([[undefined], ['mine']]);
    });

    it('is sent byte for byte in mode none, and where it is only observed', async () => {
      const ask = callerOf();
      const { raw, sent, ids } = await ask(path, { model, memory_strategy: undefined });
      expect([raw, ids]).toEqual([[sent], [undefined]]);
      const observed = await ask(path, { model, ...NAMED }, { headers: { 'x-memory-observe': 'true' } });
      expect([observed.fields, observed.ids]).toEqual([[undefined], [undefined]]);
    });

    it('has none where the deployment sends no fields of prompt caches', async () => {
      const { fields, ids } = await callerOf(uncached)(path, { model, ...NAMED });
      expect([fields, ids]).toEqual([[undefined], [undefined]]);
    });
  },
);

describe('a key of a prompt cache', () => {
  it.each(['claude-opus-5.5', 'gpt-oss-120b', 'llama3', 'deepseek-v4-pro'])(
    'does not go to %s',
    async (model) => {
      const { fields, ids } = await callerOf()('chat/completions', { model, ...NAMED });
      expect([fields, ids]).toEqual([[undefined], [undefined]]);
    },
  );

  it.each(['chat/completions', 'responses'] as const)(
    'that the upstream refuses is left out, and from then on, over %s',
    async (path) => {
      const ask = callerOf();
      deployment.upstream.next({
        type: 'error',
        status: 400,
        body: {
          error: { message: 'Unknown parameter.', param: 'prompt_cache_key', code: 'unknown_parameter' },
        },
      });
      const first = await ask(path, { model: 'gpt-5', ...NAMED });
      expect([first.status, first.fields]).toEqual([200, [expect.stringMatching(KEY), undefined]]);
      const next = await ask(path, { model: 'gpt-5', ...NAMED });
      expect([next.status, next.fields]).toEqual([200, [undefined]]);
    },
  );

  it('does not change what another refusal says', async () => {
    const error = { message: 'Unknown parameter.', param: 'temprature', code: 'unknown_parameter' };
    deployment.upstream.next({ type: 'error', status: 400, body: { error } });
    const { status, fields } = await callerOf()('responses', { model: 'gpt-5', ...NAMED });
    expect([status, fields.length]).toEqual([400, 1]);
  });
});

describe('a key of a conversation with a shared account', () => {
  it('that the upstream refuses leaves no other in the body, from the next attempt on', async () => {
    const ask = callerOf(sharing, ACCESS_KEY);
    const error = { message: 'Unknown parameter.', param: 'prompt_cache_key', code: 'unknown_parameter' };
    sharing.upstream.next({ type: 'error', status: 400, body: { error } });
    const first = await ask('responses', { model: 'grok-4.6', ...NAMED });
    expect([first.status, first.fields]).toEqual([200, [expect.stringMatching(KEY), undefined]]);
    const next = await ask('responses', { model: 'grok-4.6', ...NAMED });
    expect([next.status, next.fields]).toEqual([200, [undefined]]);
  });

  it('is in the header alone where that is its place', async () => {
    const { ids, fields } = await callerOf(sharing, ACCESS_KEY)('chat/completions', {
      model: 'grok-4.5',
      ...NAMED,
    });
    expect([ids, fields]).toEqual([[expect.stringMatching(KEY)], [undefined]]);
  });

  it('is the tenant’s where the conversation has none', async () => {
    const { fields } = await callerOf(sharing, ACCESS_KEY)('responses', { model: 'gpt-5', ...NAMED });
    expect(fields).toEqual([expect.stringMatching(KEY)]);
  });
});

it('of a shared account is sent although its caller sends a header that does not', async () => {
  const ask = callerOf(sharing, ACCESS_KEY);
  const headers = { 'x-grok-conv-id': 'mine' };
  const { ids } = await ask('chat/completions', { model: 'grok-4.6', ...NAMED }, { headers });
  expect(ids).toEqual([expect.stringMatching(KEY)]);
});
