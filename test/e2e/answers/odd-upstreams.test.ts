/**
 * Upstreams that stop in the middle of an answer, use other encodings, and answer in shapes that no
 * specification has.
 */
import { type IncomingHttpHeaders, type ServerResponse, request as send } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { CHAT, overProtocols } from '../../support/deployment/protocol.ts';

const IDLE_TIMEOUT_MS = 250;

const deployment = deploy({
  upstream: { strict: false },
  vars: { UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS) },
  limits: { errorBodyMs: 250 },
});

const model = 'gpt-4.1-mini';
const messages = conversationOf([linesAbout('odd upstreams')]);
const tool = { type: 'function', function: { name: 'search', parameters: { type: 'object' } } };

/** Requests whose answer is passed on, read for the report, or read for calls of our tools. */
const REQUESTS: [string, object][] = [
  ['mode none', { model, messages, memory_strategy: 'none' }],
  ['summarize', { model, messages, memory_strategy: { mode: 'summarize', context_limit: 50 } }],
  ['the report', { model, messages, memory_strategy: 'compact', memory_report: true }],
  [
    'retrieval',
    { model, messages, tools: [tool], memory_strategy: { mode: 'compact', compact_retrieval: 'tool' } },
  ],
];

const JSON_TYPE = { 'content-type': 'application/json' };

function answering(
  status: number,
  headers: Record<string, string>,
  write: (response: ServerResponse) => void,
) {
  return (_: unknown, response: ServerResponse) => {
    response.writeHead(status, headers);
    response.flushHeaders();
    write(response);
  };
}

/** The status and code of an error, or how the body broke off. */
async function outcomeOf(asked: Promise<Response>): Promise<unknown> {
  const response = await asked;
  const text = await response.text().catch(() => 'broken');
  return [response.status, text.startsWith('{"error"') ? JSON.parse(text).error.code : text];
}

overProtocols('an answer that stops', deployment, () => {
  inTurn(
    REQUESTS,
    ([name]) => `with ${name}`,
    ([name, request]) => {
      const isRead = name === 'the report' || name === 'retrieval';

      it.each([200, 400, 429])('F31: after its headers, with %i, is late', async (status) => {
        deployment.upstream.next(answering(status, JSON_TYPE, () => undefined));
        expect(await outcomeOf(deployment.wire(request))).toEqual([504, 'upstream_timeout']);
        await until('the silent connection is closed', () => deployment.lastChat().closed);
      });

      it.each([
        ['half a body', '{"choices":[{"ind', {}],
        ['half a body of a known length', '{"choices":[{"ind', { 'content-length': '1000' }],
        ['a whole body that never ends', '{"id":"x","choices":[],"output":[]}', {}],
      ])('F31: after %s breaks off, and does not end', async (_, body, headers) => {
        deployment.upstream.next(
          answering(200, { ...JSON_TYPE, ...headers }, (response) => response.write(body)),
        );
        const outcome = await outcomeOf(deployment.wire(request));
        expect(outcome).toEqual(isRead ? [504, 'upstream_timeout'] : [200, 'broken']);
        await until('the silent connection is closed', () => deployment.lastChat().closed);
      });
    },
  );
});

describe('an answer of another route that stops', () => {
  it('F31: after its headers is late, and after half a body breaks off', async () => {
    deployment.upstream.next(
      answering(200, JSON_TYPE, () => undefined),
      answering(200, JSON_TYPE, (response) => response.write('{"data":')),
      answering(200, { 'content-type': 'text/event-stream' }, () => undefined),
    );
    expect(await outcomeOf(deployment.fetch('/v1/files'))).toEqual([504, 'upstream_timeout']);
    expect(await outcomeOf(deployment.fetch('/v1/files/a'))).toEqual([200, 'broken']);
    expect(await outcomeOf(deployment.fetch('/v1/responses/resp_1'))).toEqual([200, 'broken']);
  });

  it('F31: keeps its length and its status where it does not', async () => {
    deployment.upstream.next(
      answering(202, { ...JSON_TYPE, 'content-length': '2' }, (response) => response.end('{}')),
      answering(204, {}, (response) => response.end()),
      answering(200, { 'content-length': '0' }, (response) => response.end()),
    );
    const known = await deployment.fetch('/v1/files/a', { headers: { 'accept-encoding': 'identity' } });
    expect([known.status, known.headers.get('content-length'), await known.text()]).toEqual([202, '2', '{}']);
    expect((await deployment.fetch('/v1/files/b')).status).toBe(204);
    expect(await outcomeOf(deployment.fetch('/v1/files/c'))).toEqual([200, '']);
  });
});

