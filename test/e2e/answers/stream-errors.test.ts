/** Errors of streamed requests, for callers who look for them in the stream. */
import { APIError } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { beforeEach, describe, expect, it } from 'vitest';
import { CODEX_HEADERS, readAsCodex } from '../../support/clients/codex.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { collect, dataOf } from '../../support/deployment/event-stream.ts';
import { until } from '../../support/deployment/polling.ts';

const METRICS_TOKEN = 'the-token-of-a-collector';

const deployment = deploy({ vars: { METRICS_TOKEN, LOG_LEVEL: 'info' } });

const COMPACT = JSON.stringify({ mode: 'compact', token_budget: 100_000 });
const EVENTS = { 'x-memory-stream-errors': 'events' };
const TOO_LONG = 'The prompt is too long: 9999 tokens > 6000 maximum';
/** No smaller view heals it: it has only one message. */
const INPUT = [{ role: 'user', content: 'Hello.' }];

let keys = 0;
/** Of a caller of its own, since limits are remembered. */
let authorization = '';
beforeEach(() => {
  authorization = `Bearer sk-the-key-of-stream-error-caller-${++keys}`;
});

interface Asked {
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

function asking(path: string, { body = {}, headers = {} }: Asked, array: object): Promise<Response> {
  return deployment.postTo(
    path,
    { model: 'gpt-5', stream: true, ...array, ...body },
    { 'x-memory-strategy': COMPACT, authorization, ...headers },
  );
}

const respond = (asked: Asked = {}) => asking('/v1/responses', asked, { input: INPUT });
const asCodex = ({ body = {}, headers = {} }: Asked = {}) =>
  respond({ body, headers: { ...CODEX_HEADERS, ...headers } });
const chat = (asked: Asked = {}) => asking('/v1/chat/completions', asked, { messages: INPUT });

const refusing = (status: number, error: object, headers: Record<string, string> = {}) =>
  deployment.upstream.next({
    type: 'error',
    status,
    body: { error },
    headers: { 'x-request-id': 'req_upstream', ...headers },
  });

/** An upstream's word that the prompt is too long, without the code that clients look for. */
const refuseLength = () => refusing(400, { message: TOO_LONG, type: 'invalid_request_error', code: null });

describe('Codex', () => {
  it('compacts when no view is short enough', async () => {
    refuseLength();
    const response = await asCodex();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-request-id')).toBe('req_upstream');
    expect(response.headers.get('x-memory-mode')).toBe('compact');
    const { turn, events } = await readAsCodex(response);
    expect(turn).toEqual({ does: 'compacts' });
    expect(events).toEqual(['response.created', 'response.failed']);
  });

  it.each<[string, object | string]>([
    ['of a gateway', { detail: TOO_LONG }],
    ['without a message', { error: { code: 'context_length_exceeded' } }],
    ['with its fields in the body', { object: 'error', message: TOO_LONG, code: 400 }],
  ])('compacts after a refusal %s, too, and loses none of its words', async (_, body) => {
    deployment.upstream.next({ type: 'error', status: 400, body });
    const text = await (await asCodex()).text();
    expect((await readAsCodex(new Response(text))).turn).toEqual({ does: 'compacts' });
    const message = 'detail' in Object(body) || 'error' in Object(body) ? JSON.stringify(body) : TOO_LONG;
    expect(JSON.parse(/^data: (.*failed.*)$/m.exec(text)?.[1] ?? '').response.error).toMatchObject({
      message,
    });
  });

  it.each([
    ['Codex Desktop', 'Codex Desktop/1.0 (Mac OS 26.0.0; arm64)'],
    ['codex_vscode', ''],
    ['', 'codex_exec/0.159.0 (Debian 13.0.0; x86_64) xterm (codex_exec; 0.159.0)'],
    ['', 'codex-tui/0.159.0 (Debian 13.0.0; x86_64)'],
  ])('is known by its originator %j or user agent %j', async (originator, agent) => {
    refuseLength();
    const { turn } = await readAsCodex(await asCodex({ headers: { originator, 'user-agent': agent } }));
    expect(turn).toEqual({ does: 'compacts' });
  });

  it.each([
    ['another client', { originator: 'opencode', 'user-agent': 'opencode/2.3.2' }],
    ['another client whose name begins alike', { originator: 'codexify', 'user-agent': 'codexify/1.0' }],
    ['Codex that asks for the status', { ...CODEX_HEADERS, 'x-memory-stream-errors': 'http' }],
  ])('alone gets it there: %s gets the status', async (_, headers) => {
    refuseLength();
    const response = await respond({ headers });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: TOO_LONG } });
  });

  it('gets a request of its own without a stream answered by the status', async () => {
    refuseLength();
    expect((await asCodex({ body: { stream: false } })).status).toBe(400);
  });

  it('waits as long as the upstream says', async () => {
    const error = { message: 'Slow down.', type: 'requests', code: 'rate_limit_exceeded' };
    refusing(429, error, { 'retry-after': '7' });
    const response = await asCodex();
    expect([response.status, response.headers.get('retry-after')]).toEqual([200, '7']);
    const text = 'Slow down. Please try again in 7s.';
    expect((await readAsCodex(response)).turn).toEqual({ does: 'retries', text, seconds: 7 });
  });

  it.each([
    ['its milliseconds', { 'retry-after-ms': '1500', 'retry-after': '2' }, 'Wait.', 1.5],
    ['the words of the error', { 'retry-after': '60' }, 'Please try again in 11.054s. Visit us.', 11.054],
    ['its seconds, where Codex does not read the words', { 'retry-after': '65' }, 'Try again in 1m5s.', 65],
    ['nobody', {}, 'Wait.', undefined],
  ])('learns by %s when to ask again', async (_, headers, message, seconds) => {
    refusing(429, { message, type: 'tokens', code: null }, headers);
    expect((await readAsCodex(await asCodex())).turn).toMatchObject({ does: 'retries', seconds });
  });

  it('does not ask again without quota', async () => {
    refusing(429, { message: 'No quota.', type: 'insufficient_quota', code: 'insufficient_quota' });
    expect((await readAsCodex(await asCodex())).turn).toEqual({ does: 'gives_up_quota' });
  });

  it('reads the limits of its plan from the status', async () => {
    refusing(429, { message: 'Used up.', type: 'usage_limit_reached', plan_type: 'plus', resets_at: 1 });
    expect((await asCodex()).status).toBe(429);
  });

  it.each([401, 403, 404, 500, 503])("gets an upstream's %i as it is", async (status) => {
    refusing(status, { message: 'No.', type: 'some_error', code: null });
    const response = await asCodex();
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: { message: 'No.', type: 'some_error', code: null } });
  });

  it('gets any other 400 of the upstream as it is', async () => {
    refusing(400, {
      message: 'Unknown parameter.',
      type: 'invalid_request_error',
      code: 'unknown_parameter',
    });
    expect((await asCodex()).status).toBe(400);
  });

  it('shows the words of an error of Precis, once', async () => {
    const body = { memory_strategy: { mode: 'compact', token_budgets: 1 } };
    const { turn } = await readAsCodex(await asCodex({ body }));
    expect(turn).toEqual({ does: 'shows', text: expect.stringContaining('token_budget') });
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('shows that its body is no JSON', async () => {
    const response = await deployment.postTo('/v1/responses', '{"input": [', {
      ...CODEX_HEADERS,
      'x-memory-strategy': COMPACT,
    });
    expect((await readAsCodex(response)).turn).toMatchObject({ does: 'shows' });
  });

  it('compacts when its body is too large to be read', async () => {
    const content = 'x'.repeat(16 * 1024 * 1024);
    const { turn } = await readAsCodex(await asCodex({ body: { input: [{ role: 'user', content }] } }));
    expect(turn).toEqual({ does: 'compacts' });
  });

  it('asks again where the upstream cannot be reached', async () => {
    const { turn } = await deployment.withoutUpstream(async () => readAsCodex(await asCodex()));
    expect(turn).toMatchObject({ does: 'retries', text: expect.stringContaining('upstream') });
  });

  it('gets the status for an agent that is not known', async () => {
    expect((await asCodex({ headers: { 'x-agent-type': 'nobody' } })).status).toBe(404);
  });

  it('gets bytes and status unchanged in mode none', async () => {
    refuseLength();
    const response = await asCodex({ headers: { 'x-memory-strategy': 'none', ...EVENTS } });
    expect(response.status).toBe(400);
    const read = { conversation_id: 'read', memory_strategy: 'none' };
    refuseLength();
    expect((await asCodex({ body: read, headers: EVENTS })).status).toBe(400);
  });

  it('gets the status of what is only observed', async () => {
    refuseLength();
    expect((await asCodex({ headers: { 'x-memory-observe': 'true' } })).status).toBe(400);
  });

  it('compacts when the upstream says it in a stream, in words alone', async () => {
    const error = { type: 'error', sequence_number: 0, code: null, message: TOO_LONG, param: null };
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
    });
    expect((await readAsCodex(await asCodex())).turn).toEqual({ does: 'compacts' });
  });

  it('asks again when the upstream dies in the middle of its answer', async () => {
    deployment.upstream.next({ type: 'die-mid-stream' });
    const { turn, events } = await readAsCodex(await asCodex());
    expect(turn).toMatchObject({ does: 'retries', text: expect.stringContaining('broke off') });
    expect(events.filter((type) => type === 'response.created')).toHaveLength(1);
    expect(events.at(-1)).toBe('response.failed');
  });
});

