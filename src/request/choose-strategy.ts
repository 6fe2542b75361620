/**
 * Chooses a request's strategy: request > conversation > agent > deployment default. The first one
 * present applies as a whole.
 */
import { parseJson } from '../lib/json.ts';
import { lruOf } from '../lib/lru.ts';
import type { Result } from '../lib/result.ts';
import { logCaught } from '../log.ts';
import {
  asksForArchive,
  asksForMarks,
  budgetFault,
  namesNone,
  parseStrategy,
  passesThrough,
  upstreamApiOf,
} from '../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import type { StrategySource, Warning } from '../memory/plan/report.ts';
import type { StrategyFault } from '../memory/strategy/fields.ts';
import { quote } from '../memory/strategy/hint.ts';
import { type Injection, parseInjection } from '../memory/strategy/injection.ts';
import { type BlocksRequest, parseBlocks } from '../memory/strategy/memory-blocks.ts';
import { RETIRED_FIELDS, setsRetired } from '../memory/strategy/retired.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Settings } from '../storage/conversation/memories.ts';
import { BELIEFS } from './beliefs.ts';
import type { Caller } from './callers/caller.ts';
import { isAside, SESSION_HEADER } from './claude-code.ts';
import { ApiError } from './errors.ts';
import { type Flags, flagOf, flagsIn, reportOptions } from './own-headers.ts';
import type { RequestScope } from './scope.ts';
import { sentSummary } from './sent-summary.ts';
import type { Agent, Services } from './services.ts';
import { checkSummarizer, withPrompt } from './summarizer-target.ts';

export interface ChosenStrategy {
  readonly strategy: MemoryStrategy;
  readonly source: StrategySource;
  /**
   * Cross-session memory; chosen by the same precedence, independently of the strategy. A request
   * with its own strategy is planned while the conversation's settings are read for this. Never
   * rejects.
   */
  readonly injection: Promise<ChosenInjection>;
  /**
   * The memory blocks in the view: the request's, else the agent's. A conversation has none among
   * its settings, since they are read while the view is planned, and the plan counts the tools that
   * write blocks.
   */
  readonly blocks: BlocksRequest | undefined;
  readonly report: boolean;
  /** Whether the deployer has every named conversation archived. */
  readonly archives: boolean;
  readonly warnings: readonly Warning[];
}

interface ChosenInjection {
  readonly injection: Injection | undefined;
  readonly warnings: readonly Warning[];
}

/**
 * @param settings reads the conversation's settings; called only if the request leaves something
 *   open. Undefined if they can't be read: the lower levels apply then, with a warning
 * @throws ApiError `invalid_memory_strategy`, with the field, also of a `memory_summary`
 */
export async function chooseStrategy(
  request: ModelRequest,
  headers: Headers,
  agent: Agent | undefined,
  settings: () => Promise<FoundSettings | undefined>,
  services: Services,
): Promise<ChosenStrategy> {
  const requested = strategyOfRequest(request, headers);
  const injectionOfRequest = injectionIn(request, headers);
  const blocks = blocksIn(request, headers) ?? agent?.blocks;
  const { report, retired } = reportOptions(request, headers);
  // A malformed one is an error in every mode, like the fields above.
  sentSummary(request);
  const open = requested === undefined || injectionOfRequest === undefined;
  const reading = open ? settings() : Promise.resolve(NOTHING_SET);
  const stored = reading.then((read) => read && readStored(read, services));
  const conversation = requested ? undefined : await stored;
  const found: Pick<ChosenStrategy, 'strategy' | 'source'> = requested
    ? { strategy: requested, source: 'request' }
    : conversation?.strategy
      ? { strategy: conversation.strategy, source: 'conversation' }
      : agent
        ? { strategy: agent.strategy, source: 'agent' }
        : { strategy: services.config.defaultStrategy, source: 'default' };
  const chosen = { ...found, strategy: withPrompt(found.strategy, services) };
  const fault = budgetFault(chosen.strategy, request.model, services.config);
  if (fault) throw strategyError(fault);

  const injection = stored.then((settled) => {
    const first = injectionOfRequest ?? settled?.injection ?? agent?.injection ?? 'off';
    const isElsewhere = injectionOfRequest === undefined && settled?.withoutUser?.memory_injection != null;
    return {
      injection: first === 'off' ? undefined : first,
      warnings: [...warningsOf(settled), ...(isElsewhere ? ELSEWHERE : [])],
    };
  });
  return {
    ...chosen,
    injection,
    blocks: blocks === 'off' ? undefined : blocks,
    report,
    archives: archivesAll(agent, services),
    warnings: [
      ...(retired || setsRetired({ ...chosen.strategy }, RETIRED_FIELDS) ? RETIRED : []),
      ...(requested ? [] : warningsOf(conversation)),
      ...(conversation?.withoutUser?.memory_strategy != null ? ELSEWHERE : []),
    ],
  };
}