overProtocols('an encoding', deployment, (protocol) => {
  const body = '{"id":"x","object":"odd","choices":[],"output":[]}';

  it.each([
    ['gzip', gzipSync(body)],
    ['br', brotliCompressSync(body)],
  ])('F32: %s is decoded, and no longer named', async (encoding, bytes) => {
    for (const [, request] of REQUESTS) {
      deployment.upstream.next(
        answering(200, { ...JSON_TYPE, 'content-encoding': encoding }, (response) => response.end(bytes)),
      );
      const response = await deployment.wire(request, { 'accept-encoding': 'identity' });
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(await response.json()).toMatchObject({ object: 'odd' });
    }
  });

  it.each([
    ['deflate', deflateSync(body)],
    ['zstd', Buffer.from('(\xb5/\xfd of no concern', 'latin1')],
    ['gzip, zstd', Buffer.from('of no concern')],
    ['GZIP', gzipSync(body)],
  ])('F32: %s is passed on unchanged, with its name', async (encoding, bytes) => {
    for (const type of ['application/json', 'text/event-stream'])
      for (const [, request] of REQUESTS) {
        deployment.upstream.next(
          answering(200, { 'content-type': type, 'content-encoding': encoding }, (response) =>
            response.end(bytes),
          ),
        );
        const stream = type === 'text/event-stream';
        const { headers, bytes: got } = await rawAnswer(
          JSON.stringify(protocol.body({ ...request, stream })),
        );
        expect(headers['content-encoding']).toBe(encoding);
        expect(got.equals(bytes)).toBe(true);
      }
  });

  /** `fetch` would decode the body. */
  function rawAnswer(text: string): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
    return new Promise((resolve, reject) => {
      const request = send(`${deployment.url}/v1${protocol.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      });
      request.end(text);
    });
  }
});

describe('null where a call should be', () => {
  deployment.over(CHAT);
  const request = {
    model,
    messages,
    tools: [tool],
    memory_strategy: { mode: 'compact', compact_retrieval: 'tool' },
  };
  const calls = [
    null,
    { index: 0, id: 'a', type: 'function', function: { name: 'search', arguments: '{}' } },
    null,
  ];

  it('F33: comes through in a body, byte for byte', async () => {
    const message = { role: 'assistant', content: null, tool_calls: calls };
    const body = JSON.stringify({ id: 'x', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    deployment.upstream.next(answering(200, JSON_TYPE, (response) => response.end(body)));
    const response = await deployment.wire(request);
    expect([response.status, await response.text()]).toEqual([200, body]);
  });

  it('F33: comes through in a stream, byte for byte', async () => {
    const chunk = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const body = `${chunk({ tool_calls: calls }, null)}${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
    deployment.upstream.next(
      answering(200, { 'content-type': 'text/event-stream' }, (response) => response.end(body)),
    );
    expect(await (await deployment.wire({ ...request, stream: true })).text()).toBe(body);
  });
});

describe('an answer that is much longer than it looks', () => {
  const LENGTH = 40 * 1024 * 1024;
  const body = gzipSync(`{"id":"x","choices":[],"output":[]${' '.repeat(LENGTH)}}`);
  const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };

  it.each(REQUESTS)(
    'F29: with %s is passed on without the report, or refused where it must be read',
    async (name, request) => {
      deployment.upstream.next(answering(200, headers, (response) => response.end(body)));
      const response = await deployment.wire(request);
      if (name === 'retrieval')
        return expect([response.status, await response.json()]).toMatchObject([
          502,
          { error: { code: 'answer_too_large', type: 'server_error' } },
        ]);
      expect(response.status).toBe(200);
      expect((await response.text()).trimEnd()).toHaveLength(
        LENGTH + '{"id":"x","choices":[],"output":[]}'.length,
      );
    },
  );
});
