import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: false } });
const shared = deploy({
  vars: {
    ACCESS_KEYS: 'alice=precis-alice-0123456789abcdef',
    UPSTREAM_API_KEY: 'sk-the-key-of-the-deployer',
  },
});

const ENCODINGS: readonly [string, (text: string) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
];

const messages = conversationOf([linesAbout('encodings, 1'), linesAbout('encodings, 2')]);

overProtocols('a body that came encoded', [], (protocol) => {
  const of = (fields: object) => JSON.stringify(protocol.body({ model: 'gpt-4.1', ...fields, messages }));
  const post = (body: Buffer, encoding: string, headers: object = {}) =>
    deployment.fetch(`/v1${protocol.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': encoding, ...headers },
      body: new Uint8Array(body),
    });

  it.each(ENCODINGS)('F23: is sent byte for byte in mode none, as %s', async (encoding, encode) => {
    const body = encode(of({}));
    deployment.upstream.next((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{}');
    });

    const response = await post(body, encoding);

    const [seen] = deployment.upstream.requests;
    expect([response.status, response.headers.get('x-memory-mode')]).toEqual([200, 'none']);
    expect(seen?.headers['content-encoding']).toBe(encoding);
    expect(seen?.rawBody.equals(body)).toBe(true);
  });

  it.each(ENCODINGS)(
    'F23: is read in other modes, and its view is sent plain, from %s',
    async (encoding, encode) => {
      const response = await post(encode(of({ memory_strategy: COMPACT_OLD_TURNS })), encoding);

      const seen = deployment.upstream.requests.at(-1);
      expect(response.headers.get('x-memory-applied')).toBe('compact');
      expect(seen?.headers).not.toHaveProperty('content-encoding');
      expect(JSON.stringify(seen?.body)).toContain('⟦removed: ');
      expect(Object.keys(seen?.body)).not.toContain('memory_strategy');
    },
  );

  it('F23: is read for its fields in mode none too, which are cut out', async () => {
    await post(gzipSync(of({ memory_report: true })), 'gzip');

    const [seen] = deployment.upstream.requests;
    expect(seen?.headers).not.toHaveProperty('content-encoding');
    expect(seen?.rawBody.toString()).toBe(of({}));
  });

  it.each([
    ['an encoding that is not read', Buffer.from(of({})), 'compress', 415, 'unsupported_media_type'],
    ['two encodings', gzipSync(gzipSync(of({}))), 'gzip, gzip', 415, 'unsupported_media_type'],
    ['another encoding than it says', Buffer.from(of({})), 'gzip', 400, 'invalid_value'],
    ['half of a body', gzipSync(of({})).subarray(0, 60), 'gzip', 400, 'invalid_value'],
    ['half of a zstd body', zstdCompressSync(of({})).subarray(0, 60), 'zstd', 400, 'invalid_value'],
  ])(
    'F23: is refused where it must be read, with what is read named: %s',
    async (_, body, encoding, status, code) => {
      const response = await post(body, encoding, { 'x-memory-strategy': 'compact' });

      const { error } = (await response.json()) as { error: object };
      expect(response.status).toBe(status);
      expect(error).toMatchObject({
        code,
        param: 'content-encoding',
        message: expect.stringMatching(/gzip, deflate, br or zstd/),
      });
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it('F23: is sent unchanged in mode none, whatever it is', async () => {
    const body = Buffer.from(of({}));

    const response = await post(body, 'compress');

    expect(response.status).toBe(200);
    expect(deployment.upstream.requests[0]?.headers['content-encoding']).toBe('compress');
    expect(deployment.upstream.requests[0]?.rawBody.equals(body)).toBe(true);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', (zeros: Buffer) => brotliCompressSync(zeros, { params: { 1: 2 } })],
    ['zstd', zstdCompressSync],
  ])('F23: ends at the limit where it holds far more than it weighs: %s', async (encoding, encode) => {
    const body = encode(Buffer.alloc(64 * 1024 * 1024));
    expect(body.length).toBeLessThan(100_000);

    const response = await post(body, encoding, { 'x-memory-strategy': 'compact' });

    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: 'body_too_large' } });
  });

  it('F23: is sent plain with the key of a deployer', async () => {
    const response = await shared.fetch(`/v1${protocol.path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer precis-alice-0123456789abcdef', 'content-encoding': 'zstd' },
      body: new Uint8Array(zstdCompressSync(of({}))),
    });

    const [seen] = shared.upstream.requests;
    expect(response.status).toBe(200);
    expect(seen?.headers).not.toHaveProperty('content-encoding');
    expect(seen?.body.model).toBe('gpt-4.1');
  });
});