/** The strategy of a request that is none of a conversation: it passes through, whatever is set. */
export function asideStrategy(
  request: ModelRequest,
  headers: Headers,
  agent: Agent | undefined,
  services: Services,
): ChosenStrategy {
  const { report, retired } = reportOptions(request, headers);
  return {
    ...ASIDE,
    injection: Promise.resolve({ injection: undefined, warnings: [] }),
    blocks: undefined,
    archives: archivesAll(agent, services),
    report,
    warnings: retired ? RETIRED : [],
  };
}

const ASIDE = { strategy: { mode: 'none' }, source: 'request' } as const;

function warningsOf(stored: StoredSettings | undefined): readonly Warning[] {
  return stored?.isWhole ? [] : ['store_failed'];
}

const RETIRED: readonly Warning[] = ['retired'];

/** The settings that a conversation has in another name. */
const ELSEWHERE: readonly Warning[] = ['settings_without_user'];

/** A conversation's settings. */
export interface FoundSettings extends Settings {
  /**
   * The settings of the conversation of the same name without a user, which do not hold for a
   * request with one. Absent if there are none, or if the conversation has its own.
   */
  readonly withoutUser?: Settings;
}

interface StoredSettings extends Pick<FoundSettings, 'withoutUser'> {
  readonly strategy?: MemoryStrategy | undefined;
  readonly injection?: Injection | 'off' | undefined;
  /** Whether all stored settings are valid. */
  readonly isWhole: boolean;
}

/**
 * Settings were valid when they were stored. If they no longer are, because the deployment has
 * changed, the lower levels apply.
 */
function readStored(
  { memory_strategy, memory_injection, withoutUser }: FoundSettings,
  services: Services,
): StoredSettings {
  const elsewhere = withoutUser ? { withoutUser } : {};
  try {
    const strategy = memory_strategy === null ? undefined : parsedStrategy(memory_strategy);
    if (strategy) checkSummarizer(strategy, services);
    const injection = memory_injection === null ? undefined : parsedInjection(memory_injection);
    return { strategy, injection, isWhole: true, ...elsewhere };
  } catch (error) {
    logCaught(services.log, 'warn', "a conversation's settings are no longer valid", error);
    return { isWhole: false, ...elsewhere };
  }
}

/** The settings of a conversation that has none. */
export const NOTHING_SET: Settings = { memory_strategy: null, memory_injection: null };

function strategyOfRequest(request: ModelRequest, headers: Headers): MemoryStrategy | undefined {
  const inBody = request.own('memory_strategy');
  return (inBody === undefined ? undefined : parsedStrategy(inBody)) ?? strategyInHeader(headers);
}

function strategyInHeader(headers: Headers): MemoryStrategy | undefined {
  const header = headers.get('x-memory-strategy')?.trim();
  return header ? parsedStrategy(jsonOrWord(header, 'x-memory-strategy')) : undefined;
}

/** A strategy as callers write it is shorter, in characters of JSON. */
const LONGEST_KNOWN = 1_024;
/** A text of the caller's own, and what JSON writes for a number that it can't. */
const NOT_KEPT = /"summary_instructions"|null/;
/** Callers send the same one with each request. */
const known = lruOf(BELIEFS.strategies);

/**
 * Undefined if it names none (`namesNone`): the next place is asked then.
 *
 * @throws ApiError `invalid_memory_strategy`
 */
export function parsedStrategy(input: unknown): MemoryStrategy | undefined {
  const json = JSON.stringify(input) ?? '';
  // One that has a number too large for JSON is not the one with null in its place: none is kept.
  const parsed = known.get(json);
  if (parsed) return parsed;
  if (namesNone(input)) return undefined;
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw strategyError(strategy.reason);
  if (json.length <= LONGEST_KNOWN && !NOT_KEPT.test(json)) known.set(json, strategy.value);
  return strategy.value;
}

function strategyError({ field, message }: StrategyFault): ApiError {
  const param = field === '' ? 'memory_strategy' : `memory_strategy.${field}`;
  return new ApiError('invalid_memory_strategy', message, param);
}

function injectionIn(request: ModelRequest, headers: Headers): Injection | 'off' | undefined {
  const inBody = request.own('memory_injection');
  return inBody === undefined ? injectionInHeader(headers) : parsedInjection(inBody);
}

function injectionInHeader(headers: Headers): Injection | 'off' | undefined {
  const name = 'x-memory-injection';
  const header = headers.get(name)?.trim().toLowerCase();
  if (!header) return undefined;
  return parsedInjection(flagOf(header) ?? parseJson(header) ?? header, name);
}

function blocksIn(request: ModelRequest, headers: Headers): BlocksRequest | 'off' | undefined {
  const inBody = request.own('memory_blocks');
  return inBody === undefined ? blocksInHeader(headers) : validOf(parseBlocks(inBody), 'memory_blocks');
}

