/**
 * State that an isolate keeps between requests: the configuration and caches. Made once per
 * environment.
 */

import { type AgentSpec, agents, prompts } from '../agents.ts';
import { type Config, type Env, type Isolation, isolationSchema, type Otlp, readConfig } from '../config.ts';
import { ConfigError } from '../config-error.ts';
import { PendingWork } from '../lib/pending-work.ts';
import { createExplainer, createLog, type Explain, type Log } from '../log.ts';
import { parseStrategy } from '../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import { type Injection, parseInjection } from '../memory/strategy/injection.ts';
import { type BlocksRequest, parseBlocks } from '../memory/strategy/memory-blocks.ts';
import type { Embedder } from '../storage/archive/embedder.ts';
import { RunOutboxes } from '../storage/conversation/run-outboxes.ts';
import { type Metrics, metricsOf } from '../storage/metrics/metrics.ts';
import {
  type ConversationMemoryStub,
  callerRegister,
  conversationMemory,
  type MetricsStub,
  metricsObject,
  type ObjectCaller,
  type RegisterStub,
  type TenantMemoryStub,
  tenantMemory,
  type UserMemoryStub,
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
import { type Webhooks, webhooksOf } from '../webhooks.ts';
import { type Isolate, isolateMemory } from './beliefs.ts';
import { Callers } from './callers/register.ts';
import { ContentCaches } from './content-caches.ts';

export interface Agent {
  readonly key: string;
  readonly strategy: MemoryStrategy;
  readonly injection: Injection | 'off' | undefined;
  readonly blocks: BlocksRequest | 'off' | undefined;
  /** See `AgentSpec`; other than true: as the deployment has it. */
  readonly archives: boolean | undefined;
  readonly isolation: Isolation | undefined;
}

export interface Services {
  readonly config: Config;
  readonly log: Log;
  /** Once per isolate. */
  readonly explain: Explain;
  readonly bucket: R2Bucket;
  readonly tenants: Tenants;
  readonly retention: Retention;
  /** What this isolate believes (`beliefs.ts`). */
  readonly memory: Isolate;
  readonly upkeep: Upkeep;
  /** Work after the answers of a conversation, by `conversationName`. */
  readonly pending: PendingWork;
  /** What callers with limits have spent that is not counted yet. */
  readonly unreported: UnreportedCalls;
  /** Events of requests that are not kept yet. */
  readonly runOutboxes: RunOutboxes;
  readonly metrics: Metrics;
  readonly webhooks: Webhooks;
  /** Absent: nothing is traced. */
  readonly exporter: Exporter | undefined;
  readonly accepted: AcceptedKeys;
  readonly agents: ReadonlyMap<string, Agent>;
  /** The deployer's instructions for summaries, by name. */
  readonly prompts: ReadonlyMap<string, string>;
  /** The Durable Objects, by `conversationName`, `userName` and the tenant's id. */
  conversation(name: string): ObjectCaller<ConversationMemoryStub<TextMaterial>>;
  user(name: string): ObjectCaller<UserMemoryStub>;
  tenant(id: string): ObjectCaller<TenantMemoryStub>;
  readonly metricsObject: ObjectCaller<MetricsStub>;
  /** The register of callers, and what is known of it. */
  readonly register: ObjectCaller<RegisterStub>;
  readonly callers: Callers;
  /** Undefined if the deployment has no embeddings. */
  embedder(): Embedder | undefined;
  /** The caches for a tenant's contents; without a tenant, new ones for a single request. */
  cachesOf(tenant: Tenant | undefined): ContentCaches;
}

/** The type of Hono's context in this app. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    services: Services;
    /** The API that the request speaks. */
    api: UpstreamApi;
    /** The agent in the base URL. */
    agent: Agent | undefined;
    /** The kept sign-in of a request that renews one. */
    session: Session | undefined;
  };
}

const made = new WeakMap<Env, Services>();

/** The services of an environment. @throws ConfigError */
export function servicesOf(env: Env): Services {
  const known = made.get(env);
  if (known) return known;
  const services = createServices(env);
  made.set(env, services);
  return services;
}

function createServices(env: Env): Services {
  const config = readConfig(env);
  const memory = isolateMemory();
  const log = createLog(config.logLevel);
  const metrics = metricsOf(env, log);
  const conversation: Services['conversation'] = (name) => conversationMemory(env, name, log);
  const register = callerRegister(env, log);
  const runOutboxes = new RunOutboxes({
    keep: (name, batch) => conversation(name)((stub) => stub.events.add(batch)),
    metrics,
    log,
  });
  return {
    tenants: new Tenants(config.secret, config.previousSecret, {
      tenants: memory.of('tenants'),
      names: memory.of('names'),
      checks: memory.of('checks'),
    }),
    memory,
    upkeep: new Upkeep(log, memory.of('turns')),
    config,
    log,
    explain: createExplainer(log),
    bucket: env.REFS,
    retention: new Retention(config.retentionDays),
    pending: new PendingWork(),
    unreported: new UnreportedCalls(),
    metrics,
    runOutboxes,
    webhooks: webhooksOf(env, log),
    exporter: config.otlp && exporterOf(config.otlp, metrics, log),
    accepted: new AcceptedKeys(memory.of('acceptedKeys'), memory.of('keyVerdicts')),
    agents: new Map(agents.map((spec) => [spec.key, readAgent(spec)])),
    prompts: new Map(Object.entries(prompts)),
    conversation,
    user: (name) => userMemory(env, name, log),
    tenant: (id) => tenantMemory(env, id, log),
    embedder: () => embeddingsOf(env),
    metricsObject: (call) => metricsObject(env, log)(call),
    register,
    callers: new Callers({
      isOn: config.adminToken !== undefined,
      configured: config.callerLimits,
      read: (known) => register((stub) => stub.readCallers(known)),
      log,
    }),
    cachesOf: (tenant) => (tenant ? new ContentCaches(memory, tenant.id) : ContentCaches.ofRequest()),
  };
}

function exporterOf(otlp: Otlp, metrics: Metrics, log: Log): Exporter {
  const lost: ExporterPorts['lost'] = (count, waitUntil) => {
    metrics.count('precis_otlp_lost_total', {}, count);
    if (waitUntil) metrics.sendLater(waitUntil);
  };
  return new Exporter({ ...otlp, log, lost });
}

function readAgent(spec: AgentSpec): Agent {
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
    archives: archive === undefined ? undefined : archive === 'always',
    isolation,
  };
}
