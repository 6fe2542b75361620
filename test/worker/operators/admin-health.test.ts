/** The parts of a deployment, each made to fail, as its operator sees them. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { type DeploymentHealth, deploymentHealth, type Part } from '../../../src/reference/schemas/admin.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import { startApp, watchedBucket, watchedObjects } from '../support.ts';

const ADMIN_TOKEN = 'the-token-of-the-operator';
const METRICS_TOKEN = 'the-token-of-the-metrics';
const SUMMARIZER = {
  SUMMARIZER_BASE_URL: 'http://summarizer.test/v1',
  SUMMARIZER_MODEL: 'a-model',
  SUMMARIZER_API_KEY: 'a-key-of-the-summarizer',
};

// A request waits here for the work after its answer, and refusals are counted.
beforeEach(() => shorten({ metricsBatchMs: 1 }));
beforeEach(quiet);
/** A deployment whose parts can fail. */
function deployment(variables: Partial<Env> = { ADMIN_TOKEN, METRICS_TOKEN }) {
  const bindings = env as unknown as Env;
  const bucket = watchedBucket();
  const objects = {
    conversations: watchedObjects(bindings.CONVERSATION_MEMORY),
    users: watchedObjects(bindings.USER_MEMORY),
    tenants: watchedObjects(bindings.TENANT_MEMORY),
    metrics: watchedObjects(bindings.METRICS as DurableObjectNamespace),
  };
  const started = startApp(bucket.bucket, {
    ...variables,
    CONVERSATION_MEMORY: objects.conversations.namespace,
    USER_MEMORY: objects.users.namespace,
    TENANT_MEMORY: objects.tenants.namespace,
    METRICS: objects.metrics.namespace,
  });
  const ask = (token = ADMIN_TOKEN): Promise<Response> =>
    started.request('/v1/admin/health', { headers: { authorization: `Bearer ${token}` } });
  const health = async (): Promise<DeploymentHealth> => deploymentHealth.parse(await (await ask()).json());
  return { ...started, bucket, objects, ask, health };
}

const statusesOf = ({ parts }: DeploymentHealth): Partial<Record<Part, string>> =>
  Object.fromEntries(parts.map(({ name, status }) => [name, status]));