/** JSON as in the body, or labels with commas between them; `off` and `false` are no labels. */
function blocksInHeader(headers: Headers): BlocksRequest | 'off' | undefined {
  const name = 'x-memory-blocks';
  const header = headers.get(name)?.trim();
  if (!header) return undefined;
  if (/^(off|false)$/i.test(header)) return 'off';
  const isJson = /^[[{]/.test(header);
  const labels = () => header.split(',').map((label) => label.trim());
  return validOf(parseBlocks(isJson ? jsonOrWord(header, name) : labels()), name);
}

/** @throws ApiError `invalid_memory_strategy` */
export function parsedInjection(input: unknown, param = 'memory_injection'): Injection | 'off' {
  return validOf(parseInjection(input, param), param);
}

/** @throws ApiError `invalid_memory_strategy` */
function validOf<Value>(read: Result<Value, StrategyFault>, param: string): Value {
  if (read.ok) return read.value;
  throw new ApiError('invalid_memory_strategy', read.reason.message, param);
}

function jsonOrWord(header: string, name: string): unknown {
  if (/^\w+$/.test(header)) return header;
  const value = parseJson(header);
  if (value !== undefined) return value;
  throw new ApiError(
    'invalid_memory_strategy',
    `The header ${name} is not valid JSON; it must be a JSON object as in the body's field, or one word.`,
    name,
  );
}

/**
 * Whether the deployer has every named conversation archived. An agent can't turn it off, since a
 * caller may choose the agent.
 */
function archivesAll(agent: Agent | undefined, { config }: Services): boolean {
  return config.archives || agent?.archives === true;
}

export interface ChosenByHeaders extends Pick<Flags, 'report'> {
  readonly mode: MemoryStrategy['mode'];
  readonly source: StrategySource;
}

/** Why the body of a request must be read, whatever its strategy does with its messages. */
export type ReadFor = 'archive' | 'bridge' | 'deployer_archive' | 'marks';

/**
 * The strategy of a request whose body is not read, from its headers alone. A `ReadFor` if an
 * archive needs the body. Undefined if the strategy can't be known, since the conversation may have
 * its own settings, or if injection or memory blocks need the body.
 *
 * @throws ApiError for invalid headers
 */
export function chosenByHeaders(
  headers: Headers,
  agentInPath: Agent | undefined,
  { caller, services }: Pick<RequestScope, 'caller' | 'services'>,
): ChosenByHeaders | ReadFor | undefined {
  const { report } = flagsIn(headers);
  const key = headers.get('x-agent-type');
  const agent = key === null ? agentInPath : knownAgent(key, 'x-agent-type', caller, services);
  const { session_key, require_explicit_key } = agent?.isolation ?? services.config.isolation;
  const mayBeNamed =
    headers.has('x-conversation-id') || headers.has(SESSION_HEADER) || session_key !== undefined;
  if (mayBeNamed && archivesAll(agent, services)) return 'deployer_archive';
  if (isAside(headers)) return { mode: ASIDE.strategy.mode, source: ASIDE.source, report };
  const injection = injectionInHeader(headers) ?? agent?.injection ?? 'off';
  const blocks = blocksInHeader(headers) ?? agent?.blocks ?? 'off';
  if (injection !== 'off' || blocks !== 'off') return undefined;
  const strategy = strategyInHeader(headers);
  if (strategy) return readFor(strategy) ?? { mode: strategy.mode, source: 'request', report };
  if (mayBeNamed || require_explicit_key) return undefined;
  const chosen = agent?.strategy ?? services.config.defaultStrategy;
  const reason = readFor(chosen);
  if (reason) return reason;
  return { mode: chosen.mode, source: agent ? 'agent' : 'default', report };
}

function readFor(strategy: MemoryStrategy): ReadFor | undefined {
  if (asksForArchive(strategy)) return 'archive';
  if (passesThrough(strategy) && upstreamApiOf(strategy) !== 'chat') return 'bridge';
  return asksForMarks(strategy) ? 'marks' : undefined;
}

/**
 * The agent that a request names, else the one in its base URL.
 *
 * @throws ApiError `unknown_agent`
 */
export function agentOf(
  request: ModelRequest,
  headers: Headers,
  agentInPath: Agent | undefined,
  caller: Caller,
  services: Services,
): Agent | undefined {
  const inBody = request.own('agent_type');
  if (inBody !== undefined) return knownAgent(inBody, 'agent_type', caller, services);
  const header = headers.get('x-agent-type');
  return header === null ? agentInPath : knownAgent(header, 'x-agent-type', caller, services);
}

/**
 * The error lists the known agents only to callers with an accepted key.
 *
 * @param param where the key is; null: in the base URL
 * @throws ApiError `unknown_agent`
 */
export function knownAgent(
  key: unknown,
  param: string | null,
  { tenant }: Caller,
  { agents, accepted, config }: Services,
): Agent {
  const agent = typeof key === 'string' ? agents.get(key) : undefined;
  if (agent) return agent;
  const isKnown = config.access !== undefined || (tenant !== undefined && accepted.isKnown(tenant.id));
  const names = isKnown ? `; known ones: ${[...agents.keys()].join(', ')}` : '';
  const where = param === null ? " An agent's base URL is https://HOST/agents/{key}/v1." : '';
  throw new ApiError('unknown_agent', `There is no agent ${quote(key)}${names}.${where}`, param);
}
