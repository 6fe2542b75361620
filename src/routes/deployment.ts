/** `GET /v1/deployment`: the deployment's configuration without secrets (docs/inspector.md). */
import { VARIABLES, type VariableName } from '../config.ts';
import { VERSION } from '../lib/version.ts';
import { MODES } from '../memory/modes/strategy.ts';
import { RETIRED_VARIABLES } from '../memory/strategy/retired.ts';
import type { DeploymentFacts } from '../reference/schemas/stored.ts';
import { identifiedBy } from '../request/callers/caller.ts';
import { retiringModels } from '../request/retiring-models.ts';
import type { Services } from '../request/services.ts';
import { type RouteContext, verifiedTenant } from './context.ts';

/**
 * The variables whose values any caller may see: numbers, switches, and names of models. Of any
 * other variable, such as a secret or a URL that may contain one, it says only whether it is set.
 */
const SHOWN: ReadonlySet<VariableName> = new Set([
  'VERIFY_KEYS',
  'UNVERIFIED_READS',
  'SUMMARIZER_MODEL',
  'SUMMARIZER_MODELS',
  'SUMMARIZER_TIMEOUT_MS',
  'SUMMARIZER_WINDOW_TOKENS',
  'OFFLOAD_DIGEST_WAIT_MS',
  'EMBEDDINGS_MODEL',
  'EMBEDDINGS_WINDOW_TOKENS',
  'UPSTREAM_HEADERS_TIMEOUT_MS',
  'UPSTREAM_IDLE_TIMEOUT_MS',
  'UPSTREAM_NATIVE_COMPACTION',
  'UPSTREAM_PROMPT_CACHE',
  'MODEL_PRICES',
  'MODEL_WINDOWS',
  'TOKEN_FACTORS',
  'RETENTION_DAYS',
  'EVENTS',
  'ARCHIVE',
  'USER_ARCHIVE',
  'OBSERVE',
  'OBSERVE_SHARE',
  'OTLP_SHARE',
  'LOG_LEVEL',
]);

export async function getDeployment(c: RouteContext): Promise<Response> {
  await verifiedTenant(c, 'read');
  const { env } = c;
  const services = c.get('services');
  const { config, agents } = services;
  const facts: DeploymentFacts = {
    object: 'memory.deployment',
    version: VERSION,
    modes: [...MODES],
    agents: [...agents.keys()],
    access: accessOf(config),
    caller: identifiedBy(c.req.raw.headers, services, c.get('api')),
    default_strategy: { ...config.defaultStrategy },
    metrics: config.metricsToken !== undefined,
    retiring: [...(await retiringModels(config, Date.now()))],
    retired_variables: RETIRED_VARIABLES.filter((name) => name in env),
    variables: VARIABLES.map((name) => {
      const value = env[name];
      return { name, set: value !== undefined, value: SHOWN.has(name) ? (value ?? null) : null };
    }),
  };
  return c.json(facts);
}

function accessOf({ access, localTenant }: Services['config']): DeploymentFacts['access'] {
  if (access) return 'access_keys';
  return localTenant === undefined ? 'callers_keys' : 'local_tenant';
}
