/**
 * What the demo's upstream counts, as a vendor with a prompt cache: a prefix that an earlier
 * request began with is cached input. Whole messages count; vendors round a little differently.
 */

/** A part of a prompt in the order in which a cache compares them: the tools, then the messages. */
export interface PromptPart {
  readonly text: string;
  readonly tokens: number;
}

/** Requests whose prompts are still in the cache. */
const CACHED_REQUESTS = 8;

export class Bill {
  tokens = 0;
  cached = 0;
  private readonly recent: (readonly PromptPart[])[] = [];

  /** @returns tokens of the prompt */
  add(parts: readonly PromptPart[]): number {
    const tokens = sumOf(parts);
    this.tokens += tokens;
    this.cached += Math.max(0, ...this.recent.map((earlier) => sumOf(shared(earlier, parts))));
    this.recent.push(parts);
    if (this.recent.length > CACHED_REQUESTS) this.recent.shift();
    return tokens;
  }
}

function shared(earlier: readonly PromptPart[], parts: readonly PromptPart[]): readonly PromptPart[] {
  const end = parts.findIndex(({ text }, at) => earlier[at]?.text !== text);
  return end < 0 ? parts : parts.slice(0, end);
}

/** Tokens of a prompt. */
export function sumOf(parts: readonly PromptPart[]): number {
  return parts.reduce((total, { tokens }) => total + tokens, 0);
}
