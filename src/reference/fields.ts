/** What the fields of a strategy and the other fields of Precis mean, in a sentence each. */
import type { MemoryStrategyRequest } from '../memory/modes/table.ts';
import type { MemoryInjectionRequest } from '../memory/strategy/injection.ts';
import type { MemoryBlocksRequest } from '../memory/strategy/memory-blocks.ts';
import type { OwnField } from '../protocol/body.ts';

type FieldOf<Strategy> = Strategy extends unknown ? keyof Strategy : never;

export const STRATEGY_FIELDS: Readonly<Record<FieldOf<MemoryStrategyRequest>, string>> = {
  mode: 'What happens to old messages.',
  token_budget:
    'Hard budget in tokens: above it, everything that the mode does may run; in `auto` [a goal](modes.md#a-budget-is-a-goal), unless `budget` is `hard`.',
  budget:
    '`goal`: over the budget an edit may [wait until it pays](modes.md#a-budget-is-a-goal), up to three times the budget; only the window is a limit. `hard`: each view is under it, at any cost.',
  token_soft_budget:
    'Soft budget in tokens: above it, only edits run that lose nothing. Without any budget, `auto` may have one [by the price](modes.md#without-a-budget).',
  token_remaining_pct: 'Hard budget, as the share of the window to leave free; 0.2 if no budget is given.',
  token_soft_remaining_pct: 'Soft budget, as the share of the window to leave free.',
  context_window_tokens: "The window that the percentages refer to. By default the model's, else 400,000.",
  low_watermark_pct: 'Where a move stops, as a share of the budget; 0: at the tail.',
  frontier:
    '`jump` edits from time to time, `slide` on each request. By default `jump`; for `compact` with only a turn trigger `slide`.',
  min_reclaim_tokens:
    'The least that a jump must free, unless the window demands it; 0 enforces the budget, at the cost of [thinking](modes.md#bound-thinking). In `auto` by default [the floor](modes.md#auto), or 0 for a model of your own.',
  token_estimator:
    'How to count tokens: by an encoding, or as a quarter of the characters. By default as the model counts.',
  text_observation_prefixes:
    'User messages that begin with one of these count as tool outputs, for agents without `tool_calls`.',
  move_instructions:
    'Sends the `instructions` of the Responses API as a [developer message](responses-api.md#instructions).',
  observe:
    'The request is sent unchanged, and the report says [what would have been done](answers-and-errors.md#observing); a number: for that [share](answers-and-errors.md#on-trial) of conversations.',
  cache_marks:
    'Who marks [what the prompt cache keeps](prompt-caching.md#who-sets-the-marks): `auto` adds marks, `callers` adds none, `off` moves none either. By default `auto` in modes that edit, else `callers`.',
  cache_diagnostics:
    'Asks the vendor [why its cache was missed](money.md#asking-the-vendor); its verdict is in the event, and in the answer.',
  upstream_api:
    'The API that chat requests [are sent over](bridges.md): `chat`, `responses`, `messages` (of Anthropic), or `auto`, by what the model needs. By default `auto`, and in the mode `none` `chat`.',
  keep_rounds:
    'What the model fetched for an answer [stays in later views](refs-and-retrieval.md#kept-rounds).',
  archive:
    "Stores each message of the [conversation](conversations.md#the-archive) unchanged; edits nothing. An object lets the model reach [the user's others](conversations.md#all-conversations-of-a-user).",
  max_turns: 'Act from this number of turns.',
  max_messages:
    'Act from this number of messages ([triggers that count](strategy-reference.md#triggers-that-count)).',
  keep_last_n_turns: 'Turns that stay; 3 by default. At most the limit of turns of the same strategy.',
  compact_trigger_turns:
    'Act above this number of turns. Without a budget the frontier slides: everything before the tail is edited on every request.',
  compact_trigger_steps:
    'Act above this number of steps since the last move of this trigger ([triggers that count](strategy-reference.md#triggers-that-count)).',
  compact_keep:
    'Turns in the tail, which is not edited; 2 by default. If you set this, but neither `compact_keep_steps` nor `compact_trigger_steps`, the tail never shrinks.',
  compact_keep_steps:
    'Steps to which the tail may shrink; 3 by default, and at most `compact_trigger_steps`. Without both fields, [small steps](modes.md#what-the-model-has-just-read) do not count in `auto`.',
  compact_exclude_tools: 'Tools whose outputs stay.',
  compact_include_tools:
    'The only tools whose outputs are removed; overrides `compact_exclude_tools`. Empty: all.',
  compact_min_tokens: 'Smaller outputs stay. Nothing is ever replaced by something longer.',
  compact_clear_tool_inputs:
    'Clears the [arguments of old calls](strategy-reference.md#cleared-arguments) too; in `auto`, those over 500 tokens.',
  compact_preview_tokens:
    "Tokens of a placeholder's preview: the output's shape, and the ids, paths, URLs and amounts that no earlier message holds. In `auto` by default a thirtieth of the output's, 24 to 256. Offloaded outputs have four times as many, by default 192.",
  compact_offload: '`false` stores nothing: placeholders have no ref.',
  compact_retrieval:
    '`tool`: the model may [fetch](refs-and-retrieval.md#retrieval) removed content; not with `compact_offload: false`. The default for requests with tools.',
  condense: 'Retired: it does nothing ([what is retired](answers-and-errors.md#retired)).',
  clear_reasoning:
    'Clears the [reasoning of old turns](modes.md#old-reasoning). By default where the API is known to bill it, and to accept a history without it.',
  keep_reasoning_turns: 'The newest turns whose reasoning stays, with the current one.',
  compact_purge:
    'Clears useless arguments of 200 tokens or more: of calls that [failed or were replaced](modes.md#purging).',
  retrieval_max_rounds: 'The maximum of retrieval rounds of a request; 0: the model gets no tool.',
  context_limit: 'Act from this number of turns.',
  keep_first_user:
    "The conversation's first request stays unchanged, before the summary, and so does the request of an [interrupted run](design.md#remarks). If it is larger than half of the hard budget, it is summarized too.",
  summary_max_tokens:
    "The maximum of tokens of a summary with its ledger, or of a memory: never over half of what it covers (a memory may always have 256), nor its text over a sixth of the summarizer's window.",
  summary_focus: 'What the summary should focus on.',
  summary_instructions:
    "Further instructions for the summarizer, after Precis's own; they can't drop a heading.",
  summary_prompt: "The name of the deployer's instructions in `src/agents.ts`, which come before your own.",
  summarizer_model: 'The model that writes the summary ([default](deploying.md#summarizer)).',
  incremental: '`false` makes each summary from all messages again.',
  rehydrate:
    'The outputs that were used last follow the summary ([rehydration](strategy-reference.md#rehydration)); `true`: with the defaults.',
  offload_min_tokens: 'A larger output that the model has seen is truncated to its beginning and end.',
  offload_fresh_tokens:
    'With retrieval, an output that is larger than this, or than half of the window, is truncated before the model first sees it. By default 25,000, or `offload_min_tokens` if that is more.',
  offload_digest:
    'What replaces such an output: its beginning, preview and end, or a [digest by a model](strategy-reference.md#digests-of-large-outputs), which needs `compact_offload`.',
  cold_moves:
    "Makes a waiting move when the upstream's cache has expired ([return after a pause](modes.md#the-return-after-a-pause)).",
  rolling_window_size: 'Sequence numbers that the memory covers, two per round.',
  summarize_after_seq:
    'The first memory is made after the answer with this sequence number (5: of the third round), or once there is a round before the full zone.',
  full_zone_turns: 'The newest rounds, which are never in the memory.',
  total_max_tokens:
    'The maximum of tokens of the memory and the verbatim messages together, in every view, also without a memory.',
  overflow_policy:
    'Above the total: drop the oldest verbatim rounds and then lines of the memory, the reverse, or answer with a 400 (`memory_budget_exceeded`).',
  retry_attempts: 'Further attempts of the summarizer.',
  retry_backoff_base_s: 'The first pause between attempts in seconds; it doubles each time.',
  degraded_retry_interval_s:
    'Seconds until the next attempt after a failure; whatever else was in progress counts as the same failure.',
  recovery_backlog_limit: 'Rounds that stay verbatim while summaries fail; older ones are in the digest.',
  include_trajectory_digest: 'The ledger lists the tools of each turn.',
  compact_threshold:
    'Tokens from which to compact; where Precis compacts, the `token_budget` of `summarize`. By default the hard budget.',
};

