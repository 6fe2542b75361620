/**
 * The usage of one answer of Messages, which a stream reports in several events
 * (https://platform.claude.com/docs/en/build-with-claude/streaming).
 */
import { asObject, asObjects, isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import type { RunUsage } from '../../memory/money/bill-schema.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import { MESSAGES_USAGE, type Usage } from '../answers/usage.ts';

/**
 * The usage so far, updated with a further event's. All counts are of the whole answer, and an
 * event leaves out, or has as null, what it does not know.
 */
export function usageWith(known: Usage | undefined, further: unknown): Usage | undefined {
  if (!isObject(further)) return known;
  const said: JsonObject = { ...known };
  for (const [key, value] of Object.entries(further)) said[key] = value ?? said[key] ?? null;
  return said;
}

/** Comments, signs of life and empty lines, which may come before an answer. */
const BEFORE = String.raw`(?:(?::[^\n]*|event: ?ping|data: ?\{.{0,40}"ping".{0,40})?\r?\n)*`;
/** Matches the first bytes of a stream. */
const OPENS = new RegExp(
  String.raw`^\uFEFF?${BEFORE}(?:event: ?message_start\r?\n)?data: ?\{.{0,40}"message_start"`,
);
/** The events that report usage. */
const REPORTS = /^data: ?(\{.*"message_(?:start|delta)".*\})\s*$/gm;
const STOPS = /^data: ?\{.{0,40}"message_stop"/m;

/** Whether a stream begins as one of Messages. @param text its first bytes */
export function opensMessage(text: string): boolean {
  return OPENS.test(text);
}

/** Whether a stream of Messages has come to its last event. @param text of its end */
export function hasStopped(text: string): boolean {
  return STOPS.test(text);
}

/** The usage that a stream reports. @param text of its beginning and its end */
export function streamedUsage(text: string): Usage | undefined {
  let usage: Usage | undefined;
  for (const [, json = ''] of text.matchAll(REPORTS)) {
    const { type, message, usage: reported } = asObject(parseJson(json));
    if (type === 'message_start') usage = usageWith(usage, asObject(message).usage);
    if (type === 'message_delta') usage = usageWith(usage, reported);
  }
  return usage;
}

/** What only the usage of Messages has, and what only the usage of Responses has. */
const OWN = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'];
const OTHERS = ['prompt_tokens', 'total_tokens', 'input_tokens_details'];

/** Whether a usage is one of Messages. Gateways add its members to the usage of other protocols. */
export function isMessagesUsage(usage: Usage): boolean {
  return OWN.some((key) => key in usage) && !OTHERS.some((key) => key in usage);
}

/** A usage in terms of all protocols. Undefined if it has no input. */
export function runUsageOf(usage: Usage): RunUsage | undefined {
  if (countOf(usage.input_tokens) === null) return undefined;
  const all = [usage, ...compactionsIn(usage)];
  const sumOf = (key: string): number | null => {
    const counts = all.map((one) => countOf(one[key])).filter((count) => count !== null);
    return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
  };
  const [fresh, cached = null, cache_writes = null] = MESSAGES_USAGE.prompt.map(sumOf);
  const input = (fresh ?? 0) + (cached ?? 0) + (cache_writes ?? 0);
  return { input, cached, cache_writes, output: sumOf('output_tokens') };
}

/**
 * The calls for summaries among the iterations of an answer. Its own counts leave them out
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, "Count compaction
 * usage").
 */
function compactionsIn({ iterations }: Usage): JsonObject[] {
  return asObjects(iterations).filter(({ type }) => type === 'compaction');
}

/** The tokens of an answer, with its compactions, as the summarizer's usage has them. */
export function countedUsage(usage: Usage): Omit<TokenUsage, 'total_tokens' | 'cost'> {
  const { input, cached, cache_writes, output } = runUsageOf(usage) ?? {};
  return {
    prompt_tokens: input ?? 0,
    completion_tokens: output ?? 0,
    ...(cached ? { cached_tokens: cached } : {}),
    ...(cache_writes ? { cache_write_tokens: cache_writes } : {}),
  };
}

/** Of the tokens that were written to the cache, those that it keeps for an hour. */
export function hourWrites({ cache_creation }: Usage): number {
  return countOf(asObject(cache_creation).ephemeral_1h_input_tokens) ?? 0;
}

/** The tier of an answer. The fast mode of a model has prices of its own, as a tier has. */
export function tierOf({ service_tier, speed }: Usage): string | undefined {
  if (typeof speed === 'string' && speed !== 'standard') return speed;
  return typeof service_tier === 'string' ? service_tier : undefined;
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
