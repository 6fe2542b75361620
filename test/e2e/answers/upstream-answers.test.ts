import { gzipSync } from 'node:zlib';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { startUpstream } from '../../../tools/upstream/upstream.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { saidStream } from '../../support/conversations/said-stream.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: false } });

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('what an upstream may answer')]);
const request = { model, messages, memory_strategy: COMPACT_OLD_TURNS, memory_report: true };

overProtocols("the upstream's refusal", deployment, () => {
  type Refusal = Extract<Behaviour, { type: 'error' }>;
  const rateLimited = {
    type: 'error' as const,
    status: 429,
    headers: {
      'retry-after': '7',
      'retry-after-ms': '7000',
      'x-ratelimit-reset-tokens': '6m0s',
      'x-should-retry': 'true',
    },
    body: '{"error": {"message":"Rate limit reached for gpt-4.1-mini", "type":"tokens","param":null,"code":"rate_limit_exceeded"} }\n',
  };
  const tooLong = {
    type: 'error' as const,
    status: 400,
    body: '{ "error":{"message":"This model\'s maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}',
  };
  const broken = {
    type: 'error' as const,
    status: 500,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: '<html>\r\n<h1>500 – Internal Server Error</h1></html>',
  };
  const unauthorized = {
    type: 'error' as const,
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
    body: '',
  };

  it.each<[string, Refusal]>([
    ['429', rateLimited],
    ['400', tooLong],
    ['500', broken],
    ['401', unauthorized],
  ])('with %s is relayed byte for byte, with its headers, whole and streamed', async (_, refusal) => {
    for (const stream of [false, true]) {
      deployment.upstream.next(refusal);

      const response = await deployment.chat({ ...request, memory_strategy: 'none', stream });

      expect(response.status).toBe(refusal.status);
      expect(await response.text()).toBe(refusal.body);
      expect(Object.fromEntries(response.headers)).toMatchObject(refusal.headers ?? {});
      expect(response.headers.get('x-request-id')).toMatch(/^req_\d+$/);
    }
  });

  it('is relayed for an edited view too, with what was done to it in headers only', async () => {
    deployment.upstream.next(rateLimited);

    const response = await deployment.chat(request);

    expect(await response.text()).toBe(rateLimited.body);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(response.headers.get('x-memory-applied')).toBe('compact');
  });

  it('is the error that the client knows', async () => {
    deployment.upstream.next(tooLong, rateLimited);
    const { completions } = deployment.client().chat;

    const overflow = completions.create({ model, messages });
    await expect(overflow).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    });
    const limited = completions.create({ model, messages, stream: true });
    await expect(limited).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it('lets the client try again when the upstream says so', async () => {
    deployment.upstream.next({ ...rateLimited, headers: { 'retry-after-ms': '1' } });

    const completion = await deployment
      .client({ maxRetries: 1 })
      .chat.completions.create({ model, messages });

    expect(completion.choices[0]?.message.content).toBe('This is what the upstream has to say.');
    expect(deployment.chats()).toHaveLength(2);
  });
});

