/**
 * State that an isolate keeps between requests: the configuration and caches. Made once per
 * environment.
 */

import { type AgentSpec, agents, prompts } from '../agents.ts';
import { type Env, isolationSchema, type Otlp, readConfig } from '../config.ts';
import { ConfigError } from '../config-error.ts';
import { oncePer } from '../lib/once.ts';
import { PendingWork } from '../lib/pending-work.ts';
import { createExplainer, createLog, type Log } from '../log.ts';
import { parseStrategy } from '../memory/modes/strategy.ts';
import { parseInjection } from '../memory/strategy/injection.ts';
import { parseBlocks } from '../memory/strategy/memory-blocks.ts';
import { RunOutboxes } from '../storage/conversation/run-outboxes.ts';
import { type Metrics, metricsOf } from '../storage/metrics/metrics.ts';
import {
  callerRegister,
  conversationMemory,
  metricsObject,
  tenantMemory,
  userMemory,
} from '../storage/objects.ts';
import { Retention } from '../storage/retention.ts';
import { UnreportedCalls } from '../storage/tenant/budget.ts';
import { Upkeep } from '../storage/upkeep.ts';
import type { TextMaterial } from '../summary/conversation.ts';
import { Exporter, type ExporterPorts } from '../telemetry/exporter.ts';
import { type Tenant, Tenants } from '../tenant/identity.ts';
import type { Session } from '../tenant/session.ts';
import { AcceptedKeys } from '../upstream/acceptance.ts';
import type { UpstreamApi } from '../upstream/api.ts';
import { embeddingsOf } from '../upstream/embeddings.ts';
import { webhooksOf } from '../webhooks.ts';
import { isolateMemory } from './beliefs.ts';
import { Callers } from './callers/register.ts';
import { ContentCaches } from './content-caches.ts';

export type Agent = Readonly<ReturnType<typeof readAgent>>;

export type Services = Readonly<ReturnType<typeof createServices>>;

/** The type of Hono's context in this app. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    services: Services;
    api: UpstreamApi;
    /** The agent in the base URL. */
    agent: Agent | undefined;
    /** The kept sign-in of a request that renews one. */
    session: Session | undefined;
  };
}

/** The services of an environment. @throws ConfigError */
export const servicesOf: (env: Env) => Services = oncePer(createServices);

function createServices(env: Env) {
  const config = readConfig(env);
  const memory = isolateMemory();
  const log = createLog(config.logLevel);
  const metrics = metricsOf(env, log);
  const objects = objectsOf(env, log);
  const { conversation, register } = objects;
  return {
    config,
    log,
    /** Once per isolate. */
    explain: createExplainer(log),
    bucket: env.REFS,
    tenants: new Tenants(config.secret, config.previousSecret, {
      tenants: memory.of('tenants'),
      names: memory.of('names'),
      checks: memory.of('checks'),
    }),
    retention: new Retention(config.retentionDays),
    /** What this isolate believes (`beliefs.ts`). */
    memory,
    upkeep: new Upkeep(log, memory.of('turns')),
    /** Work after the answers of a conversation, by `conversationName`. */
    pending: new PendingWork(),
    /** What callers with limits have spent that is not counted yet. */
    unreported: new UnreportedCalls(),
    /** Events of requests that are not kept yet. */
    runOutboxes: new RunOutboxes({
      keep: (name, batch) => conversation(name)((stub) => stub.events.add(batch)),
      metrics,
      log,
    }),
    metrics,
    webhooks: webhooksOf(env, log),
    /** Undefined: nothing is traced. */
    exporter: config.otlp && exporterOf(config.otlp, metrics, log),
    accepted: new AcceptedKeys(memory.of('acceptedKeys'), memory.of('keyVerdicts')),
    agents: new Map(agents.map((spec) => [spec.key, readAgent(spec)])),
    /** The deployer's instructions for summaries, by name. */
    prompts: new Map(Object.entries(prompts)),
    ...objects,
    callers: new Callers({
      isOn: config.adminToken !== undefined,
      configured: config.callerLimits,
      read: (known) => register((stub) => stub.callers.read(known)),
      log,
    }),
    /** Undefined if the deployment has no embeddings. */
    embedder: () => embeddingsOf(env),
    /** The caches for a tenant's contents; without a tenant, new ones for a single request. */
    cachesOf: (tenant: Tenant | undefined) =>
      tenant ? new ContentCaches(memory, tenant.id) : ContentCaches.ofRequest(),
  };
}

/** The Durable Objects, by `conversationName`, `userName` and the tenant's id. */
function objectsOf(env: Env, log: Log) {
  return {
    conversation: (name: string) => conversationMemory<TextMaterial>(env, name, log),
    user: (name: string) => userMemory(env, name, log),
    tenant: (id: string) => tenantMemory(env, id, log),
    // Only a deployment that counts has this one.
    metricsObject: ((call) => metricsObject(env, log)(call)) as ReturnType<typeof metricsObject>,
    register: callerRegister(env, log),
  };
}

function exporterOf(otlp: Otlp, metrics: Metrics, log: Log): Exporter {
  const lost: ExporterPorts['lost'] = (count, waitUntil) => {
    metrics.count('precis_otlp_lost_total', {}, count);
    if (waitUntil) metrics.sendLater(waitUntil);
  };
  return new Exporter({ ...otlp, log, lost });
}

function readAgent(spec: AgentSpec) {
  const { key, memory_strategy, memory_injection, memory_blocks, archive, isolation } = spec;
  const broken = (message: string) => new ConfigError(`src/agents.ts, agent '${key}': ${message}`);
  const strategy = parseStrategy(memory_strategy);
  if (!strategy.ok) throw broken(strategy.reason.message);
  const prompt = 'summary_prompt' in strategy.value ? strategy.value.summary_prompt : undefined;
  if (prompt !== undefined && !Object.hasOwn(prompts, prompt))
    throw broken(`there is no prompt '${prompt}'.`);
  const injection = memory_injection === undefined ? undefined : parseInjection(memory_injection);
  if (injection && !injection.ok) throw broken(injection.reason.message);
  const blocks = memory_blocks === undefined ? undefined : parseBlocks(memory_blocks);
  if (blocks && !blocks.ok) throw broken(blocks.reason.message);
  if (isolation !== undefined && !isolationSchema.safeParse(isolation).success)
    throw broken('isolation is not valid.');
  if (archive !== undefined && archive !== 'always' && archive !== 'asked')
    throw broken("archive must be 'always' or 'asked'.");
  return {
    key,
    strategy: strategy.value,
    injection: injection?.value,
    blocks: blocks?.value,
    /** See `AgentSpec`; other than true: as the deployment has it. */
    archives: archive === undefined ? undefined : archive === 'always',
    isolation,
  };
}
