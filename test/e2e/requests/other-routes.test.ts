import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const deployment = deploy({ upstream: { strict: false } });

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The upstream stub's answer on paths for which nothing is queued. */
interface Echo {
  method: string;
  path: string;
  bytes: number;
  sha256: string;
}

describe('any other route of the API', () => {
  it('takes a large binary body and a query up as they are', async () => {
    const body = randomBytes(3 * 1024 * 1024);

    const response = await deployment.fetch('/v1/files?purpose=a%20b&after=file_1&after=%C3%A9', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', 'x-custom': 'kept', 'x-memory-mode': 'own' },
      body,
    });

    expect((await response.json()) as Echo).toEqual({
      method: 'POST',
      path: '/v1/files?purpose=a%20b&after=file_1&after=%C3%A9',
      bytes: body.length,
      sha256: sha256(body),
    });
    const [seen] = deployment.upstream.requests;
    expect(seen?.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-custom': 'kept',
      authorization: `Bearer ${KEY}`,
    });
    expect(seen?.headers).not.toHaveProperty('x-memory-mode');
  });

  it('uploads a file for the client', async () => {
    const content = randomBytes(100_000);
    const file = new File([content], 'data.bin');

    await deployment.client().files.create({ file, purpose: 'user_data' });

    const [seen] = deployment.upstream.requests;
    expect(seen?.path).toBe('/v1/files');
    expect(seen?.rawBody.includes(content)).toBe(true);
  });

  it('lists models and makes embeddings for the client', async () => {
    const client = deployment.client();

    const models = await client.models.list();
    const embedded = await client.embeddings.create({ model: 'small', input: 'x', encoding_format: 'float' });

    expect(models.data.map(({ id }) => id)).toEqual(['gpt-4.1-mini']);
    expect(embedded.data[0]?.embedding).toEqual([0.25, -0.5, 1]);
  });

  it.each([
    ['GET', '/v1/chat/completions/chatcmpl-1'],
    ['DELETE', '/v1/chat/completions/chatcmpl-1'],
    ['GET', '/v1/chat/completions/chatcmpl-1/messages?limit=2'],
    ['GET', '/v1/chat/completions?limit=2'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['DELETE', '/v1/files/refs'],
    ['GET', '/v1/files/file%2F1/content'],
    ['PATCH', '/v1/something/new'],
  ])('is forwarded: %s %s', async (method, path) => {
    const response = await deployment.fetch(path, { method });

    expect(response.status).toBe(200);
    expect((await response.json()) as Echo).toMatchObject({ method, path, bytes: 0 });
  });

  it.each([
    ['GET', '/v1/something/new', 200, 'text/html'],
    ['GET', '/v1/something/new', 404, 'image/svg+xml'],
    ['GET', '/v1/something/new', 200, 'application/json+xml'],
    ['POST', '/v1/chat/completions', 502, 'text/html; charset=utf-8'],
  ])(
    'has no rights of the inspector’s if it is a page: %s %s, %d, %s',
    async (method, path, status, type) => {
      const headers = { 'content-type': type, 'content-security-policy': "img-src 'none'" };
      deployment.upstream.next({ type: 'error', status, headers, body: '<script>own()</script>' });

      const body = method === 'POST' ? '{"model":"small","messages":[]}' : null;
      const response = await deployment.fetch(path, { method, body });

      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('content-security-policy')).toBe("img-src 'none', sandbox");
    },
  );

  it('adds no policy to data', async () => {
    const response = await deployment.fetch('/v1/models');

    expect(response.headers.get('content-security-policy')).toBeNull();
  });

  it.each([
    ['GET', '/v1/conversations/conv_1'],
    ['GET', '/v1/conversations/conv_1/items?limit=2'],
    ['GET', '/v1/conversations/conv_1/items/msg_1'],
    ['DELETE', '/v1/conversations/conv_1/items/msg_1'],
    ['GET', '/v1/files/memory/content'],
  ])("F34: is OpenAI’s own beside Precis's: %s %s", async (method, path) => {
    const response = await deployment.fetch(path, { method });

    expect((await response.json()) as Echo).toMatchObject({ method, path });
  });

  it.each([
    ['GET', '/v1/models'],
    ['GET', '/v1/files/file_1'],
    ['HEAD', '/v1/files/file_1'],
  ])('F34: is forwarded without the body of a %s: %s', async (method, path) => {
    const status = await new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'content-length': 2,
      };
      httpRequest(`${deployment.url}${path}`, { method, headers })
        .on('response', (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end('{}');
    });

    expect(status).toBe(200);
    const [seen] = deployment.upstream.requests;
    expect([seen?.method, seen?.path, seen?.rawBody.length]).toEqual([method, path, 0]);
  });

  it('forwards the own fields of a body that is not a chat request', async () => {
    const body = '{"input": "x", "memory_strategy": "theirs", "compacted": true}';

    await deployment.fetch('/v1/moderations', { method: 'POST', body });

    expect(deployment.upstream.requests[0]?.rawBody.toString()).toBe(body);
  });

  it('relays a binary answer, its status and its headers', async () => {
    const audio = randomBytes(200_000);
    deployment.upstream.next((_, response) => {
      response.writeHead(206, { 'content-type': 'audio/mpeg', 'content-range': 'bytes 0-9/10', etag: '"x"' });
      response.end(audio);
    });

    const response = await deployment.fetch('/v1/audio/speech', { method: 'POST', body: '{}' });

    expect(response.status).toBe(206);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'audio/mpeg',
      'content-range': 'bytes 0-9/10',
      etag: '"x"',
      'x-request-id': 'req_1',
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(audio)).toBe(true);
  });

  it('passes an answer on as it arrives', async () => {
    const read = Promise.withResolvers<void>();
    deployment.upstream.next(async (_, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.write('first');
      await read.promise;
      response.end('last');
    });

    const response = await deployment.fetch('/v1/audio/speech', { method: 'POST', body: '{}' });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    read.resolve();
    const last = await reader?.read();

    expect([first, last].map((part) => Buffer.from(part?.value ?? []).toString())).toEqual(['first', 'last']);
  });

  it('relays an answer without a body', async () => {
    deployment.upstream.next((_, response) => {
      response.writeHead(204);
      response.end();
    });

    const response = await deployment.fetch('/v1/files/file_1', { method: 'DELETE' });

    expect([response.status, await response.text()]).toEqual([204, '']);
  });
});

