/** What a caller over its limits gets, as OpenAI's client sees it. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const KEYS = { spender: 'precis-spender-0123456789abcdef', hasty: 'precis-hasty-0123456789abcdef' };

const deployment = deploy({
  vars: {
    ADMIN_TOKEN,
    ACCESS_KEYS: JSON.stringify(KEYS),
    UPSTREAM_API_KEY: 'sk-the-key-that-the-deployer-pays-for',
    CALLER_LIMITS: JSON.stringify({
      spender: { usd_per_day: 0, models: ['gpt-4.1*'] },
      hasty: { requests_per_minute: 1 },
    }),
  },
});

const question = {
  model: 'gpt-4.1-mini',
  messages: [{ role: 'user' as const, content: 'What is left to do?' }],
};

async function errorOf(asked: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OpenAI.APIError) return error;
  throw new Error('there is no error of the API');
}

overProtocols('a caller over its limits', deployment, () => {
  it('gets a RateLimitError with code and time, once, before the upstream is asked', async () => {
    const client = deployment.client({ apiKey: KEYS.spender, maxRetries: 2 });
    const error = await errorOf(client.chat.completions.create(question));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error.code).toBe('budget_exceeded');
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
    expect(error.headers?.get('x-memory-budget-day')).toBe('0');
    expect(deployment.upstream.requests).toEqual([]);
    const other = await errorOf(client.chat.completions.create({ ...question, model: 'gpt-6' }));
    expect(other).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(other.code).toBe('model_not_allowed');
  });
});

describe('a caller over a limit per minute', () => {
  it('learns of it, and what is left', async () => {
    const client = deployment.client({ apiKey: KEYS.hasty, maxRetries: 0 });
    const { response } = await client.chat.completions.create(question).withResponse();
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const error = await errorOf(client.chat.completions.create(question));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error.code).toBe('rate_limited');
    expect(Number(error.headers?.get('retry-after'))).toBeLessThanOrEqual(60);
  });
});

describe('a caller that an operator adds and deletes', () => {
  it('is served in between, and by no isolate for longer than it relies on the register', async () => {
    const asked = (method: string) =>
      deployment.fetch('/v1/admin/callers/added', {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
    const { access_key } = (await (await asked('PUT')).json()) as { access_key: string };
    const client = deployment.client({ apiKey: access_key, maxRetries: 0 });
    await client.chat.completions.create(question);
    expect((await asked('DELETE')).status).toBe(200);
    expect(await errorOf(client.chat.completions.create(question))).toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
    expect(JSON.stringify(deployment.upstream.requests)).not.toContain(access_key);
  });
});
