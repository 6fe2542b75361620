/** What the fields of a strategy and the other fields of Precis mean, in a sentence each. */
import type { MemoryStrategyRequest } from '../memory/modes/table.ts';
import type { MemoryInjectionRequest } from '../memory/strategy/injection.ts';
import type { MemoryBlocksRequest } from '../memory/strategy/memory-blocks.ts';
import type { OwnField } from '../protocol/body.ts';

/** The fields of all modes. */
type FieldOf<Strategy> = Strategy extends unknown ? keyof Strategy : never;

export const STRATEGY_FIELDS: Readonly<Record<FieldOf<MemoryStrategyRequest>, string>> = {
  mode: 'What happens to old messages.',
  token_budget: 'Hard budget in tokens: above it, everything that the mode does may run.',
  token_soft_budget: 'Soft budget in tokens: above it, only edits run that lose nothing.',
  token_remaining_pct: 'Hard budget, as the share of the window to leave free; 0.2 if no budget is given.',
  token_soft_remaining_pct: 'Soft budget, as the share of the window to leave free.',
  context_window_tokens: "The window that the percentages refer to. By default the model's, else 400 000.",
  low_watermark_pct: 'Where a move stops, as a share of the budget; 0: at the tail.',
  frontier:
    '`jump` edits once in a while, `slide` on each request. By default `jump`; `slide` for `compact` with a turn trigger alone.',
  min_reclaim_tokens:
    'A jump that frees less is not made; 0 enforces the budget. In `auto` the default is the floor, at which a move pays off, or 0 for a model of your own.',
  token_estimator: "How tokens are counted. By default as the model's are.",
  text_observation_prefixes:
    'User messages that begin with one of these count as tool outputs, for agents without `tool_calls`.',
  move_instructions:
    'The `instructions` of a request go up as a leading developer message. Responses API only.',
  observe: 'The request goes up as it came, and the report says what would have been done.',
  cache_marks:
    'Who marks what the prompt cache keeps: `auto` adds marks to those of the caller, `callers` adds none, and `off` does not move the caller’s either. By default `auto` in modes that edit.',
  keep_rounds: 'What the model has fetched for an answer stands before it in later views.',
  archive: 'Each message of the conversation is stored as it came. Edits nothing.',
  max_turns: 'Act from this number of turns.',
  max_messages: 'Act from this number of messages.',
  keep_last_n_turns: 'Turns that stay; 3 by default.',
  compact_trigger_turns: 'Act above this number of turns.',
  compact_trigger_steps: 'Act above this number of steps since the last move of this trigger.',
  compact_keep: 'Turns in the tail, which is not edited; 2 by default.',
  compact_keep_steps: 'Steps to which the tail may shrink; 3 by default.',
  compact_exclude_tools: 'Tools whose outputs stay.',
  compact_include_tools:
    'The only tools whose outputs are removed; overrides `compact_exclude_tools`. Empty: all.',
  compact_min_tokens: 'Smaller outputs stay.',
  compact_clear_tool_inputs: 'Clears the arguments of old calls too.',
  compact_preview_tokens:
    "Tokens of a placeholder's preview: the output's shape, and literals that no earlier message holds.",
  compact_offload: '`false` stores nothing: placeholders have no ref.',
  compact_retrieval:
    '`tool`: the model may fetch removed content. In `auto` that is the default for requests with tools.',
  condense: 'Shows JSON outputs as the same value in fewer tokens, with the original under a ref.',
  clear_reasoning:
    'Clears the reasoning of old turns. By default where the API is known to bill it, and to do without it.',
  keep_reasoning_turns: 'The newest turns whose reasoning stays, with the current one.',
  compact_purge: 'Clears arguments of calls that failed or were replaced.',
  retrieval_max_rounds: 'The most retrieval rounds of a request; 0: the model gets no tool.',
  context_limit: 'Act from this number of turns.',
  keep_first_user: 'The first request of the conversation stays as it came, before the summary.',
  summary_max_tokens: 'The most tokens of a summary.',
  summary_focus: 'What the summary should focus on.',
  summary_instructions: 'Further instructions for the summarizer.',
  summary_prompt: "The name of the deployer's instructions.",
  summarizer_model: 'The model that writes the summary.',
  incremental: '`false` makes each summary from all messages again.',
  rehydrate: 'Outputs that were used last stand behind the summary again; `true`: with the defaults.',
  offload_min_tokens: 'A larger output that the model has seen is cut to its beginning and end.',
  offload_fresh_tokens:
    'A larger output is cut so before the model first sees it, if the model can fetch the rest.',
  offload_digest: 'What stands for such an output: its beginning, preview and end, or a digest by a model.',
  rolling_window_size: 'Sequence numbers that the memory covers, two per round.',
  summarize_after_seq: 'The first memory is made after the answer with this sequence number.',
  full_zone_turns: 'The newest rounds, which are never in the memory.',
  total_max_tokens: 'The most tokens of the memory and the verbatim messages together, in every view.',
  overflow_policy:
    'Above the total: drop the oldest rounds and then lines of the memory, the reverse, or answer with a 400 (`memory_budget_exceeded`).',
  retry_attempts: 'Further attempts of the summarizer.',
  retry_backoff_base_s: 'The first pause between attempts in seconds; it doubles each time.',
  degraded_retry_interval_s: 'Seconds until the next attempt after a failure.',
  recovery_backlog_limit: 'Rounds that stay verbatim until then; older ones are in the digest.',
  include_trajectory_digest: 'The ledger lists the tools of each turn.',
  compact_threshold: 'Tokens from which to compact. By default the hard budget.',
};

/** The fields of Precis in the body of a request for a model. */
export const OWN_FIELDS: Readonly<Record<OwnField, string>> = {
  memory_strategy: 'What happens to old messages: an object with a mode, or the name of one.',
  memory_injection: "Summaries of the user's other conversations, as one block; needs the names of both.",
  memory_blocks: 'The labels of memory blocks that the request shows to the model.',
  memory_report:
    'Adds the report to the answer, as `memory`. An object with `capture: true` keeps the view, too, where the deployment allows that.',
  memory_summary: 'The summary of an earlier report, for callers that keep it themselves.',
  conversation_id: 'Names the conversation.',
  agent_type: 'Names an agent of the deployment.',
};

/** The members of `memory_injection`, if it is an object. */
export const INJECTION_FIELDS: Readonly<Record<keyof Exclude<MemoryInjectionRequest, boolean>, string>> = {
  role: 'The role of the message with the block.',
  max_tokens: 'The most tokens of the block.',
  publish: "When this conversation's summaries are given to the user's other conversations.",
  refresh: 'Makes the block of this conversation anew. Send it once.',
};

/** The members of `memory_blocks`, if it is an object. */
export const BLOCKS_FIELDS: Readonly<
  Record<keyof Exclude<MemoryBlocksRequest, false | readonly string[]>, string>
> = {
  labels: 'The labels, in the order in which the blocks are shown.',
  role: 'The role of the message that shows them.',
  writable: 'Gives the model tools that write these blocks.',
  refresh: 'Reads the blocks of this conversation anew. Send it once.',
};
