/** Codes of `x-memory-warning`, and what each means. */
export const WARNINGS = {
  over_budget: 'The view is larger than the budget and can not be made smaller; it is forwarded.',
  waiting: 'An edit is due and waits until it pays off. No fault; until then the view may exceed its budget.',
  dearer:
    'By an estimate, the moves of `compact` so far have cost more in cached prefix than they have saved: let it act less often, by a budget or after more steps, or choose `auto`.',
  idle: 'The strategy has no budget and no trigger, and edits nothing before the window is nearly full.',
  window_unknown:
    "The model's window is not known, and the view may exceed it: set `context_window_tokens`, or `MODEL_WINDOWS`.",
  soft_budget_idle: 'The array exceeds the soft budget, and no edit that loses nothing is possible.',
  store_failed: 'Storage failed: content stays in full or has no ref, or settings could not be read.',
  no_tenant: 'The key is too short to store anything.',
  unverified_key: 'A large body of a key that the upstream has not accepted yet went up unchanged.',
  no_conversation: 'A setting that needs a named conversation is off for this request.',
  no_user: 'A setting that needs a named user is off for this request.',
  no_strategy: 'Nobody has chosen a strategy; the array is unchanged.',
  all_recent: '`force` has changed nothing: all messages are among the newest, which stay.',
  nothing_to_remove: '`force` has changed nothing: no edit of the strategy makes an old message shorter.',
  settings_without_user:
    'The conversation of this name without a user has settings, which do not hold for this request with one. `PATCH` them with the user: the header `x-memory-user`, or `?user=`.',
  user_archive_off: 'The model reaches no other conversations: the deployment does not allow it.',
  too_many_messages: 'Over 20 000 messages: forwarded unchanged.',
  summary_degraded: 'The summarizer failed; a digest made by code stands in its place.',
  summary_pending: 'The summary is not ready; a digest stands in its place, or nothing yet.',
  history_cut:
    'The requests of this conversation never continue each other: its client sends only its newest messages. No summary would be used again, so one an hour is made at most.',
  stale_summary: '`memory_summary` covers other messages and was ignored.',
  retrieval_off:
    "The model got none of Precis' tools, or not those for all conversations of its user, or the caller's `tool_choice` keeps it from calling them.",
  capture_off: 'The view is not captured: the deployment does not allow it, or the request has no event.',
  upstream_state: 'The upstream stores the history or a part of it: forwarded unchanged.',
  limit_learned: 'The view fits a limit that the upstream has stated within the last hour.',
  thinking_dropped:
    'The request went up without thinking of earlier answers, since what it is bound to has changed, or since the upstream has refused it.',
  instructions_uncached:
    "The upstream's prompt cache has ended before the instructions do, three times in a row; `move_instructions` may help.",
  outputs_whole:
    'The upstream has refused outputs of hosted tools that were edited; such outputs stay in this conversation.',
  rounds_absent: 'Kept rounds of earlier answers could not be read, or are kept no more.',
  answer_not_kept:
    'The answer is too long to be read: it passes unchanged, and is in no archive and no memory.',
  embeddings_failed: 'A search went by words alone.',
} as const;

export type Warning = keyof typeof WARNINGS;
