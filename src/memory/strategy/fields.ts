/** Fields that several modes share, with defaults and ranges (docs/strategy-reference.md). */
import * as z from 'zod';
import { isObject } from '../../lib/json.ts';
import { TOKEN_ESTIMATORS } from '../models/facts.ts';
import { withDefault } from '../shapes.ts';

/**
 * A fault in a strategy: the field as a path below `memory_strategy`, and a sentence that says what
 * would be right.
 */
export interface StrategyFault {
  readonly field: string;
  readonly message: string;
}

/** @param field empty: the whole */
export function fault(
  field: string,
  message: string,
): { readonly ok: false; readonly reason: StrategyFault } {
  return { ok: false, reason: { field, message } };
}

/**
 * What callers may write where `withoutNulls` reads an object: null in all of its fields but those
 * that are needed.
 */
export type WithNulls<Given, Needed = never> = Given extends readonly unknown[] | boolean
  ? Given
  : { [Field in keyof Given]: Field extends Needed ? Given[Field] : Given[Field] | null };

/**
 * An object without the known fields that are null: as in OpenAI's API, null is the default. Any
 * other value as it is.
 */
export function withoutNulls<Input>(input: Input, known: readonly string[]): Input | object {
  if (!isObject(input)) return input;
  const isLeftOut = (field: string, value: unknown): boolean => value === null && known.includes(field);
  return Object.fromEntries(Object.entries(input).filter(([field, value]) => !isLeftOut(field, value)));
}

/** A number of tokens, turns or rounds. */
export const count = z.int().nonnegative();
export const share = z.number().min(0).max(1);
/** In tokens. */
export const LONGEST_PREVIEW = 1_000;

/** In tokens. */
const SHORTEST_SUMMARY = 64;
const LONGEST_SUMMARY = 32_000;
/** In characters. A focus is a hint of a few sentences. */
const LONGEST_FOCUS = 2_000;
/** In characters. */
const LONGEST_INSTRUCTIONS = 4_000;

export const summaryTokens = z.int().min(SHORTEST_SUMMARY).max(LONGEST_SUMMARY);
export const seconds = z.number().nonnegative().max(3_600);

/** Fields of all modes that summarize. */
export const summary = {
  summarizer_model: z.string().min(1).max(200).optional(),
  summary_focus: z.string().max(LONGEST_FOCUS).optional(),
  summary_instructions: z.string().max(LONGEST_INSTRUCTIONS).optional(),
  /** The name of a deployer's instructions. */
  summary_prompt: z.string().min(1).max(64).optional(),
};

/**
 * Names and prefixes are compared with every output, so the list is limited to what a person would
 * write.
 */
export const names = z.array(z.string().min(1)).max(100).default([]);

/**
 * Who marks what the upstream's prompt cache keeps (docs/design.md#marks). `auto`: the caller and
 * Precis. `callers`: the caller alone; marks move with the view. `off`: nothing is added or moved.
 */
const CACHE_MARKS = ['auto', 'callers', 'off'] as const;
export type CacheMarksChoice = (typeof CACHE_MARKS)[number];
export const cacheMarks = z.enum(CACHE_MARKS).optional();

/**
 * The API that a chat request is sent over (docs/bridges.md). `auto`: chat, or the one that its
 * model needs.
 */
const UPSTREAM_APIS = ['auto', 'chat', 'responses', 'messages'] as const;
export type UpstreamApiChoice = (typeof UPSTREAM_APIS)[number];
export const upstreamApi = z.enum(UPSTREAM_APIS).optional();

const archiveSettings = z
  .strictObject({
    /** What the model's search may reach: this conversation, or all of its user's. */
    scope: withDefault(z.enum(['conversation', 'user']), 'conversation'),
    /** Whether the model may keep passages for all of the user's conversations. */
    writable: withDefault(z.boolean(), false),
  })
  .refine(({ scope, writable }) => !writable || scope === 'user', {
    path: ['writable'],
    message: "it needs the scope 'user', since passages are kept for all of the user's conversations",
  });

const ARCHIVE_REFUSED = 'it must be true, false, or an object of scope and writable';

/**
 * `archive`: whether a conversation's messages are kept, and what the model may reach of them. The
 * field is the same in all modes. `true` means the defaults.
 */
export const archiveField = z.union([z.boolean(), archiveSettings], { error: ARCHIVE_REFUSED });

/** The field with its default, for modes whose strategies say all their fields. */
const archive = archiveField.default(false);

/** What the model may reach beside its own conversation. */
export interface UserArchiveScope {
  readonly writable: boolean;
}

/** The scope in a strategy's field; undefined for the conversation alone, or for nothing. */
export function userArchiveScope(
  field: z.output<typeof archiveField> | undefined,
): UserArchiveScope | undefined {
  return typeof field === 'object' && field.scope === 'user' ? { writable: field.writable } : undefined;
}

/** Defaults and maxima: outputs, and tokens of all of them together. */
const ITEMS = 5;
const MOST_ITEMS = 20;
const TOKENS = 20_000;
const MOST_TOKENS = 100_000;

const limit = (usual: number, most: number) => withDefault(z.int().min(1).max(most), usual);

const rehydration = z.strictObject({
  items: limit(ITEMS, MOST_ITEMS),
  max_tokens: limit(TOKENS, MOST_TOKENS),
});

/** The limits of what follows a summary. */
type Rehydration = z.output<typeof rehydration>;

const DEFAULT_REHYDRATION: Rehydration = rehydration.parse({});

const REHYDRATE_REFUSED = 'it must be true, false, or an object of items and max_tokens';