describe('the records of an error inside a stream', () => {
  it('have its true status', async () => {
    const before = deployment.worker.output().length;
    // The upstream accepts the key.
    await (await asCodex({ body: { conversation_id: 'records' } })).text();
    refuseLength();
    await (await asCodex({ body: { conversation_id: 'records' } })).text();
    const latin = { 'content-type': 'application/json; charset=latin1' };
    expect((await readAsCodex(await asCodex({ headers: latin }))).turn).toMatchObject({ does: 'shows' });

    const lines = () => deployment.worker.output().slice(before);
    await until('the refusal is logged', async () => /was refused.*unsupported_media_type/.test(lines()));
    expect(lines()).toMatch(/a request was answered.*"?status"?[=:] ?400/);
    const list = async (): Promise<{ status: number; ended: string }[]> => {
      const headers = { authorization };
      const events = await deployment.fetch('/v1/conversations/records/requests', { headers });
      return ((await events.json()) as { data?: { status: number; ended: string }[] }).data ?? [];
    };
    await until('the event is kept', async () => (await list()).length > 1);
    expect(await list()).toMatchObject([{ status: 400, ended: 'error' }, { status: 200 }]);
    const metrics = await deployment.fetch('/metrics', {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    expect(await metrics.text()).toMatch(/precis_refusals_total\{code="unsupported_media_type"\} 1/);
  });
});

describe('a client that asks for errors in streams', () => {
  const client = () =>
    deployment.client({
      apiKey: authorization.slice('Bearer '.length),
      defaultHeaders: { 'x-memory-strategy': COMPACT, ...EVENTS },
    });

  it('is raised the error of a chat, as it is in a stream of its own', async () => {
    refuseLength();
    const params = { model: 'gpt-5', stream: true, messages: INPUT };
    const stream = await client().chat.completions.create(params as never);
    const raised = await collect(stream as never).catch((error: unknown) => error);
    expect(raised).toBeInstanceOf(APIError);
    expect(raised).toMatchObject({
      error: { message: TOO_LONG, type: 'invalid_request_error', status: 400 },
    });
  });

  it('is known by its accept, in any case, where its body is not read', async () => {
    const latin = { 'content-type': 'application/json; charset=latin1' };
    const response = await chat({ headers: { ...EVENTS, ...latin, accept: 'Text/Event-Stream' } });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(JSON.parse(dataOf(await response.text())[0] ?? '')).toMatchObject({
      error: { code: 'unsupported_media_type' },
    });
  });

  it('is raised an error of Precis over chat, with its own code and field', async () => {
    const memory_strategy = { mode: 'compact', compact_keep: -1 };
    const params = { model: 'gpt-5', stream: true, messages: INPUT, memory_strategy };
    const stream = await client().chat.completions.create(params as never);
    const raised = await collect(stream as never).catch((error: unknown) => error);
    expect(raised).toBeInstanceOf(APIError);
    expect(raised).toMatchObject({
      code: 'invalid_memory_strategy',
      param: 'memory_strategy.compact_keep',
      type: 'invalid_request_error',
    });
  });

  it('gets no end of a complete answer over chat', async () => {
    refuseLength();
    const data = dataOf(await (await chat({ headers: EVENTS })).text());
    expect(data).toHaveLength(1);
    expect(data[0]).not.toContain('[DONE]');
  });

  it('gets a response that has failed, with all that the error says', async () => {
    const memory_strategy = { mode: 'compact', compact_keep: -1 };
    const params = { model: 'gpt-5', stream: true, input: INPUT, memory_strategy };
    const stream = await client().responses.create(params as never);
    const events = (await collect(stream as never)) as ResponseStreamEvent[];
    expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
      ['response.created', 0],
      ['response.failed', 1],
    ]);
    expect(events.at(-1)).toMatchObject({
      response: {
        object: 'response',
        status: 'failed',
        output: [],
        error: {
          code: 'invalid_prompt',
          message: expect.stringContaining('compact_keep'),
          type: 'invalid_request_error',
          param: 'memory_strategy.compact_keep',
          reason: 'invalid_memory_strategy',
          status: 400,
        },
      },
    });
  });

  it("gets it from the client's own reader of streams, too", async () => {
    refuseLength();
    const params = { model: 'gpt-5', input: INPUT };
    const final = await client()
      .responses.stream(params as never)
      .finalResponse();
    expect(final).toMatchObject({ output: [] });
  });

  it('gets the status where it does not stream', async () => {
    refuseLength();
    expect((await chat({ headers: EVENTS, body: { stream: false } })).status).toBe(400);
  });

  it('learns what the header may be', async () => {
    const response = await chat({ headers: { 'x-memory-stream-errors': 'yes' } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { param: 'x-memory-stream-errors', message: expect.stringMatching(/events or http/) },
    });
  });

  it('is alone in that: no other request over chat finds errors in its stream', async () => {
    refuseLength();
    expect((await chat({ headers: CODEX_HEADERS })).status).toBe(400);
  });
});
