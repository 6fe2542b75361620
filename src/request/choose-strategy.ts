/**
 * Which strategy holds for a request: request > conversation > agent > deployment default; the
 * first present wins whole.
 */
import { logCaught } from '../log.ts';
import type { StrategySource, Warning } from '../memory/plan/report.ts';
import { type Injection, parseInjection } from '../memory/strategy/injection.ts';
import {
  budgetFault,
  type MemoryStrategy,
  parseStrategy,
  quote,
  type StrategyFault,
} from '../memory/strategy/strategy.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Settings } from '../storage/conversation/memories.ts';
import type { Caller } from './caller.ts';
import { ApiError } from './errors.ts';
import type { RequestScope } from './scope.ts';
import type { Agent, Services } from './services.ts';
import { checkSummarizerModel } from './summarizer-target.ts';

export interface ChosenStrategy {
  readonly strategy: MemoryStrategy;
  readonly source: StrategySource;
  /** Cross-session memory follows the same precedence, on its own. */
  readonly injection: Injection | undefined;
  /** Whether the caller asked for the report in the body of the answer. */
  readonly report: boolean;
  readonly warnings: readonly Warning[];
}

/**
 * @param settings asks for what the conversation is set to: called only when the request itself
 *   leaves something open. It answers undefined when the conversation can't be asked: then the
 *   lower levels hold, and the report says so
 * @throws ApiError `invalid_memory_strategy`, naming the field
 */
export async function chooseStrategy(
  request: ModelRequest,
  headers: Headers,
  agent: Agent | undefined,
  settings: () => Promise<Settings | undefined>,
  services: Services,
): Promise<ChosenStrategy> {
  const ofRequest = strategyOfRequest(request, headers);
  const injectionOfRequest = injectionIn(request, headers);
  const report = reportWanted(request, headers);
  const open = ofRequest === undefined || injectionOfRequest === undefined;
  const ofConversation = open ? await settings() : NOTHING_SET;

  const stored = ofConversation && readStored(ofConversation, services);
  const chosen: Pick<ChosenStrategy, 'strategy' | 'source'> = ofRequest
    ? { strategy: ofRequest, source: 'request' }
    : stored?.strategy
      ? { strategy: stored.strategy, source: 'conversation' }
      : agent
        ? { strategy: agent.strategy, source: 'agent' }
        : { strategy: services.config.defaultStrategy, source: 'default' };
  const fault = budgetFault(chosen.strategy, request.model);
  if (fault) throw strategyError(fault);

  const injection = injectionOfRequest ?? stored?.injection ?? agent?.injection ?? 'off';
  return {
    ...chosen,
    injection: injection === 'off' ? undefined : injection,
    report,
    warnings: stored?.isWhole ? [] : ['store_failed'],
  };
}

interface StoredSettings {
  readonly strategy?: MemoryStrategy;
  readonly injection?: Injection | 'off';
  /** Whether all that is stored could be read. */
  readonly isWhole: boolean;
}

/**
 * Settings were valid when they were stored; what is not any more, since the deployment has
 * changed, gives way to the lower levels.
 */
function readStored({ memory_strategy, memory_injection }: Settings, services: Services): StoredSettings {
  try {
    const strategy = memory_strategy === null ? undefined : parsedStrategy(memory_strategy);
    if (strategy) checkSummarizerModel(strategy, services);
    const injection = memory_injection === null ? undefined : parsedInjection(memory_injection);
    return { ...(strategy ? { strategy } : {}), ...(injection ? { injection } : {}), isWhole: true };
  } catch (error) {
    logCaught(services.log, 'warn', "a conversation's settings are not valid any more", error);
    return { isWhole: false };
  }
}

/** What a conversation is set to that nobody has configured. */
export const NOTHING_SET: Settings = { memory_strategy: null, memory_injection: null };

function strategyOfRequest(request: ModelRequest, headers: Headers): MemoryStrategy | undefined {
  const inBody = request.own('memory_strategy');
  return inBody === undefined ? strategyInHeader(headers) : parsedStrategy(inBody);
}

function strategyInHeader(headers: Headers): MemoryStrategy | undefined {
  const header = headers.get('x-memory-strategy')?.trim();
  return header ? parsedStrategy(jsonOrWord(header, 'x-memory-strategy')) : undefined;
}

/** @throws ApiError `invalid_memory_strategy` */
export function parsedStrategy(input: unknown): MemoryStrategy {
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw strategyError(strategy.reason);
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
  const header = headers.get('x-memory-injection')?.trim().toLowerCase();
  if (!header) return undefined;
  const word = ['true', 'on'].includes(header) ? true : ['false', 'off'].includes(header) ? false : undefined;
  return parsedInjection(word ?? jsonOrWord(header, 'x-memory-injection'));
}

/** @throws ApiError `invalid_memory_strategy` */
export function parsedInjection(input: unknown): Injection | 'off' {
  const injection = parseInjection(input);
  if (injection.ok) return injection.value;
  throw new ApiError('invalid_memory_strategy', injection.reason.message, 'memory_injection');
}

function jsonOrWord(header: string, name: string): unknown {
  if (/^\w+$/.test(header)) return header;
  try {
    return JSON.parse(header);
  } catch {
    throw new ApiError(
      'invalid_memory_strategy',
      `The header ${name} is not valid JSON; it must be a JSON object as in the body's field, or one word.`,
      name,
    );
  }
}

/**
 * What holds for a request whose body is not read; undefined where that can't be known. A
 * conversation may be set to something else, and cross-session memory stands in the body.
 *
 * @throws ApiError for headers that are not valid
 */
export function chosenByHeaders(
  headers: Headers,
  agentInPath: Agent | undefined,
  { caller, services }: Pick<RequestScope, 'caller' | 'services'>,
): { readonly mode: MemoryStrategy['mode']; readonly source: StrategySource } | undefined {
  const key = headers.get('x-agent-type');
  const agent = key === null ? agentInPath : knownAgent(key, 'x-agent-type', caller, services);
  const injection = injectionInHeader(headers) ?? agent?.injection ?? 'off';
  if (injection !== 'off') return undefined;
  const said = strategyInHeader(headers);
  if (said) return { mode: said.mode, source: 'request' };
  if (headers.has('x-conversation-id')) return undefined;
  if (agent) return { mode: agent.strategy.mode, source: 'agent' };
  return { mode: services.config.defaultStrategy.mode, source: 'default' };
}

/**
 * The agent that a request names itself, or the one of its base URL.
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
 * The others' names are for callers whose key is known to be good.
 *
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
  const isKnown =
    config.access !== undefined || (tenant !== undefined && accepted.known(tenant.id) === 'accepted');
  const names = isKnown ? `; known ones: ${[...agents.keys()].join(', ')}` : '';
  throw new ApiError('unknown_agent', `There is no agent ${quote(key)}${names}.`, param);
}

function reportWanted(request: ModelRequest, headers: Headers): boolean {
  const inBody = request.own('memory_report');
  if (inBody === undefined) return headers.get('x-memory-report')?.trim().toLowerCase() === 'true';
  if (typeof inBody === 'boolean') return inBody;
  throw new ApiError('invalid_memory_strategy', 'memory_report must be true or false.', 'memory_report');
}