/** The fields of Precis in the body of a request for a model. */
export const OWN_FIELDS: Readonly<Record<OwnField, string>> = {
  memory_strategy: 'What happens to old messages: an object with a mode, or the name of one.',
  memory_injection:
    "Summaries of the user's other conversations, as one block: `true`, `false` or [an object](conversations.md#memory-across-conversations). Needs the names of both.",
  memory_blocks:
    'The labels of [memory blocks](memory-blocks.md) that the request shows to the model, [an object](memory-blocks.md#showing-blocks-to-the-model) with `labels`, or `false`.',
  memory_report: 'Adds the [report](answers-and-errors.md#the-report) to the answer, as `memory`.',
  memory_summary:
    'A summary that [you keep yourself](conversations.md#your-own-memory): `{text, covers, prefix_hash}` of an earlier report.',
  conversation_id: 'Names the [conversation](conversations.md), in at most 256 characters.',
  agent_type: 'Names an [agent](conversations.md#agents) of the deployment.',
};

/** The members of `memory_injection`, if it is an object. */
export const INJECTION_FIELDS: Readonly<Record<keyof Exclude<MemoryInjectionRequest, boolean>, string>> = {
  role: 'The role of the message with the block.',
  max_tokens: 'The maximum of tokens of the block.',
  publish: "When the user's other conversations get this conversation's summaries.",
  refresh: "Makes this conversation's block again. Send it once.",
};

/** The members of `memory_blocks`, if it is an object. */
export const BLOCKS_FIELDS: Readonly<
  Record<keyof Exclude<MemoryBlocksRequest, false | readonly string[]>, string>
> = {
  labels: 'The labels, in the order in which the blocks are shown.',
  role: 'The role of the message that shows them.',
  writable: 'Gives the model the [tools](memory-blocks.md#writing-by-the-model) that write these blocks.',
  refresh: 'Reads the blocks of this conversation [again](memory-blocks.md#freezing). Send it once.',
};
