import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { EARLIER_SECRET } from '../../support/deployment/file-worker.ts';

const published = deploy({ vars: { PRECIS_SECRET: 'development-only-secret-do-not-deploy' } });
const ofTests = deploy({ vars: { PRECIS_SECRET: EARLIER_SECRET } });
const ofItsOwn = deploy({ vars: { PRECIS_SECRET: 'a-secret-that-nobody-has-read' } });
const rotated = deploy({
  vars: {
    PRECIS_SECRET: 'a-secret-that-nobody-has-read',
    PRECIS_SECRET_PREVIOUS: 'development-only-secret-do-not-deploy',
  },
});

/** A request with another host name, which `fetch` would not send. */
async function ask(on: typeof published, host: string, path = '/v1/models'): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    httpRequest(`${on.url}${path}`, { headers: { host, authorization: `Bearer ${KEY}` } })
      .on('response', async (response) => resolve([response.statusCode ?? 0, await text(response)]))
      .on('error', reject)
      .end();
  });
}

describe('a secret that is in the repository', () => {
  it.each(['localhost', 'localhost:8787', '127.0.0.1:8787', '[::1]:8787', 'precis.localhost', 'precis.test'])(
    'F15: serves development: %s',
    async (host) => {
      expect((await ask(published, host))[0]).toBe(200);
    },
  );

  it.each([
    'precis.example.com',
    'precis.workers.dev',
    '10.0.0.7:8787',
    'localhost.example.com',
    '127.0.0.1.example.com',
  ])('F15: is refused in a deployment, which is not healthy: %s', async (host) => {
    for (const on of [published, ofTests]) {
      const [status, answer] = await ask(on, host);

      expect([status, JSON.parse(answer).error.code]).toEqual([500, 'misconfigured']);
      expect(answer).toContain('PRECIS_SECRET');
      expect(answer).not.toContain('do-not-deploy');
      expect(on.upstream.requests).toEqual([]);
      expect(await ask(on, host, '/healthz')).toEqual([503, '{"status":"misconfigured"}']);
    }
  });

  it('F11: is refused as the secret before, too: its items could be forged', async () => {
    const [status, answer] = await ask(rotated, 'precis.example.com');
    expect([status, JSON.parse(answer).error.code]).toEqual([500, 'misconfigured']);
    expect((await ask(rotated, 'precis.example.com', '/healthz'))[0]).toBe(503);
    expect((await ask(rotated, 'localhost'))[0]).toBe(200);
    expect((await ask(rotated, 'localhost', '/healthz'))[0]).toBe(200);
  });

  it('F15: is another than one that nobody has read', async () => {
    expect((await ask(ofItsOwn, 'precis.example.com'))[0]).toBe(200);
  });
});
