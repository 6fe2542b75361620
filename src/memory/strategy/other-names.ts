/**
 * What other libraries call the settings of a strategy (docs/coming-from.md). Only the words of an
 * error need it: no other name is ever accepted, since a setting that is nearly the same is not.
 */

/** Fields for the same purpose in different modes, and their names elsewhere. */
export const SETTINGS: readonly {
  readonly ours: readonly string[];
  readonly elsewhere: readonly string[];
}[] = [
  {
    ours: ['mode'],
    elsewhere: ['strategy', 'type', 'kind', 'method', 'policy', 'enabled', 'summary_enabled'],
  },
  {
    ours: ['max_turns', 'context_limit', 'compact_trigger_turns', 'summarize_after_seq'],
    elsewhere: [
      'max_user_turns',
      'trigger_turns',
      'turn_threshold',
      'turns_limit',
      'trigger_at',
      'summarize_after',
      'compact_after',
    ],
  },
  {
    ours: ['max_messages'],
    elsewhere: ['message_limit', 'message_threshold', 'trigger_messages', 'max_items', 'limit'],
  },
  {
    ours: ['keep_last_n_turns', 'compact_keep', 'full_zone_turns'],
    elsewhere: [
      'keep_last_user_turns',
      'keep_last_turns',
      'keep_last_messages',
      'keep_last_n',
      'keep_last',
      'keep_recent',
      'keep_recent_turns',
      'keep_recent_messages',
      'recent_turns',
      'recent_messages',
      'retention_window',
      'tail_turns',
      'hot_tail',
      'last_n',
      'k',
    ],
  },
  {
    ours: ['rolling_window_size', 'keep_last_n_turns', 'compact_keep'],
    elsewhere: ['window_size', 'window', 'sliding_window', 'sliding_window_size', 'context_window_length'],
  },
  {
    ours: ['compact_keep_steps'],
    elsewhere: ['keep_recent_tool_results', 'keep_tool_results', 'keep_tool_uses', 'last_n_observations'],
  },
  {
    ours: ['token_budget', 'total_max_tokens', 'compact_threshold'],
    elsewhere: [
      'history_max_tokens',
      'max_history_tokens',
      'max_context_tokens',
      'max_input_tokens',
      'max_prompt_tokens',
      'max_total_tokens',
      'token_limit',
      'token_threshold',
      'trigger_tokens',
      'context_budget',
    ],
  },
  { ours: ['token_soft_budget'], elsewhere: ['soft_budget', 'soft_limit', 'soft_threshold_tokens'] },
  {
    ours: ['context_window_tokens'],
    elsewhere: ['context_window', 'context_length', 'context_size', 'window_tokens', 'num_ctx'],
  },
  {
    ours: ['summary_max_tokens'],
    elsewhere: ['max_summary_tokens', 'summary_tokens', 'summary_max_chars', 'max_summary_length'],
  },
  {
    ours: ['summarizer_model'],
    elsewhere: ['model', 'memory_model', 'summary_model', 'summarization_model', 'summarizer'],
  },
  {
    ours: ['summary_instructions'],
    elsewhere: ['prompt', 'instructions', 'custom_instructions', 'summarization_prompt'],
  },
  { ours: ['keep_first_user'], elsewhere: ['keep_first', 'keep_first_message', 'preserve_first'] },
  { ours: ['compact_exclude_tools'], elsewhere: ['exclude_tools', 'excluded_tools', 'protected_tools'] },
  { ours: ['compact_include_tools'], elsewhere: ['include_tools', 'included_tools'] },
  { ours: ['compact_clear_tool_inputs'], elsewhere: ['clear_tool_inputs', 'clear_inputs'] },
  { ours: ['min_reclaim_tokens'], elsewhere: ['clear_at_least', 'min_savings_tokens'] },
  { ours: ['overflow_policy'], elsewhere: ['overflow', 'on_overflow', 'context_overflow_policy'] },
  { ours: ['retry_attempts'], elsewhere: ['retries', 'max_retries'] },
  { ours: ['token_estimator'], elsewhere: ['tokenizer', 'token_counter', 'encoding'] },
];

/** Names of modes elsewhere. */
export const MODE_NAMES: Readonly<Record<string, string>> = {
  off: 'none',
  disabled: 'none',
  trimming: 'trim',
  truncate: 'trim',
  truncation: 'trim',
  sliding_window: 'trim',
  window: 'trim',
  compaction: 'compact',
  masking: 'compact',
  tool_result_clearing: 'compact',
  summary: 'summarize',
  summarization: 'summarize',
  rolling: 'rolling_summary',
  summary_buffer: 'rolling_summary',
  hybrid: 'auto',
};

const IN_THE_BODY = 'it is a field of the body, beside memory_strategy';
const IN_ISOLATION = 'it is a member of ISOLATION, or of the isolation of an agent';
const AS_WEBHOOK = "a deployment's WEBHOOK_URL is called for it";

/** What is set elsewhere than in a strategy, and where. */
const BESIDE: Readonly<Record<string, string>> = {
  budget: "its members are fields of memory_strategy itself, and a number of tokens is 'token_budget'",
  isolation: 'ISOLATION, or an agent, says where requests name their user and conversation',
  user_key: IN_ISOLATION,
  session_key: IN_ISOLATION,
  require_explicit_key: IN_ISOLATION,
  tenant_key: "the tenant is the request's API key",
  memory_injection: IN_THE_BODY,
  memory_blocks: IN_THE_BODY,
  memory_report: IN_THE_BODY,
  memory_summary: IN_THE_BODY,
  conversation_id: IN_THE_BODY,
  agent_type: IN_THE_BODY,
  on_turn_added: AS_WEBHOOK,
  on_summary_updated: AS_WEBHOOK,
  on_health_changed: AS_WEBHOOK,
};

/** Words that only say what a setting belongs to. */
const PREFIX = /(^|_)(?:short_term_memory|chat_history|history|memory|summarization|conversation)_/;

/** A name as Precis spells its own: `HISTORY_MAX` and `historyMax` are `history_max`. */
function spelled(name: string): string {
  return name
    .replaceAll('-', '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

/**
 * The names that a field may have here, the likeliest first, under any mode. Not all are fields.
 *
 * @param name a field of Precis or of another library
 */
export function namesHere(name: string): string[] {
  const whole = spelled(name);
  const bare = whole.replace(PREFIX, '$1');
  const found = [whole, bare].flatMap((each) =>
    SETTINGS.filter(({ ours, elsewhere }) => elsewhere.includes(each) || ours.includes(each)),
  );
  return [...new Set([whole, bare, ...found.flatMap(({ ours }) => ours)])];
}

/** The mode that another library's name means. */
export function modeHere(name: string): string | undefined {
  const key = spelled(name);
  return Object.hasOwn(MODE_NAMES, key) ? MODE_NAMES[key] : undefined;
}

/** Where something is set that is no field of any strategy: the end of a sentence. */
export function placeBeside(name: string): string | undefined {
  const key = spelled(name);
  return Object.hasOwn(BESIDE, key) ? BESIDE[key] : undefined;
}