overProtocols('a redirect of the upstream', deployment, () => {
  it.each([301, 302, 307, 308])('with %i is not followed, and no client follows it', async (status) => {
    const elsewhere = await startUpstream();
    try {
      deployment.upstream.next({ type: 'redirect', location: `${elsewhere.url}/chat/completions`, status });
      const headers = { 'content-type': 'application/json' };

      const response = await deployment.fetch('/v1/chat/completions', {
        method: 'POST',
        headers,
        body: JSON.stringify(request),
        redirect: 'manual',
      });

      expect(response.status).toBe(502);
      expect(response.headers.get('location')).toBeNull();
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe('upstream_unreachable');
      expect(error.message).toContain(`it answered with a redirect (status ${status})`);
      expect(elsewhere.requests).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  it('to a file is relayed, since it is where the upstream keeps it', async () => {
    const location = 'https://files.example/signed?until=tomorrow';
    deployment.upstream.next({ type: 'redirect', location, status: 302 });

    const response = await deployment.fetch('/v1/files/file-1/content', { redirect: 'manual' });

    expect([response.status, response.headers.get('location')]).toEqual([302, location]);
  });
});

overProtocols('an answer that is compressed', deployment, (protocol) => {
  it.each(ofTurn(1, [true, false]))(
    'arrives readable, with the report asked for: %s',
    async (memory_report) => {
      deployment.upstream.next({ type: 'gzip' });

      const response = await deployment.postTo(
        '/v1/chat/completions',
        { ...request, memory_report },
        { 'accept-encoding': 'identity' },
      );

      expect(response.headers.has('content-encoding')).toBe(false);
      const answer = (await response.json()) as OpenAI.ChatCompletion;
      expect(answer.choices[0]?.message.content).toBe('This is what the upstream has to say.');
      expect('memory' in answer).toBe(memory_report);
    },
  );

  it('arrives readable as a stream', async () => {
    const { open, words, close } = saidStream(protocol, ['all']);
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(gzipSync(open + words[0] + close));
    });

    const response = await deployment.wire({ model, messages, stream: true });

    expect(await response.text()).toBe(open + words[0] + close);
  });
});

async function outcomeOf(response: Response): Promise<unknown[]> {
  return [response.status, await response.json()];
}

const errorOf = (code: string) => ({
  error: { message: expect.stringContaining('upstream'), type: 'server_error', param: null, code },
});

describe('an upstream that takes long', () => {
  const HEADERS_TIMEOUT_MS = 1_500;
  const hasty = deploy({
    upstream: { strict: false },
    vars: { UPSTREAM_HEADERS_TIMEOUT_MS: String(HEADERS_TIMEOUT_MS) },
  });

  overProtocols('an upstream that takes long', hasty, (protocol) => {
    it('for its headers is late, and its connection is closed', async () => {
      hasty.upstream.next({ type: 'hang' }, { type: 'hang' });

      const responses = await Promise.all([
        hasty.chat({ ...request, stream: true }),
        hasty.fetch('/v1/files/file_1'),
      ]);

      for (const response of responses)
        expect(await outcomeOf(response)).toEqual([504, errorOf('upstream_timeout')]);
      // Beside them, the upstream was asked whether it accepts the key.
      const silent = hasty.upstream.requests.filter(({ path }) => !path.endsWith('/models'));
      expect(silent).toHaveLength(2);
      await until('both connections are closed', () => silent.every(({ closed }) => closed));
    });

    it('may take longer for its body than for its headers', async () => {
      const { open, words, close } = saidStream(protocol, ['x']);
      hasty.upstream.next((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(open + words[0]);
        setTimeout(() => response.end(close), HEADERS_TIMEOUT_MS + 500);
      });

      const response = await hasty.wire({ ...request, stream: true, memory_report: false });

      expect(await response.text()).toBe(open + words[0] + close);
    });
  });
});

overProtocols('an upstream that does not answer', deployment, () => {
  it('is unreachable when nobody listens at its address', async () => {
    const before = deployment.worker.output().length;
    const responses = await deployment.withoutUpstream(() =>
      Promise.all([
        deployment.chat({ ...request, memory_strategy: 'none' }),
        deployment.chat({ ...request, stream: true }),
        deployment.fetch('/v1/models'),
      ]),
    );

    const { host } = new URL(deployment.upstream.url);
    for (const response of responses) {
      const [status, body] = await outcomeOf(response);
      expect([status, body]).toEqual([502, errorOf('upstream_unreachable')]);
      expect(JSON.stringify(body)).toContain(
        `The upstream ${host} could not be reached: the connection was refused, or broke off.`,
      );
    }
    // The Worker's output comes by a pipe, and earlier cases may still write to it.
    const lineOf = (): string | undefined =>
      deployment.worker
        .output()
        .slice(before)
        .split('\n')
        .find((each) => each.includes('no answer from the upstream') && each.includes('unreachable'));
    await expect.poll(lineOf).toBeDefined();
    expect(JSON.parse(lineOf() ?? '{}')).toMatchObject({
      code: 'upstream_unreachable',
      host,
      why: 'the connection was refused, or broke off',
      error: expect.any(String),
    });
    expect((await deployment.chat({ model, messages })).status).toBe(200);
  });

  it('is unreachable when it closes the connection without a word', async () => {
    deployment.upstream.next((incoming) => incoming.socket.destroy());

    const response = await deployment.chat(request);

    expect(await outcomeOf(response)).toEqual([502, errorOf('upstream_unreachable')]);
  });

  it('that breaks off within a JSON answer is reported as unreachable where the report was to be added', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":', () => response.destroy());
    });

    const response = await deployment.chat(request);

    expect(await outcomeOf(response)).toEqual([502, errorOf('upstream_unreachable')]);
  });

  it('that breaks off within a JSON answer breaks off for the caller', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":', () => response.destroy());
    });

    const text = deployment.chat({ ...request, memory_report: false }).then((response) => response.text());

    await expect(text).rejects.toThrow();
  });
});
