import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { collect, dataOf } from '../../support/deployment/event-stream.ts';
import { untimed, type WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

const request = {
  model: recording.model,
  tools: recording.tools,
  messages: recording.messages.slice(0, 43),
  memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'off' },
  memory_report: true,
};

/** The upstream's answer to the last forwarded body, without Precis. */
async function askDirectly(): Promise<string> {
  const [asked] = deployment.upstream.requests.slice(-1);
  const response = await fetch(new URL(asked?.path ?? '', deployment.upstream.url), {
    method: 'POST',
    body: new Uint8Array(asked?.rawBody ?? []),
  });
  return response.text();
}

overProtocols('the report in a JSON answer', deployment, () => {
  it('is the last member, and the bytes before it are as the upstream sent them', async () => {
    const answer = await (await deployment.wire(request)).text();

    const direct = await askDirectly();
    expect(answer.slice(0, direct.length)).toBe(`${direct.slice(0, -1)},`);
    const { memory } = JSON.parse(answer) as WithMemory;
    expect(answer).toBe(`${direct.slice(0, -1)},"memory":${JSON.stringify(memory)}}`);
  });

  it('says what was done, in tokens, edits and refs', async () => {
    const response = await deployment.chat(request);

    const { memory } = (await response.json()) as WithMemory;
    const cleared = memory?.refs.length;
    expect(memory).toMatchObject({
      mode: 'compact',
      source: 'request',
      trigger: 'token_budget',
      tokens: { budget: 20_000, window: 1_047_576 },
      frontier: { moved: true },
      applied_edits: [{ type: 'compact', cleared_tool_results: cleared, cleared_tool_inputs: 0 }],
      warnings: [],
    });
    const { before = 0, after = 0 } = memory?.tokens ?? {};
    expect(memory?.applied_edits[0]?.cleared_tokens).toBe(before - after);
    expect(response.headers.get('x-memory-tokens-before')).toBe(String(before));
    expect(response.headers.get('x-memory-tokens-after')).toBe(String(after));
  });

  it('is asked for by a header as well, and is not there unasked', async () => {
    const { memory_report, ...unasked } = request;
    const [asked, silent] = await Promise.all([
      deployment.chat(unasked, { 'x-memory-report': 'true' }),
      deployment.chat(unasked),
    ]);

    expect(memory_report).toBe(true);
    expect(await asked.json()).toHaveProperty('memory.mode', 'compact');
    expect(await silent.json()).not.toHaveProperty('memory');
    expect(silent.headers.get('x-memory-tokens-after')).toBe(asked.headers.get('x-memory-tokens-after'));
  });

  it.each([
    ['true', true],
    [' True ', true],
    ['ON', true],
    ['false', false],
    ['off', false],
    ['', false],
  ])('is asked for by a word for yes in the header: %j', async (word, isAsked) => {
    const { memory_report, ...unasked } = request;

    const response = await deployment.chat(unasked, { 'x-memory-report': word });

    expect(memory_report).toBe(true);
    expect('memory' in ((await response.json()) as object)).toBe(isAsked);
  });

  it.each(['x-memory-report', 'x-memory-observe', 'x-memory-injection'])(
    'is refused where %s says neither yes nor no, with what would be right',
    async (name) => {
      const { messages, model, memory_strategy } = request;
      const unread = { model, messages };
      const ask = (path: string, body: object, headers: Record<string, string>) =>
        deployment.fetch(path, { method: 'POST', body: JSON.stringify(body), headers });
      for (const word of ['yes', '1', 'no', '0', 'maybe', 'true, true']) {
        const headers = { [name]: word };
        const answers = [
          await deployment.chat(request, headers),
          await deployment.chat({ ...request, stream: true }, headers),
          await deployment.chat(unread, headers),
          await ask('/v1/compact', { model, messages, memory_strategy }, headers),
          await ask('/v1/explain', { model, messages, memory_strategy }, headers),
        ];
        for (const answer of answers) {
          expect(answer.status, word).toBe(400);
          expect(await answer.json()).toEqual({
            error: {
              message: expect.stringMatching(new RegExp(`${name} .*true`)),
              type: 'invalid_request_error',
              param: name,
              code: 'invalid_memory_strategy',
            },
          });
        }
      }
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it('is given in mode none too, without tokens', async () => {
    const response = await deployment.chat({ ...request, memory_strategy: 'none' });

    const { memory } = (await response.json()) as WithMemory;
    expect(memory).toMatchObject({ mode: 'none', trigger: 'none', refs: [], applied_edits: [] });
    expect(memory).not.toHaveProperty('tokens');
  });

  it('counts the tokens of a body so small that nothing needs counting', async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const response = await deployment.chat({ ...request, tools: undefined, messages });
    const unasked = await deployment.chat({ ...request, tools: undefined, messages, memory_report: false });

    // OpenAI bills one token of content, one for the role, three around the message, and three for
    // the answer.
    expect(await response.json()).toMatchObject({ memory: { tokens: { before: 8, after: 8 } } });
    expect(unasked.headers.has('x-memory-tokens-before')).toBe(false);
  });
});

overProtocols('the report in a stream', deployment, () => {
  it('is the report that the same request gets as JSON', async () => {
    const whole = (await (await deployment.chat(request)).json()) as WithMemory;
    const stream = await (await deployment.chat({ ...request, stream: true })).text();

    const last = JSON.parse(dataOf(stream).at(-2) ?? '') as WithMemory;
    expect(untimed(last.memory)).toEqual(untimed(whole.memory));
  });

  it("passes through the client's accumulator", async () => {
    const toolCalls = [{ id: 'call_1', name: 'read_file', arguments: '{"path":"src/index.ts"}' }];
    deployment.upstream.next({ type: 'answer', toolCalls });

    const completion = await deployment.client().chat.completions.stream(request).finalChatCompletion();

    expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_1', function: { name: 'read_file', arguments: '{"path":"src/index.ts"}' } },
    ]);
  });
});