describe('the health of a deployment’s parts', () => {
  const HEALTHY = {
    bucket: 'ok',
    conversations: 'ok',
    users: 'ok',
    tenants: 'ok',
    metrics: 'ok',
    upstream: 'ok',
    anthropic: 'off',
    summarizer: 'off',
    embeddings: 'off',
  };

  it('has all of them, and leaves nothing in the bucket', async () => {
    const { health, bucket } = deployment();
    const found = await health();
    expect(found).toMatchObject({ status: 'ok', rotating: false });
    expect(statusesOf(found)).toEqual(HEALTHY);
    expect(Math.abs(Date.parse(found.time) - Date.now())).toBeLessThan(60_000);
    expect(bucket.operations.map(({ name }) => name)).toEqual(['put', 'get', 'delete']);
    expect((await bucket.bucket.list({ prefix: 'health' })).objects).toEqual([]);
  });

  it.each([
    ['conversations', 'versions.overview'],
    ['users', 'latest'],
    ['tenants', 'conversations.find'],
    ['metrics', 'read'],
  ] as const)('names the objects that fail or hang, and no others: %s', async (part, method) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const way of ['failing', 'hanging'] as const) {
      const { health, objects } = deployment();
      objects[part][way].add(method);
      const asked = health();
      if (way === 'hanging') {
        // The limit of one part is left when all others have answered, however long that takes.
        await expect.poll(() => objects[part].calls).toContain(method);
        await expect.poll(() => vi.getTimerCount()).toBe(1);
        vi.advanceTimersByTime(TIME_LIMITS.routeStorageMs);
      }
      const found = await asked;
      expect(found.status).toBe('failed');
      expect(statusesOf(found)).toEqual({ ...HEALTHY, [part]: 'failed' });
    }
  });

  it.each(['put', 'get', 'delete'] as const)('names the bucket where %s fails', async (operation) => {
    const { health, bucket } = deployment();
    bucket.failing.add(operation);
    const found = await health();
    expect(statusesOf(found)).toEqual({ ...HEALTHY, bucket: 'failed' });
    expect(found.parts.find(({ name }) => name === 'bucket')?.reason).toBe('R2 is down');
  });

  it.each([
    [200, 'ok'],
    [401, 'ok'],
    [500, 'failed'],
    [429, 'failed'],
  ])('takes the refusal of a request without a key for a sign of life: %d', async (modelsStatus, status) => {
    const { health, answer } = deployment();
    answer.modelsStatus = modelsStatus;
    expect(statusesOf(await health()).upstream).toBe(status);
  });

  it('says that an upstream vouches for any key, where keys are checked by a list that is open', async () => {
    const reasonOf = async (variables: Partial<Env>, status = 200) => {
      const { health, answer } = deployment({ ADMIN_TOKEN, ...variables });
      answer.modelsStatus = status;
      return (await health()).parts.find(({ name }) => name === 'upstream')?.reason;
    };
    expect(await reasonOf({ VERIFY_KEYS: 'true' })).toBe(
      "it lists its models to anybody, so any caller's key counts as accepted",
    );
    expect(await reasonOf({ VERIFY_KEYS: 'true' }, 401)).toBeNull();
    expect(await reasonOf({ VERIFY_KEYS: 'false' })).toBeNull();
  });

  it('names the upstream that refuses the deployment’s own key', async () => {
    const UPSTREAM_API_KEY = 'sk-the-key-of-the-deployment';
    const { health, answer, sent } = deployment({
      ADMIN_TOKEN,
      UPSTREAM_API_KEY,
      ACCESS_KEYS: 'alice=a-key-of-twenty-characters',
    });
    expect(statusesOf(await health()).upstream).toBe('ok');
    expect(sent.at(-1)?.headers.get('authorization')).toBe(`Bearer ${UPSTREAM_API_KEY}`);
    answer.modelsStatus = 401;
    const found = await health();
    expect(found.parts.find(({ name }) => name === 'upstream')).toMatchObject({
      status: 'failed',
      reason: 'the upstream refuses UPSTREAM_API_KEY',
    });
    expect(JSON.stringify(found)).not.toContain(UPSTREAM_API_KEY);
  });

  it('blames no key for an upstream that does not list its models', async () => {
    const { health, answer } = deployment({
      ADMIN_TOKEN,
      UPSTREAM_API_KEY: 'sk-the-key-of-the-deployment',
      ACCESS_KEYS: 'alice=a-key-of-twenty-characters',
    });
    answer.modelsStatus = 404;
    expect((await health()).parts.find(({ name }) => name === 'upstream')).toMatchObject({
      status: 'unknown',
      reason: 'the upstream does not list its models, so nothing shows whether it takes UPSTREAM_API_KEY',
    });
  });

  it('asks the upstream of Anthropic’s API with its own key, where the deployment has one', async () => {
    const ANTHROPIC_API_KEY = 'sk-ant-the-key-of-the-deployment';
    const { health, answer, sent } = deployment({
      ADMIN_TOKEN,
      ANTHROPIC_API_KEY,
      ANTHROPIC_BASE_URL: 'http://anthropic.test/v1',
      ACCESS_KEYS: 'alice=a-key-of-twenty-characters',
    });
    expect(statusesOf(await health())).toMatchObject({ anthropic: 'ok', upstream: 'off' });
    const asked = sent.find(({ url }) => url === 'http://anthropic.test/v1/models')?.headers;
    expect(asked?.get('x-api-key')).toBe(ANTHROPIC_API_KEY);
    expect(asked?.get('anthropic-version')).toBe('2023-06-01');
    expect(asked?.get('authorization')).toBeNull();
    answer.modelsStatus = 401;
    const found = await health();
    expect(found.parts.find(({ name }) => name === 'anthropic')).toMatchObject({
      status: 'failed',
      reason: 'the upstream refuses ANTHROPIC_API_KEY',
    });
    expect(JSON.stringify(found)).not.toContain(ANTHROPIC_API_KEY);
  });

  it.each([
    [200, 'ok', null],
    [404, 'unknown', 'its server does not list the model: check SUMMARIZER_MODEL'],
    [401, 'unknown', 'its server refuses the key: check SUMMARIZER_API_KEY'],
    [503, 'failed', 'its server: upstream_error'],
  ])(
    'asks the summarizer’s server for its model, with its own key: %d',
    async (modelStatus, status, reason) => {
      const { health, answer, sent } = deployment({ ADMIN_TOKEN, ...SUMMARIZER });
      answer.status = modelStatus;
      const found = await health();
      expect(statusesOf(found)).toMatchObject({ summarizer: status, metrics: 'off' });
      expect(found.parts.find(({ name }) => name === 'summarizer')?.reason).toBe(reason);
      const asked = sent.find(({ url }) => url === 'http://summarizer.test/v1/models/a-model');
      expect(asked?.headers.get('authorization')).toBe(`Bearer ${SUMMARIZER.SUMMARIZER_API_KEY}`);
    },
  );

  it('names the model that writes on the upstream of each request, where it has no server of its own', async () => {
    const reasonOf = async (variables: Partial<Env>) => {
      const { parts } = await deployment({ ADMIN_TOKEN, ...variables }).health();
      return parts.find(({ name }) => name === 'summarizer');
    };
    expect(await reasonOf({ SUMMARIZER_MODEL: 'a-model' })).toMatchObject({
      status: 'off',
      reason: "no separate server: a-model of each request's upstream writes, with that request's key",
    });
    expect((await reasonOf({}))?.reason).toBe("not configured: callers' keys pay for summaries");
    const shared = { ACCESS_KEYS: `one=${'k'.repeat(20)}`, UPSTREAM_API_KEY: 'sk-the-account' };
    expect((await reasonOf(shared))?.reason).toBe(
      "not configured: this deployment's account pays for summaries",
    );
  });

  it('reports a rotation', async () => {
    const { health } = deployment({ ADMIN_TOKEN, PRECIS_SECRET_PREVIOUS: 'the-secret-before-this-one' });
    expect((await health()).rotating).toBe(true);
  });

  it('is for nobody else, and for nobody without a token in the configuration', async () => {
    const { ask, bucket } = deployment();
    for (const token of ['another-token-of-the-operator', METRICS_TOKEN, '']) {
      const response = await ask(token);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    }
    expect(bucket.operations).toEqual([]);
    expect((await deployment({ METRICS_TOKEN }).ask()).status).toBe(404);
  });
});
