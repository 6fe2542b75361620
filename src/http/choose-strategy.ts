/** Which strategy holds for a request: request > conversation > agent > deployment default; the first present wins whole. */
import type { StrategySource } from '../memory/report.ts';
import {
  budgetFault,
  type MemoryStrategy,
  parseStrategy,
  quote,
  type StrategyFault,
} from '../memory/strategy.ts';
import type { ChatRequest } from '../protocol/chat.ts';
import { ApiError } from './errors.ts';
import type { Services } from './services.ts';

export interface ChosenStrategy {
  readonly strategy: MemoryStrategy;
  readonly source: StrategySource;
  /** Whether the caller asked for the report in the body of the answer. */
  readonly report: boolean;
}

/**
 * @param agentInPath the strategy of the agent that the base URL names
 * @throws ApiError `invalid_memory_strategy` or `unknown_agent`, naming the field
 */
export function chooseStrategy(
  request: ChatRequest,
  headers: Headers,
  agentInPath: MemoryStrategy | undefined,
  services: Services,
): ChosenStrategy {
  const agent = agentOf(request, headers, services) ?? agentInPath;
  const ofRequest = strategyOfRequest(request, headers);
  const chosen: Pick<ChosenStrategy, 'strategy' | 'source'> = ofRequest
    ? { strategy: ofRequest, source: 'request' }
    : agent
      ? { strategy: agent, source: 'agent' }
      : { strategy: services.config.defaultStrategy, source: 'default' };
  const fault = budgetFault(chosen.strategy, request.model);
  if (fault) throw strategyError(fault);
  return { ...chosen, report: reportWanted(request, headers) };
}

function strategyOfRequest(request: ChatRequest, headers: Headers): MemoryStrategy | undefined {
  const inBody = request.own('memory_strategy');
  if (inBody !== undefined) return parsed(inBody);
  const header = headers.get('x-memory-strategy')?.trim();
  return header ? parsed(jsonOrMode(header)) : undefined;
}

function parsed(input: unknown): MemoryStrategy {
  const strategy = parseStrategy(input);
  if (!strategy.ok) throw strategyError(strategy.reason);
  return strategy.value;
}

function strategyError({ field, message }: StrategyFault): ApiError {
  const param = field === '' ? 'memory_strategy' : `memory_strategy.${field}`;
  return new ApiError('invalid_memory_strategy', message, param);
}

function jsonOrMode(header: string): unknown {
  if (/^\w+$/.test(header)) return header;
  try {
    return JSON.parse(header);
  } catch {
    throw new ApiError(
      'invalid_memory_strategy',
      'The header x-memory-strategy is not valid JSON; it must be a JSON object with a mode, or the name of a mode.',
      'x-memory-strategy',
    );
  }
}

function agentOf(request: ChatRequest, headers: Headers, services: Services): MemoryStrategy | undefined {
  const inBody = request.own('agent_type');
  if (inBody !== undefined) return knownAgent(inBody, 'agent_type', services);
  const header = headers.get('x-agent-type');
  return header === null ? undefined : knownAgent(header, 'x-agent-type', services);
}

/** @throws ApiError `unknown_agent` */
export function knownAgent(key: unknown, param: string | null, services: Services): MemoryStrategy {
  const strategy = typeof key === 'string' ? services.agents.get(key) : undefined;
  if (strategy) return strategy;
  const known = [...services.agents.keys()].join(', ');
  throw new ApiError('unknown_agent', `There is no agent ${quote(key)}; known ones: ${known}.`, param);
}

function reportWanted(request: ChatRequest, headers: Headers): boolean {
  const inBody = request.own('memory_report');
  if (inBody === undefined) return headers.get('x-memory-report')?.trim().toLowerCase() === 'true';
  if (typeof inBody === 'boolean') return inBody;
  throw new ApiError('invalid_memory_strategy', 'memory_report must be true or false.', 'memory_report');
}
