/** What an isolate keeps between requests, made once per environment: the configuration, and caches of facts. */
import { agents } from '../agents.ts';
import { type Config, type Env, readConfig } from '../config.ts';
import { createLog, type Log } from '../log.ts';
import { type ContentFacts, createContentFacts } from '../memory/edits/compact.ts';
import { type EncodingName, encodingOf } from '../memory/models.ts';
import { createWrittenPreviews, type WrittenPreviews } from '../memory/preview.ts';
import { type MemoryStrategy, parseStrategy } from '../memory/strategy.ts';
import { createTokenCounter, loadTokenize, type TokenCounter } from '../memory/tokens.ts';
import { Tenants } from '../storage/tenant.ts';
import { KnownRefs } from '../storage/writer.ts';
import { AcceptedKeys } from '../upstream/acceptance.ts';

/** A counter and what it has learned; one per encoding, since counts differ. */
export interface Counting {
  readonly counter: TokenCounter;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
}

export interface Services {
  readonly config: Config;
  readonly log: Log;
  readonly bucket: R2Bucket;
  readonly tenants: Tenants;
  readonly known: KnownRefs;
  readonly accepted: AcceptedKeys;
  readonly agents: ReadonlyMap<string, MemoryStrategy>;
  /** The counter for a model. Its tables are loaded when it is first asked for. */
  counting(model: string | undefined): Promise<Counting>;
}

/** What Hono's context holds in this app. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    services: Services;
    /** The strategy of the agent that the base URL names. */
    agent: MemoryStrategy | undefined;
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
  const countings = new Map<EncodingName, Promise<Counting>>();
  return {
    config,
    log: createLog(config.logLevel),
    bucket: env.REFS,
    tenants: new Tenants(config.secret),
    known: new KnownRefs(),
    accepted: new AcceptedKeys(),
    agents: new Map(agents.map((agent) => [agent.key, agentStrategy(agent.key, agent.memory_strategy)])),
    counting(model) {
      const encoding = encodingOf(model);
      const known = countings.get(encoding) ?? createCounting(encoding);
      countings.set(encoding, known);
      return known;
    },
  };
}

async function createCounting(encoding: EncodingName): Promise<Counting> {
  return {
    counter: createTokenCounter(await loadTokenize(encoding)),
    facts: createContentFacts(),
    previews: createWrittenPreviews(),
  };
}

function agentStrategy(key: string, input: unknown): MemoryStrategy {
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw new Error(`src/agents.ts, agent '${key}': ${strategy.reason.message}`);
  return strategy.value;
}
