import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { behave } from '../../../tools/upstream/behaviours.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { type CollectedSpan, startCollector } from '../../support/deployment/collector.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const SECRET_HEADER = 'Bearer the key of the collector';
const METRICS_TOKEN = 'the-token-of-the-operator';

const collector = await startCollector();
afterAll(() => collector.close());
const deployment = deploy({
  vars: {
    OTLP_ENDPOINT: collector.url,
    OTLP_HEADERS: `authorization=${encodeURIComponent(SECRET_HEADER)},x-team=memory`,
    METRICS_TOKEN,
  },
  limits: { metricsBatchMs: 100, spansBatchMs: 100, collectorPauseMs: 100 },
});

beforeEach(() => collector.reset());

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${PARENT}-01`;

const SERVER = 2;
const CLIENT = 3;
const ofKind = (kind: number): CollectedSpan[] => collector.spans.filter((span) => span.kind === kind);

async function spans(): Promise<CollectedSpan[]> {
  await until('spans are sent', () => ofKind(SERVER).length > 0);
  return collector.spans;
}

async function send(body: object, headers: Record<string, string> = {}): Promise<Response> {
  const response = await deployment.chat({ model: 'gpt-4.1', ...body }, headers);
  await response.text();
  return response;
}

const HI = { messages: [{ role: 'user', content: 'Hi, my secret word is plover.' }] };

overProtocols('a trace', deployment, (protocol) => {
  const route = `/v1${protocol.path}`;

  it.each(ofTurn(0, [false, true]))(
    'continues in the upstream, below a span of Precis, with stream: %s',
    async (stream) => {
      await send(
        {
          messages: recording.messages.slice(0, 43),
          tools: recording.tools,
          memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'off' },
          conversation_id: 'case 7',
          stream,
          ...(stream && protocol.name === 'chat' ? { stream_options: { include_usage: true } } : {}),
        },
        { traceparent, tracestate: 'vendor=1' },
      );

      const all = await spans();
      const [own] = ofKind(SERVER);
      const [call] = ofKind(CLIENT);
      expect(own).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: `POST ${route}`, status: {} });
      expect(call).toMatchObject({
        traceId: TRACE,
        parentSpanId: own?.spanId,
        name: 'chat gpt-4.1',
        status: {},
      });
      const { headers } = deployment.lastChat();
      expect(headers.traceparent).toBe(`00-${TRACE}-${call?.spanId}-01`);
      expect(headers.tracestate).toBe('vendor=1');

      expect(own?.attributes).toMatchObject({
        'http.route': route,
        'http.response.status_code': 200,
        'gen_ai.conversation.id': 'case 7',
        'gen_ai.conversation.compacted': true,
        'precis.mode': 'compact',
        'precis.source': 'request',
        'precis.frontier.moved': true,
        'precis.edits': ['compact'],
        'precis.ended': 'complete',
        'precis.calls': 1,
      });
      expect(own?.attributes['precis.tokens.after']).toBeLessThan(20_000);
      expect(call?.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4.1',
        'gen_ai.response.model': 'gpt-4.1',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'gen_ai.conversation.compacted': true,
        'server.address': '127.0.0.1',
      });
      expect(call?.attributes['gen_ai.request.stream']).toBe(stream || undefined);
      // The contents of the compacted messages are stored before the body is sent.
      const store = all.find(({ name }) => name === 'precis.store');
      expect(store).toMatchObject({ traceId: TRACE, parentSpanId: own?.spanId });
    },
  );

  it('begins here where the caller has none, and says nothing of compaction where there is none', async () => {
    await send(HI);

    await spans();
    const [own] = ofKind(SERVER);
    const [call] = ofKind(CLIENT);
    expect(own?.parentSpanId).toBeUndefined();
    expect(call).toMatchObject({ traceId: own?.traceId, parentSpanId: own?.spanId });
    expect(deployment.lastChat().headers.traceparent).toBe(`00-${own?.traceId}-${call?.spanId}-01`);
    for (const { attributes } of collector.spans) {
      expect(attributes).not.toHaveProperty('gen_ai.conversation.compacted');
      expect(attributes).not.toHaveProperty('gen_ai.conversation.id');
    }
  });

  it.each(['00-xyz', `00-${'0'.repeat(32)}-${PARENT}-01`, `ff-${TRACE}-${PARENT}-01`])(
    'begins anew where the header is %s',
    async (broken) => {
      await send(HI, { traceparent: broken, tracestate: 'vendor=1' });

      await spans();
      const [own] = ofKind(SERVER);
      expect(own?.traceId).not.toBe(TRACE);
      const { headers } = deployment.lastChat();
      expect(headers.traceparent).toContain(own?.traceId);
      expect(headers.tracestate).toBeUndefined();
    },
  );

  it('is left alone where the caller does not record it', async () => {
    const unrecorded = `00-${TRACE}-${PARENT}-00`;
    await send(HI, { traceparent: unrecorded });

    expect(deployment.lastChat().headers.traceparent).toBe(unrecorded);
    await send(HI);
    await spans();
    expect(ofKind(SERVER)).toHaveLength(1);
    expect(collector.spans.map(({ traceId }) => traceId)).not.toContain(TRACE);
  });

  it('has the usage of each round of retrieval, which are all answered, in a stream too', async () => {
    deployment.upstream.next(
      (request, response, recorded) => {
        const [ref = ''] = refsIn(deployment.protocol.seen(recorded).body.messages);
        const call = { id: 'call_fetch', name: 'retrieve_ref', arguments: JSON.stringify({ ref }) };
        void behave({ type: 'answer', toolCalls: [call] }, request, response, recorded);
      },
      { type: 'answer', content: 'That is all.' },
    );
    await send({
      messages: recording.messages.slice(0, 43),
      tools: recording.tools,
      memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'tool' },
      stream: true,
      ...(protocol.name === 'chat' ? { stream_options: { include_usage: true } } : {}),
    });

    await spans();
    expect(ofKind(SERVER)[0]).toMatchObject({ status: {}, attributes: { 'precis.calls': 2 } });
    const usage = { 'gen_ai.usage.input_tokens': expect.any(Number) };
    expect(ofKind(CLIENT)).toMatchObject([
      { status: {}, attributes: usage },
      { status: {}, attributes: usage },
    ]);
  });

  it('reports an upstream that refuses, breaks off, or is not there', async () => {
    deployment.upstream.next({ type: 'error', status: 503 });
    await send(HI);
    await spans();
    expect(ofKind(CLIENT)[0]).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': '503' } });
    expect(ofKind(SERVER)[0]).toMatchObject({
      status: { code: 2 },
      attributes: { 'http.response.status_code': 503 },
    });

    collector.reset();
    deployment.upstream.next({ type: 'die-mid-stream' });
    await send({ ...HI, stream: true });
    await spans();
    expect(ofKind(CLIENT)[0]?.attributes).toMatchObject({ 'error.type': 'broken_off' });
    expect(ofKind(SERVER)[0]).toMatchObject({
      status: { code: 2 },
      attributes: { 'precis.ended': 'error', 'error.type': 'broken_off' },
    });

    collector.reset();
    await deployment.withoutUpstream(() => send(HI));
    await spans();
    expect(ofKind(CLIENT)[0]?.attributes).toMatchObject({ 'error.type': 'upstream_unreachable' });
    expect(ofKind(SERVER)[0]?.attributes).toMatchObject({
      'http.response.status_code': 502,
      'error.type': 'upstream_unreachable',
    });
  });

  it('ends when the caller leaves a stream', async () => {
    deployment.upstream.next({ type: 'slow-stream', chunks: 400, intervalMs: 50 });
    const leaving = new AbortController();
    const response = await deployment.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4.1', stream: true, ...HI }),
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    leaving.abort();

    await spans();
    expect(ofKind(SERVER)[0]?.attributes).toMatchObject({ 'precis.ended': 'caller_left' });
    expect(ofKind(CLIENT)[0]?.attributes).toMatchObject({ 'error.type': 'broken_off' });
  });
});

describe('what goes to the collector', () => {
  it('holds its key in a header, and neither contents nor the keys of callers', async () => {
    await send({ ...HI, conversation_id: 'case 8' }, { traceparent });
    await spans();

    const sent = collector.texts.join('\n');
    expect(sent).toContain(SECRET_HEADER);
    expect(sent).toContain('"x-team":"memory"');
    expect(sent).not.toContain('plover');
    expect(sent).not.toContain(KEY);
    expect(collector.refusals).toEqual([]);
    expect(deployment.worker.output()).not.toContain(SECRET_HEADER);
  });

  it.each([
    ['is sent again if the collector is busy', [503], 0],
    ['is counted and logged as lost if the collector refuses it', [400], 1],
  ])('%s', async (_, statuses, lost) => {
    const before = await lostSpans();
    collector.next(...statuses);
    const response = await send(HI);
    expect(response.status).toBe(200);

    if (lost === 0) await spans();
    else await until('the loss is logged', () => deployment.worker.output().includes('spans are lost'));
    await until('the loss is counted', async () => (await lostSpans()) - before >= lost);
    expect(collector.refusals).toEqual([]);
  });
});

/** Spans that were lost so far, as the deployment's metrics have it. */
async function lostSpans(): Promise<number> {
  const response = await deployment.fetch('/metrics', {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  });
  const [, count] = /^precis_otlp_lost_total (\d+)/m.exec(await response.text()) ?? [];
  return Number(count ?? 0);
}

describe('without a collector', () => {
  const plain = deploy();

  it("passes on the caller's trace unchanged", async () => {
    await (await plain.chat({ model: 'gpt-4.1', ...HI }, { traceparent, tracestate: 'vendor=1' })).text();

    expect(plain.lastChat().headers).toMatchObject({ traceparent, tracestate: 'vendor=1' });
  });
});
