/** `GET /v1/admin/health`: whether the parts of the deployment do their work, for its operator. */
import { baseUrlOf, type Config } from '../../config.ts';
import { StoreError } from '../../lib/store-error.ts';
import { within } from '../../lib/time-limit.ts';
import { VERSION } from '../../lib/version.ts';
import { logCaught } from '../../log.ts';
import type { DeploymentHealth, Part, PartHealth } from '../../reference/schemas/admin.ts';
import type { Services } from '../../request/services.ts';
import { conversationMemory, tenantMemory, userMemory } from '../../storage/objects.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { ANTHROPIC, OPENAI, type UpstreamApi } from '../../upstream/api.ts';
import { keyPathOf } from '../../upstream/key-verdict.ts';
import { askModel, type ModelFault, type ModelServer } from '../../upstream/model-client.ts';
import type { RouteContext } from '../context.ts';

/** Names what is written for a moment, and the objects that are asked. No tenant has the name. */
const PROBE = 'health';

/** In bytes; an answer has a few hundred, and a list of models some ten thousand. */
const LONGEST_ANSWER = 1024 * 1024;

type Found = Pick<PartHealth, 'status' | 'reason'>;
type Look = (services: Services, c: RouteContext) => Promise<Found>;

const OK: Found = { status: 'ok', reason: null };

const LOOKS: Readonly<Record<Part, Look>> = {
  bucket: async ({ bucket }) => {
    const words = crypto.randomUUID();
    const key = `${PROBE}/${words}`;
    await bucket.put(key, words);
    const read = await (await bucket.get(key))?.text();
    await bucket.delete(key);
    return read === words ? OK : { status: 'failed', reason: 'what was written could not be read' };
  },
  conversations: async ({ log }, { env }) => {
    await conversationMemory(env, PROBE, log)((stub) => stub.versions.overview());
    return OK;
  },
  users: async ({ log }, { env }) => {
    await userMemory(env, PROBE, log)((stub) => stub.latest({ except: PROBE, most: 1 }));
    return OK;
  },
  tenants: async ({ log }, { env }) => {
    await tenantMemory(env, PROBE, log)((stub) => stub.conversations.find(PROBE));
    return OK;
  },
  metrics: async ({ config, metricsObject }) => {
    if (config.metricsToken === undefined) return { status: 'off', reason: 'METRICS_TOKEN is not set' };
    await metricsObject((stub) => stub.read());
    return OK;
  },
  upstream: ({ config }) => upstream(config, OPENAI, config.access?.apiKey),
  anthropic: async ({ config }, { env: { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } }) => {
    // Anthropic's own server need not be reachable where nobody asks for it.
    const isNamed = ANTHROPIC_BASE_URL !== undefined || ANTHROPIC_API_KEY !== undefined;
    if (!isNamed && (!config.access || config.anthropicBaseUrl === config.upstreamBaseUrl))
      return { status: 'off', reason: 'ANTHROPIC_BASE_URL is not set' };
    return upstream(config, ANTHROPIC, config.access?.anthropicApiKey);
  },
  summarizer: ({ config: { summarizer, ownSummarizer, access } }) =>
    model(
      summarizer,
      'SUMMARIZER',
      ownSummarizer
        ? `no separate server: ${ownSummarizer.model} of each request's upstream writes, with ${access ? "this deployment's" : "that request's"} key`
        : `not configured: ${access ? "this deployment's account pays" : "callers' keys pay"} for summaries`,
    ),
  embeddings: ({ config: { embeddings } }) =>
    model(embeddings, 'EMBEDDINGS', 'not configured: archives are searched by words alone'),
};

export async function getAdminHealth(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const names = Object.keys(LOOKS) as Part[];
  const parts = await Promise.all(names.map((name) => look(name, services, c)));
  const health: DeploymentHealth = {
    object: 'memory.health',
    status: parts.some(({ status }) => status === 'failed') ? 'failed' : 'ok',
    version: VERSION,
    time: new Date().toISOString(),
    rotating: c.env.PRECIS_SECRET_PREVIOUS !== undefined,
    parts,
  };
  return c.json(health);
}