/** Chat only: responses.test.ts has the report in a stream of the Responses API. */
describe('the report in a stream of chunks', () => {
  const streamed = { ...request, stream: true, stream_options: { include_usage: true } };

  it('is a chunk of its own before [DONE], and the frames around it are as the upstream sent them', async () => {
    const answer = await (await deployment.chat(streamed)).text();

    const direct = await askDirectly();
    const done = 'data: [DONE]\n\n';
    expect(direct.endsWith(done)).toBe(true);
    const beforeDone = direct.slice(0, -done.length);
    expect(answer.startsWith(beforeDone)).toBe(true);
    expect(answer.endsWith(done)).toBe(true);
    const added = dataOf(answer.slice(beforeDone.length));
    expect(added).toHaveLength(2);
    const first = JSON.parse(dataOf(direct)[0] ?? '');
    expect(JSON.parse(added[0] ?? '')).toMatchObject({
      id: first.id,
      model: first.model,
      created: first.created,
      object: 'chat.completion.chunk',
      choices: [],
      memory: { mode: 'compact', trigger: 'token_budget' },
    });
  });

  it('passes through the iteration of the client', async () => {
    const { data, response } = await deployment
      .client()
      .chat.completions.create({ ...streamed, stream: true as const })
      .withResponse();
    const chunks = await collect(data);

    const withReport = chunks.filter((chunk) => 'memory' in chunk);
    expect(withReport).toHaveLength(1);
    expect(chunks.at(-1)).toBe(withReport[0]);
    expect(chunks.at(-2)?.usage?.total_tokens).toBeGreaterThan(0);
    expect(response.headers.get('x-memory-applied')).toBe('compact');
  });

  it('still comes when the upstream ends after its finish reason without saying [DONE]', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
    });

    const answer = await (await deployment.chat(streamed)).text();

    const data = dataOf(answer);
    expect(data).toHaveLength(2);
    expect(JSON.parse(data[1] ?? '')).toMatchObject({ id: 'c', choices: [], memory: { mode: 'compact' } });
  });
});
