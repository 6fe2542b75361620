/** Usage of several answers that the caller sees as one. */
import { asList, asNumber, isObject } from '../../lib/json.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';

/** The usage object of one answer. */
export type Usage = Readonly<Record<string, unknown>>;

/** A protocol's names of its counts. */
export interface UsageNames {
  /** Their sum is the whole prompt. */
  readonly prompt: readonly string[];
  readonly completion: string;
  /** Of prompt and completion together; absent where the protocol has no such count. */
  readonly total?: string;
  /** What is summed up with the completions. */
  readonly details: readonly string[];
  /** A list of the calls of the model that an answer has taken. */
  readonly calls?: string;
}

export const CHAT_USAGE: UsageNames = {
  prompt: ['prompt_tokens'],
  completion: 'completion_tokens',
  total: 'total_tokens',
  details: ['completion_tokens_details'],
};

export const RESPONSES_USAGE: UsageNames = {
  prompt: ['input_tokens'],
  completion: 'output_tokens',
  total: 'total_tokens',
  details: ['output_tokens_details'],
};

/**
 * `input_tokens` has neither what the cache was read for nor what was written to it
 * (https://platform.claude.com/docs/en/api/messages, `usage`).
 */
export const MESSAGES_USAGE: UsageNames = {
  prompt: ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  completion: 'output_tokens',
  details: ['output_tokens_details', 'server_tool_use'],
  calls: 'iterations',
};

/** What an answer has cost, in units of OpenRouter and xAI; with the first, what it consists of. */
const COSTS = ['cost', 'cost_in_usd_ticks'];
const COST_DETAILS = 'cost_details';

/** Adds up the usage of several answers. */
export class UsageTally {
  private readonly names: UsageNames;
  private readonly earlier: Usage[] = [];
  private last: Usage | undefined;

  constructor(names: UsageNames) {
    this.names = names;
  }

  /** Sets the usage of the current answer. The upstream may report it more than once. */
  count(usage: Usage | null | undefined): void {
    this.last = usage ?? this.last;
  }

  begin(): void {
    if (this.last) this.earlier.push(this.last);
    this.last = undefined;
  }

  /** All answers together, including the current one; undefined if none reported usage. */
  get total(): TokenUsage | undefined {
    const { all, names } = this;
    if (all.length === 0) return undefined;
    const prompt_tokens = all.reduce((sum, usage) => sum + this.promptOf(usage), 0);
    const completion_tokens = sumOf(all, names.completion);
    const total_tokens = names.total ? sumOf(all, names.total) : prompt_tokens + completion_tokens;
    return { prompt_tokens, completion_tokens, total_tokens };
  }

  /**
   * Usage for the caller: the last answer's prompt with its details, since clients decide by it
   * when to compact, the sum of all completions and costs, and the calls of all answers. Undefined
   * if the last answer reported none.
   */
  get forCaller(): Usage | undefined {
    const { last, all, names } = this;
    if (!last || this.earlier.length === 0) return last;
    const completion = sumOf(all, names.completion);
    const details = [...names.details, COST_DETAILS].flatMap((name) => {
      const given = all.map((usage) => usage[name]).filter(isObject);
      return given.length === 0 ? [] : [[name, summed(given)] as const];
    });
    const costs = COSTS.flatMap((name) =>
      typeof last[name] === 'number' ? [[name, sumOf(all, name)] as const] : [],
    );
    const { calls: name } = names;
    const calls = name ? all.flatMap((usage) => asList(usage[name])) : [];
    return {
      ...last,
      ...(name && calls.length > 0 ? { [name]: calls } : {}),
      [names.completion]: completion,
      ...(names.total ? { [names.total]: this.promptOf(last) + completion } : {}),
      ...Object.fromEntries([...details, ...costs]),
    };
  }

  private promptOf(usage: Usage): number {
    return this.names.prompt.reduce((sum, name) => sum + asNumber(usage[name]), 0);
  }

  private get all(): readonly Usage[] {
    return this.last ? [...this.earlier, this.last] : this.earlier;
  }
}

/** Adds up numbers; other values are the last ones. */
function summed(details: readonly Usage[]): Usage {
  const sums = Object.assign({}, ...details) as Record<string, unknown>;
  for (const [key, value] of Object.entries(sums))
    if (typeof value === 'number') sums[key] = sumOf(details, key);
  return sums;
}

function sumOf(usages: readonly Usage[], key: string): number {
  return usages.reduce((sum, usage) => sum + asNumber(usage[key]), 0);
}