/** One part. What it fails with is logged. */
async function look(name: Part, services: Services, c: RouteContext): Promise<PartHealth> {
  const begin = performance.now();
  const timed = (found: Found): PartHealth => ({ name, ...found, ms: Math.round(performance.now() - begin) });
  try {
    return timed(await within(TIME_LIMITS.routeStorageMs, LOOKS[name](services, c)));
  } catch (error) {
    logCaught(services.log, 'error', `${name} has failed a look`, error);
    const cause = error instanceof StoreError ? error.cause : error;
    return timed({ status: 'failed', reason: cause instanceof Error ? cause.message : 'it has failed' });
  }
}

/** Whether the upstream answers, and takes the deployment's own key if it has one. */
async function upstream(config: Config, api: UpstreamApi, key: string | undefined): Promise<Found> {
  if (config.access && key === undefined)
    return { status: 'off', reason: `${api.keyVariable} is not set, but callers have access keys` };
  const headers = new Headers();
  if (key !== undefined && api.name === 'anthropic') api.setKey(headers, key);
  api.complete?.(headers);
  const bearer = api.name === 'anthropic' ? undefined : key;
  const server = serverOf(baseUrlOf(api, config), bearer);
  const answer = await asked({ ...server, headers: Object.fromEntries(headers) });
  if (answer === 'ok') return key === undefined && vouchesForAny(config, api) ? OPEN_LIST : OK;
  const { keyVariable } = api;
  if (answer === 'key_refused' || answer === 'refused') {
    // Without a key of the deployment, a refusal is what a healthy upstream says.
    if (key === undefined) return OK;
    if (answer === 'key_refused') return { status: 'failed', reason: `the upstream refuses ${keyVariable}` };
    const reason = `the upstream does not list its models, so nothing shows whether it takes ${keyVariable}`;
    return { status: 'unknown', reason };
  }
  return { status: 'failed', reason: `the upstream: ${answer}` };
}

/** Whether a list of models that anybody gets is what callers' keys are checked by. */
function vouchesForAny(config: Config, api: UpstreamApi): boolean {
  return config.verifyKeys && keyPathOf(baseUrlOf(api, config)) === '/models';
}

const OPEN_LIST: Found = {
  status: 'ok',
  reason: "it lists its models to anybody, so any caller's key counts as accepted",
};

/** Whether a server knows a model of the deployment. A call of the model would cost money. */
async function model(
  configured:
    | { readonly baseUrl: string; readonly apiKey: string | undefined; readonly model: string | undefined }
    | undefined,
  variables: string,
  without: string,
): Promise<Found> {
  if (!configured) return { status: 'off', reason: without };
  const { baseUrl, apiKey, model: named } = configured;
  const answer = await asked(serverOf(baseUrl, apiKey), named);
  if (answer === 'ok') return OK;
  if (answer === 'key_refused')
    return { status: 'unknown', reason: `its server refuses the key: check ${variables}_API_KEY` };
  if (answer === 'refused')
    return { status: 'unknown', reason: `its server does not list the model: check ${variables}_MODEL` };
  return { status: 'failed', reason: `its server: ${answer}` };
}

function serverOf(baseUrl: string, apiKey: string | undefined): ModelServer {
  return { baseUrl, headers: {}, ...(apiKey === undefined ? {} : { apiKey }) };
}

/** Statuses that refuse a key. Others say nothing about it: a server may have no such route. */
const OF_THE_KEY: ReadonlySet<unknown> = new Set([401, 403]);

async function asked(
  server: ModelServer,
  named?: string,
): Promise<'ok' | 'key_refused' | ModelFault['code']> {
  const limits = { timeoutMs: TIME_LIMITS.keyVerdictMs, longestAnswer: LONGEST_ANSWER };
  let status: unknown;
  const answer = await askModel(server, limits, 'free', async ({ models }, signal) => {
    try {
      await (named === undefined ? models.list({ signal }) : models.retrieve(named, { signal }));
    } catch (error) {
      status = Object(error).status;
      throw error;
    }
  });
  if (answer.ok) return 'ok';
  return OF_THE_KEY.has(status) ? 'key_refused' : answer.reason.code;
}