/**
 * `rehydrate`: which contents follow a summary again (docs/modes.md#rehydration). `true` means the
 * defaults.
 */
const rehydrate = z.union([z.boolean(), rehydration], { error: REHYDRATE_REFUSED }).default(false);

export interface RehydratingFields {
  readonly rehydrate: z.output<typeof rehydrate>;
}

/** The strategy's limits; undefined if nothing follows a summary. */
export function rehydrationOf({ rehydrate }: RehydratingFields): Rehydration | undefined {
  if (rehydrate === false) return undefined;
  return rehydrate === true ? DEFAULT_REHYDRATION : rehydrate;
}

const OBSERVE_REFUSED = 'it must be true, false, or a share of the conversations, from 0 to 1';

/** Fields of all modes that edit. */
export const editing = {
  token_budget: count.optional(),
  token_soft_budget: count.optional(),
  context_window_tokens: z.int().positive().optional(),
  token_remaining_pct: share.optional(),
  token_soft_remaining_pct: share.optional(),
  low_watermark_pct: share.default(0),
  frontier: z.enum(['jump', 'slide']).optional(),
  min_reclaim_tokens: count.default(0),
  token_estimator: z.enum(TOKEN_ESTIMATORS).optional(),
  text_observation_prefixes: names,
  archive,
  /** Precis's rounds are in later views, before the answer that they led to. */
  keep_rounds: z.boolean().default(true),
  /** `instructions` of the Responses API are sent as a leading developer message. */
  move_instructions: z.boolean().default(false),
  /**
   * The request is sent unchanged; the report says what would have been done. A share: so are all
   * requests of that share of the conversations.
   */
  observe: z.union([z.boolean(), share], { error: OBSERVE_REFUSED }).default(false),
  cache_marks: cacheMarks,
  /** The vendor is asked why its cache was missed. */
  cache_diagnostics: z.boolean().optional(),
  upstream_api: upstreamApi,
};

const BUDGETS = [
  'token_budget',
  'token_soft_budget',
  'token_remaining_pct',
  'token_soft_remaining_pct',
] as const;

/** Whether a strategy names a budget, in any form. */
export function hasBudget(strategy: { readonly [Field in (typeof BUDGETS)[number]]?: unknown }): boolean {
  return BUDGETS.some((field) => strategy[field] !== undefined);
}

/** More retrieval rounds would only be a loop. */
const MOST_ROUNDS = 20;

/** Fields of all modes that compact. */
export const compaction = {
  compact_trigger_turns: count.optional(),
  compact_trigger_steps: count.optional(),
  compact_keep: count.optional(),
  compact_keep_steps: count.optional(),
  compact_clear_tool_inputs: z.boolean().default(false),
  compact_exclude_tools: names,
  compact_include_tools: names,
  compact_min_tokens: count.default(0),
  compact_offload: z.boolean().default(true),
  compact_preview_tokens: count.max(LONGEST_PREVIEW).default(0),
  /** Absent: `tool` for requests with tools. */
  compact_retrieval: z.enum(['off', 'tool']).optional(),
  retrieval_max_rounds: count.max(MOST_ROUNDS).default(3),
};

/** Fields of all modes whose summary covers a prefix. */
export const summarizing = {
  ...summary,
  context_limit: count.optional(),
  max_messages: count.optional(),
  keep_last_n_turns: count.optional(),
  keep_first_user: z.boolean().default(true),
  summary_max_tokens: summaryTokens.default(2048),
  incremental: z.boolean().default(true),
  rehydrate,
};

type CompactionFields = z.output<z.ZodObject<typeof compaction>>;
export interface CompactSettings extends Omit<CompactionFields, 'compact_preview_tokens'> {
  /** Undefined: a share of the output (see `previewTokens`). */
  readonly compact_preview_tokens?: number | undefined;
}

/**
 * Whether the model gets a tool to fetch what a strategy removes: where the strategy asks for it,
 * and unasked where the request has tools, whose outputs leave.
 */
export function canRetrieve(
  { compact_retrieval, compact_offload, retrieval_max_rounds }: CompactSettings,
  hasTools: boolean,
): boolean {
  const isWanted = compact_retrieval === undefined ? hasTools : compact_retrieval === 'tool';
  return isWanted && compact_offload && retrieval_max_rounds > 0;
}

/** A field whose value needs contents to be stored, where the strategy stores none. */
export function offloadFault<Field extends string>(
  strategy: { readonly [Name in Field]?: unknown } & Pick<CompactSettings, 'compact_offload'>,
  field: Field,
  value: string,
  why: string,
): StrategyFault | undefined {
  if (strategy[field] !== value || strategy.compact_offload) return undefined;
  return {
    field,
    message: `memory_strategy.${field} must not be '${value}' where memory_strategy.compact_offload is false: ${why}.`,
  };
}

/** Retrieval without storage. */
export function retrievalFault(strategy: CompactSettings): StrategyFault | undefined {
  return offloadFault(strategy, 'compact_retrieval', 'tool', 'nothing is kept that could be retrieved');
}

/** A tail with more turns, or more steps, than the view may have. @param limit sets the maximum */
export function tailFault<Field extends string>(
  strategy: { readonly [Name in Field]?: number | undefined },
  keep: Field,
  limit: Field,
): StrategyFault | undefined {
  const [kept, most] = [strategy[keep], strategy[limit]];
  if (kept === undefined || most === undefined || kept <= most) return undefined;
  return {
    field: keep,
    message: `memory_strategy.${keep} (${kept}) must not be larger than memory_strategy.${limit} (${most}).`,
  };
}
