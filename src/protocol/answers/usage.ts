/** Usage of several answers that the caller sees as one. */
import type { TokenUsage } from '../../memory/plan/report.ts';

/** The usage object of one answer. */
export type Usage = Readonly<Record<string, unknown>>;

/** A protocol's names of its counts. */
export interface UsageNames {
  readonly prompt: string;
  readonly completion: string;
  /** Details of the completion. */
  readonly details: string;
}

export const CHAT_USAGE: UsageNames = {
  prompt: 'prompt_tokens',
  completion: 'completion_tokens',
  details: 'completion_tokens_details',
};

export const RESPONSES_USAGE: UsageNames = {
  prompt: 'input_tokens',
  completion: 'output_tokens',
  details: 'output_tokens_details',
};

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

  /** The next answer begins. */
  begin(): void {
    if (this.last) this.earlier.push(this.last);
    this.last = undefined;
  }

  /** All answers together, including the current one; undefined if none reported usage. */
  get total(): TokenUsage | undefined {
    const all = this.all;
    if (all.length === 0) return undefined;
    return {
      prompt_tokens: sumOf(all, this.names.prompt),
      completion_tokens: sumOf(all, this.names.completion),
      total_tokens: sumOf(all, 'total_tokens'),
    };
  }

  /**
   * Usage for the caller: the last answer's prompt with its details, since clients decide by it
   * when to compact, and the sum of all completions. Undefined if the last answer reported none.
   */
  get forCaller(): Usage | undefined {
    const { last, all, names } = this;
    if (!last || this.earlier.length === 0) return last;
    const completion = sumOf(all, names.completion);
    const details = all.map((usage) => usage[names.details]).filter(isUsage);
    return {
      ...last,
      [names.completion]: completion,
      total_tokens: numberIn(last, names.prompt) + completion,
      ...(details.length === 0 ? {} : { [names.details]: summed(details) }),
    };
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

function isUsage(value: unknown): value is Usage {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sumOf(usages: readonly Usage[], key: string): number {
  return usages.reduce((sum, usage) => sum + numberIn(usage, key), 0);
}

function numberIn(usage: Usage, key: string): number {
  const value = usage[key];
  return typeof value === 'number' ? value : 0;
}
