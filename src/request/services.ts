/**
 * State that an isolate keeps between requests: the configuration and caches. Made once per
 * environment.
 */

import { type AgentSpec, agents, prompts } from '../agents.ts';
import { type Config, type Env, type Isolation, isolationSchema, type Otlp, readConfig } from '../config.ts';
import { ConfigError } from '../config-error.ts';
import { textBytes } from '../lib/copy.ts';
import { PendingWork } from '../lib/pending-work.ts';
import { createExplainer, createLog, type Explain, type Log } from '../log.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import { type Injection, parseInjection } from '../memory/strategy/injection.ts';
import { type BlocksRequest, parseBlocks } from '../memory/strategy/memory-blocks.ts';
import { parseStrategy } from '../memory/strategy/strategy.ts';
import type { Embedder } from '../storage/archive/embedder.ts';
import type { Settings } from '../storage/conversation/memories.ts';
import { RememberedConversations } from '../storage/conversation/remembered.ts';
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
import { KnownRefs } from '../storage/refs/known.ts';
import { UntoldCalls } from '../storage/tenant/budget.ts';
import { Retention } from '../storage/tenant/retention.ts';
import { TrustedLru } from '../storage/trusted.ts';
import { Upkeep } from '../storage/upkeep.ts';
import type { TextMaterial } from '../summary/conversation.ts';
import { Exporter, type ExporterPorts } from '../telemetry/exporter.ts';
import { type Tenant, Tenants } from '../tenant/identity.ts';
import { AcceptedKeys } from '../upstream/acceptance.ts';
import type { UpstreamApi } from '../upstream/api.ts';
import { BoundThinking } from '../upstream/bound-thinking.ts';
import { ConversationRefusals } from '../upstream/conversation-refusals.ts';
import { embeddingsOf } from '../upstream/embeddings.ts';
import { LearnedLimits } from '../upstream/learned-limits.ts';
import { LostReasoning } from '../upstream/lost-reasoning.ts';
import { ModelFacts } from '../upstream/model-facts.ts';
import { type Webhooks, webhooksOf } from '../webhooks.ts';
import { Callers } from './callers.ts';
import { type ContentCaches, TenantCaches } from './content-caches.ts';

/** A validated agent. */
export interface Agent {
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
  readonly known: KnownRefs;
  /** Uses of refs that the tenants' objects already know of. */
  readonly reportedUses: KnownRefs;
  readonly remembered: RememberedConversations;
  /**
   * The settings of conversations without a user, by `conversationName`, so that a request with a
   * user can be told of them.
   */
  readonly userless: TrustedLru<Settings>;
  readonly upkeep: Upkeep;
  /** Work after the answers of a conversation, by `conversationName`. */
  readonly pending: PendingWork;
  /** What callers with limits have spent that is not counted yet. */
  readonly untold: UntoldCalls;
  /** Events of requests that are not kept yet. */
  readonly runOutboxes: RunOutboxes;
  readonly metrics: Metrics;
  readonly webhooks: Webhooks;
  /** Absent: nothing is traced. */
  readonly exporter: Exporter | undefined;
  readonly accepted: AcceptedKeys;
  readonly limits: LearnedLimits;
  readonly reasoning: LostReasoning;
  /** Models whose upstream refuses marks of its prompt cache. */
  readonly refusedMarks: ModelFacts<boolean>;
  /** Models whose upstream refuses keys of its prompt cache. */
  readonly refusedKeys: ModelFacts<boolean>;
  /** Models whose upstream refuses to be asked for the usage of streams. */
  readonly refusedUsage: ModelFacts<boolean>;
  /** Models whose upstream refuses summaries that its API has signed. */
  readonly refusedBlocks: ModelFacts<boolean>;
  /** Conversations with parts that the upstream refuses. */
  readonly refusals: ConversationRefusals;
  /** What stood before thinking that is bound to it. */
  readonly boundThinking: BoundThinking;
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
  /** All that can know something of a tenant. */
  readonly caches: readonly Forgetful[];
  /** The caches for a tenant's contents; without a tenant, new ones for a single request. */
  cachesOf(tenant: Tenant | undefined): ContentCaches;
}

/** A cache of what an isolate knows of tenants and conversations. */
interface Forgetful {
  /** @param owner the tenant's id, or `conversationName` */
  forget(owner: string): void;
}

/**
 * Forgets what this isolate knows of a tenant or a conversation that is being deleted, except
 * whether the upstream accepts the tenant's key.
 *
 * @param owner the tenant's id, or `conversationName`
 */
export function forget(owner: string, { caches }: Services): void {
  for (const cache of caches) cache.forget(owner);
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

/** About 2 000 conversations. */
const SETTINGS = { bytes: 1024 * 1024, sizeOf: (settings: Settings) => textBytes(JSON.stringify(settings)) };

function createServices(env: Env): Services {
  const config = readConfig(env);
  const contents = new TenantCaches();
  const log = createLog(config.logLevel);
  const metrics = metricsOf(env, log);
  const caches = {
    tenants: new Tenants(config.secret, config.previousSecret),
    known: new KnownRefs(),
    reportedUses: new KnownRefs(),
    remembered: new RememberedConversations(),
    userless: new TrustedLru<Settings>(SETTINGS),
    upkeep: new Upkeep(log),
    limits: new LearnedLimits(),
    reasoning: new LostReasoning(),
    refusedMarks: new ModelFacts<boolean>(Date.now),
    refusedKeys: new ModelFacts<boolean>(Date.now),
    refusedUsage: new ModelFacts<boolean>(Date.now),
    refusedBlocks: new ModelFacts<boolean>(Date.now),
    refusals: new ConversationRefusals(),
    boundThinking: new BoundThinking(),
  };
  const conversation: Services['conversation'] = (name) => conversationMemory(env, name, log);
  const register = callerRegister(env, log);
  const runOutboxes = new RunOutboxes({
    keep: (name, batch) => conversation(name)((stub) => stub.keepRuns(batch)),
    metrics,
    log,
  });
  return {
    ...caches,
    caches: [...Object.values(caches), contents],
    config,
    log,
    explain: createExplainer(log),
    bucket: env.REFS,
    retention: new Retention(config.retentionDays),
    pending: new PendingWork(),
    untold: new UntoldCalls(),
    metrics,
    runOutboxes,
    webhooks: webhooksOf(env, log),
    exporter: config.otlp && exporterOf(config.otlp, metrics, log),
    accepted: new AcceptedKeys(),
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
    cachesOf: (tenant) => (tenant ? contents.of(tenant.id) : TenantCaches.ofRequest()),
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
    strategy: strategy.value,
    injection: injection?.value,
    blocks: blocks?.value,
    archives: archive === undefined ? undefined : archive === 'always',
    isolation,
  };
}
