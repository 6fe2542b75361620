import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  conversation,
  type Message,
  readSummary,
  SUMMARIZER_KEY,
  SUMMARIZER_MODEL,
  summarize,
  tokensIn,
  UNWANTED,
} from '../../support/deployment/summarizer.ts';

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

const ACCESS_KEY = 'precis-ours-0123456789abcdef';

const offering = deploy({ summarizer: true, vars: { SUMMARIZER_MODELS: 'gpt-4.1-mini, o4-mini' } });
const plain = deploy();
const named = deploy({ vars: { SUMMARIZER_MODEL: 'gpt-4.1-nano' } });
const shared = deploy({
  vars: { ACCESS_KEYS: `ours=${ACCESS_KEY}`, UPSTREAM_API_KEY: 'sk-the-key-of-the-deployment-1' },
});
const narrow = deploy({ summarizer: true, vars: { SUMMARIZER_WINDOW_TOKENS: '8000' } });

overProtocols('a deployment with a summarizer of its own', offering, () => {
  it("asks it with its own model and key, and never with the caller's key", async () => {
    await offering.chat(
      { model: 'gpt-4.1', memory_strategy: strategy, messages: conversation('apples', 4) },
      { 'openai-organization': 'org-of-the-caller', 'x-custom': 'of the caller', cookie: 'a=b' },
    );

    const [request, ...more] = offering.summarizer.requests;
    expect(more).toEqual([]);
    expect(request?.headers.authorization).toBe(`Bearer ${SUMMARIZER_KEY}`);
    expect(request?.body.model).toBe(SUMMARIZER_MODEL);
    const sent = JSON.stringify([request?.headers, request?.path, request?.body]);
    expect(sent).not.toContain(KEY);
    expect(sent).not.toMatch(/org-of-the-caller|of the caller|a=b/);
    expect(JSON.stringify(offering.upstream.requests.map(({ headers }) => headers))).not.toContain(
      SUMMARIZER_KEY,
    );
    expect(offering.chats()).toHaveLength(1);
  });

  it('asks the model that the strategy names, if it is offered', async () => {
    const memory_strategy = { ...strategy, summarizer_model: 'gpt-4.1-mini' };

    await offering.ask({ memory_strategy, messages: conversation('pears', 4) });

    expect(offering.summarizer.requests.map(({ body }) => body.model)).toEqual(['gpt-4.1-mini']);
  });

  it.each([
    ['at the limit', 4],
    ['below the limit, with a report', 2],
  ])('refuses a model that it does not offer %s', async (_, turns) => {
    const response = await offering.chat({
      model: 'gpt-4.1',
      memory_strategy: { ...strategy, summarizer_model: 'gpt-9' },
      memory_report: true,
      messages: conversation('plums', turns),
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_memory_strategy',
        param: 'memory_strategy.summarizer_model',
        message: expect.stringContaining('gpt-4.1-mini'),
      },
    });
    expect(offering.upstream.requests).toEqual([]);
  });

  it('refuses a model that it does not offer from the first turn on', async () => {
    const response = await offering.chat({
      model: 'gpt-4.1',
      memory_strategy: { ...strategy, summarizer_model: 'gpt-9' },
      messages: conversation('plums', 1),
    });

    expect(response.status).toBe(400);
  });

  it.each([
    ['memory_strategy.keep_last_n_turns', { keep_last_n_turns: 5 }],
    ['memory_strategy.summary_max_tokens', { summary_max_tokens: 1 }],
    ['memory_strategy.context_limit', { context_limit: -1 }],
    ['memory_strategy.rolling_window_size', { rolling_window_size: 14 }],
  ])('refuses a wrong %s', async (param, fields) => {
    const response = await offering.chat({
      model: 'gpt-4.1',
      memory_strategy: { ...strategy, ...fields },
      messages: conversation('figs', 4),
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
  });

  it('asks it for nothing, and stores nothing, when the upstream has not accepted the key', async () => {
    const response = await offering.chat(
      { model: 'gpt-4.1', memory_strategy: strategy, messages: conversation('limes', 4) },
      { authorization: 'Bearer sk-invalid-key-of-nobody-0001' },
    );

    expect(response.status).toBe(401);
    expect(offering.summarizer.requests).toEqual([]);
  });

  it('gives a caller without a tenant the digest, the same for the same array', async () => {
    const request = { memory_strategy: strategy, messages: conversation('lemons', 4) };

    const first = await offering.ask(request, { authorization: 'Bearer EMPTY' });
    const second = await offering.ask(request, { authorization: 'Bearer EMPTY' });

    expect(first.memory.summary?.status).toBe('degraded');
    expect(first.memory.summary).not.toHaveProperty('ref');
    expect(readSummary(first.seen.body.messages[2].content).ref).toBeUndefined();
    expect(second.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
  });

  it('says to a caller without a tenant why', async () => {
    const request = { memory_strategy: strategy, messages: conversation('lemons', 4) };

    const { memory } = await offering.ask(request, { authorization: 'Bearer EMPTY' });

    expect(memory.warnings).toContain('no_tenant');
  });
});

overProtocols('a deployment that names a model of the upstream alone', named, () => {
  it.each([
    ['gpt-4.1-nano', {}],
    ['o4-mini', { summarizer_model: 'o4-mini' }],
  ])("asks the request's upstream for %s, with its key", async (model, fields) => {
    named.upstream.next(summarize);
    const messages = conversation(`pears of ${model}`, 4);

    const { memory } = await named.ask({ memory_strategy: { ...strategy, ...fields }, messages });

    const [asked] = named.chats();
    expect(asked?.body.model).toBe(model);
    expect(asked?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(memory.summary?.status).toBe('completed');
  });
});

overProtocols('a deployment without a summarizer', plain, () => {
  it.each([
    ['whole', {}],
    ['streaming', { stream: true }],
  ])("uses the request's upstream, model and key: %s", async (form, fields) => {
    plain.upstream.next(summarize);
    const messages = conversation(`apples ${form}`, 4);

    const { memory, seen, text } = await plain.ask(
      { model: 'gpt-5-nano', memory_strategy: strategy, ...fields, messages },
      { 'openai-organization': 'org-of-the-caller' },
    );

    const [asked, answered, ...more] = plain.chats();
    expect([answered, more]).toEqual([seen, []]);
    expect(asked?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(asked?.headers['openai-organization']).toBe('org-of-the-caller');
    expect(asked?.body.model).toBe('gpt-5-nano');
    expect(asked?.body).not.toHaveProperty('memory_strategy');
    expect(tokensIn(seen.body.messages[2].content)).toEqual(tokensIn(memory.summary?.text ?? ''));
    expect(tokensIn(memory.summary?.text ?? '')).toHaveLength(1);
    expect(text).not.toContain('chatcmpl-summary');
  });

  it('asks the model that the strategy names, whatever it is', async () => {
    plain.upstream.next(summarize);
    const memory_strategy = { ...strategy, summarizer_model: 'any-model' };

    await plain.ask({ memory_strategy, messages: conversation('pears', 4) });

    expect(plain.chats().map(({ body }) => body.model)).toEqual(['any-model', 'gpt-4.1']);
  });

  it.each<[string, Record<string, string>, string | undefined]>([
    ['no key', {}, undefined],
    ['a key that is too short for a tenant', { authorization: 'Bearer EMPTY' }, 'Bearer EMPTY'],
  ])(
    "compacts for a caller with %s, by the request's own upstream, and keeps nothing",
    async (who, headers, key) => {
      const body = JSON.stringify({
        model: 'gpt-5-nano',
        memory_strategy: strategy,
        conversation_id: who,
        messages: conversation(`quinces, ${who}`, 4),
      });
      const compact = async () => {
        plain.upstream.next(summarize);
        const response = await fetch(`${plain.url}/v1/compact`, { method: 'POST', headers, body });
        return (await response.json()) as { messages: Message[]; memory: Report };
      };

      const { messages, memory } = await compact();
      const again = await compact();

      const [token] = tokensIn(memory.summary?.text ?? '');
      expect(token).toBeDefined();
      expect(tokensIn(readSummary(messages[2]?.content).text)).toEqual([token]);
      expect(memory.summary?.status).toBe('completed');
      expect(memory.summary).not.toHaveProperty('ref');
      expect(memory.summary).not.toHaveProperty('memory_id');
      expect(memory.warnings).toEqual(['no_tenant']);
      expect(plain.upstream.requests.map(({ path }) => path)).toEqual(Array(2).fill('/v1/chat/completions'));
      expect(plain.chats().map(({ headers: sent }) => sent.authorization)).toEqual([key, key]);
      expect(plain.chats().map(({ body: sent }) => sent.model)).toEqual(['gpt-5-nano', 'gpt-5-nano']);
      // A summary that is stored nowhere is made again.
      expect(tokensIn(again.memory.summary?.text ?? '')).not.toEqual([token]);
    },
  );

  it('answers with the upstream’s own error when that refuses both', async () => {
    const fault = {
      type: 'error' as const,
      status: 403,
      body: { error: { message: 'No access to it.', type: 'invalid_request_error' } },
    };
    plain.upstream.next(fault, fault);

    const response = await plain.chat({
      model: 'gpt-4.1',
      memory_strategy: strategy,
      messages: conversation('plums', 4),
    });

    expect(response.status).toBe(403);
    expect(await response.json()).toEqual(fault.body);
  });
});

overProtocols('a deployment with access keys and no summarizer', shared, (protocol) => {
  it("asks the upstream with the deployment's key, and never with the access key", async () => {
    shared.upstream.next(summarize);

    const { memory } = await shared.ask(
      { memory_strategy: strategy, messages: conversation(`apples, over ${protocol.name}`, 4) },
      { authorization: `Bearer ${ACCESS_KEY}` },
    );

    expect(memory.summary?.status).toBe('completed');
    expect(shared.chats().map(({ headers }) => headers.authorization)).toEqual(
      Array(2).fill('Bearer sk-the-key-of-the-deployment-1'),
    );
    expect(JSON.stringify(shared.upstream.requests.map(({ headers }) => headers))).not.toContain(ACCESS_KEY);
  });
});

overProtocols('a summarizer with a small window', narrow, () => {
  const memory_strategy = { ...strategy, summary_max_tokens: 512 };

  async function memoriesOf(conversation: string) {
    const response = await narrow.fetch(`/v1/conversations/${conversation}/memory`);
    const { memories } = (await response.json()) as {
      memories: { memory_id: number; status: string; covers_end: number }[];
    };
    return memories;
  }

  it('reads a long prefix in portions, each on top of the summary so far, and each message once', async () => {
    const { memory } = await narrow.ask({ memory_strategy, messages: conversation('crates', 30) });

    const { readings } = narrow.summarizer;
    expect(readings.length).toBeGreaterThan(2);
    for (const { request } of readings) expect(request.rawBody.length).toBeLessThan(4 * 8_000);
    expect(readings.flatMap(({ messages }) => messages.map(({ index }) => index))).toEqual(
      Array.from({ length: 56 }, (_, at) => at + 1),
    );
    expect(readings.map(({ after }) => after.length)).toEqual(readings.map((_, at) => at));
    expect(memory.summary?.covers).toEqual([1, 56]);
    const total = readings.reduce((sum, { usage }) => sum + usage.total_tokens, 0);
    expect(memory.summary?.usage.total_tokens).toBe(total);
  });

  it('that fails at the second portion leaves a digest that goes on from the first', async () => {
    narrow.summarizer.next('summary', 'refusal');
    const conversation_id = 'half read';

    const { memory, seen } = await narrow.ask({
      memory_strategy,
      conversation_id,
      messages: conversation('barrels', 30),
    });

    const { text } = readSummary(seen.body.messages[2].content);
    expect(memory.summary).toMatchObject({ status: 'degraded', covers: [1, 56] });
    expect(text).toContain('Question 28 about barrels');
    expect(text).not.toContain(UNWANTED);
    const memories = await memoriesOf('half%20read');
    expect(memories.map(({ status }) => status)).toEqual(['completed', 'completed', 'failed']);
    expect(memories[1]?.covers_end).toBe((narrow.summarizer.readings[0]?.messages.at(-1)?.index ?? 0) + 1);
  });

  it('that fails at the second portion leaves a digest made of the base that it names', async () => {
    narrow.summarizer.next('summary', 'refusal');

    const { memory } = await narrow.ask({
      memory_strategy,
      conversation_id: 'half paid',
      messages: conversation('casks', 30),
    });

    const [, portion] = await memoriesOf('half%20paid');
    expect(memory.summary?.base_memory_id).toBe(portion?.memory_id);
    expect(tokensIn(memory.summary?.text ?? '')).toEqual([narrow.summarizer.readings[0]?.token]);
  });

  it('reads a message that is larger than its window in several portions', async () => {
    const messages = conversation('silos', 4);
    const words = Array.from({ length: 12_000 }, (_, at) => `word${at}`).join(' ');
    messages[2] = { role: 'assistant', content: words };

    const { memory } = await narrow.ask({ memory_strategy, messages });

    const { readings } = narrow.summarizer;
    expect(readings.length).toBeGreaterThan(3);
    expect(memory.summary?.status).toBe('completed');
    const read = readings.flatMap(({ messages: [...all] }) => all.map(({ text }) => text)).join(' ');
    for (const word of ['word0', 'word6000', 'word11999']) expect(read).toContain(word);
  });
});