describe('a route of Precis', () => {
  it.each([
    ['POST', '/verify', 400],
    ['GET', '/deployment', 200],
    ['GET', '/stats', 200],
    ['GET', '/conversations', 200],
    ['GET', '/conversations/c/requests/x', 400],
    ['GET', '/users/ann/memory', 200],
    ['GET', '/refs', 200],
    ['GET', '/blocks', 200],
    ['PATCH', '/memory', 405],
    ['POST', '/explain', 400],
  ])('matches without /v1 and after any prefix: %s %s', async (method, path, status) => {
    for (const own of [`/v1${path}`, path, `/any/prefix${path}`, `/any/prefix/v1${path}`]) {
      const response = await deployment.fetch(own, { method, ...(method === 'POST' ? { body: '{}' } : {}) });

      expect(response.status, own).toBe(status);
    }
    expect(deployment.upstream.requests.filter(({ path: seen }) => seen.includes('prefix'))).toEqual([]);
  });

  it.each(['/conversations//memory', '/conversations/memory', '/x/users//memory', '/memory/memory'])(
    'deletes nothing where an id was forgotten: DELETE %s',
    async (path) => {
      const response = await deployment.fetch(path, { method: 'DELETE' });

      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded' } });
    },
  );

  it.each(['/healthz', '/inspect', '/docs/modes.md', '/docs/modes', '/docs/conversations', '/llms.txt'])(
    'about the site matches after any prefix: %s',
    async (path) => {
      const plain = await fetch(`${deployment.url}${path}`);
      const prefixed = await fetch(`${deployment.url}/any/prefix${path}`);

      expect([plain.status, prefixed.status]).toEqual([200, 200]);
      expect(await prefixed.text()).toBe(await plain.text());
    },
  );

  it.each(['/healthz', '/docs', '/inspect', '/openapi.json', '/v1/responses/compact'])(
    'says which methods it takes: %s',
    async (path) => {
      const response = await deployment.fetch(path, { method: 'PUT' });

      expect(response.status).toBe(405);
      expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
      expect(response.headers.get('allow')).toBe(path.startsWith('/v1') ? 'POST' : 'GET, HEAD');
    },
  );
});

describe('what is no route of the API', () => {
  it.each(['/v1/responses', '/v1/realtime?model=x'])(
    'is answered with 426 when it asks for a WebSocket: %s',
    async (path) => {
      const status = await new Promise((resolve, reject) => {
        const headers = {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': randomBytes(16).toString('base64'),
          authorization: `Bearer ${KEY}`,
        };
        httpRequest(`${deployment.url}${path}`, { headers })
          .on('response', (response) => resolve(response.resume().statusCode))
          .on('upgrade', (response, socket) => resolve(socket.destroy() && response.statusCode))
          .on('error', reject)
          .end();
      });

      expect(status).toBe(426);
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it.each(['/nothing', '/v2/files', '/v1', '/v1x/files'])('is not found: %s', async (path) => {
    const response = await fetch(`${deployment.url}${path}`);

    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'not_forwarded' },
    });
    expect(deployment.upstream.requests).toEqual([]);
  });

  it.each([
    '/v1/refs/tool/a/a',
    '/v1/refs/ref_a/b',
    '/v1/compact/x',
    '/v1/responses/compact/x',
    '/v1/conversations/x/memory/y',
    '/v1/conversations/x/messages/y',
    '/v1/memory/x',
    '/v1/mcp/x',
    '/prefix/v1/refs/tool/a',
    '/agents/coding/v1/refs/tool/a',
  ])('F34: is not found below a route of Precis: %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await deployment.fetch(path, { method });

      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded', param: null } });
    }
    expect(deployment.upstream.requests).toEqual([]);
  });

  it.each(['/v1/files/..;/models', '/v1/files/%c0%ae%c0%ae/models', '/v1/files/a%00b', '/v1/files/a%5Cb'])(
    'F16: is not found where another server may read the path otherwise: %s',
    async (path) => {
      const response = await deployment.fetch(path);

      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded' } });
      expect(deployment.upstream.requests).toEqual([]);
    },
  );

  it('says on /healthz that the Worker lives, to anybody', async () => {
    const response = await fetch(`${deployment.url}/healthz`);

    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });
});
