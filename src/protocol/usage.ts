/** The usage of several answers that a caller sees as one. */
import type { TokenUsage } from '../memory/plan/report.ts';

/** As an upstream has counted one answer. */
export type Usage = Readonly<Record<string, unknown>>;

/** What a protocol calls its counts. */
export interface UsageNames {
  readonly prompt: string;
  readonly completion: string;
  /** Of the completion. */
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

/** What several answers of a model have used. */
export class UsageTally {
  private readonly names: UsageNames;
  private readonly earlier: Usage[] = [];
  private last: Usage | undefined;

  constructor(names: UsageNames) {
    this.names = names;
  }

  /** So much has the answer used that is coming; the upstream may say so more than once. */
  count(usage: Usage | null | undefined): void {
    this.last = usage ?? this.last;
  }

  /** The next answer is coming. */
  begin(): void {
    if (this.last) this.earlier.push(this.last);
    this.last = undefined;
  }

  /** All answers together, the one that is coming included; undefined where none has told. */
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
   * The usage that a caller is told: the last answer's prompt with its details, since clients
   * decide by it when to compact, and all completions with theirs. Undefined where the last one has
   * not told.
   */
  get told(): Usage | undefined {
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

/** Numbers are added up; all else is what was told last. */
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
