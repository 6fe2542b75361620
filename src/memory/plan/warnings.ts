/** Codes of `x-memory-warning`, and what each means. */
export const WARNINGS = {
  over_budget: "The view exceeds the budget and can't be made smaller; it is forwarded.",
  waiting:
    'An edit is due, but waits until it [pays](modes.md#auto), or frees `min_reclaim_tokens`. Until then the view may exceed its budget. No fault.',
  dearer:
    'By an estimate, the moves of [`compact`](modes.md#compact) have cost more in cached prefix than they have saved: let it act less often (by a budget, after more steps), or choose `auto`. No fault.',
  idle: 'The strategy has neither a budget nor a trigger, and edits nothing before the array reaches 80 % of the window, or [the budget by the price](modes.md#without-a-budget). No fault.',
  window_unknown:
    "The model's window is not known, and the view has more than 4,096 tokens ([local models](local-models.md)): set `context_window_tokens` or `MODEL_WINDOWS`. No fault.",
  soft_budget_idle:
    "The array exceeds the soft budget, which has no effect: the mode has no edit that loses nothing, or the request can't store anything.",
  store_failed:
    'Storage failed: content stays in full or has no ref, or the settings or memory of a conversation could not be read.',
  no_tenant:
    'The key is too short to store anything: no refs, and a digest instead of a summary ([local models](local-models.md)).',
  unverified_key:
    'The body has over 1 MiB, and the upstream has not accepted its key yet, or the key is too short to identify a caller: forwarded unchanged and uncounted. If the upstream finds it too long, it gets a view all the same.',
  no_conversation: 'A setting that needs a named conversation is off for this request.',
  no_user: 'A setting that needs a named user is off for this request.',
  no_strategy:
    '`POST /v1/compact`: no strategy in the request, its conversation, agent or deployment; the array is unchanged.',
  all_recent:
    '`POST /v1/compact` with `force` has changed nothing: all messages are among the newest, which the strategy keeps.',
  nothing_to_remove:
    '`POST /v1/compact` with `force` has changed nothing: no edit of the mode makes an old message shorter.',
  settings_without_user:
    'The request names a user, and only the conversation of the same name without a user has settings, which do not apply here. `PATCH` them with the user: the header `x-memory-user`, or `?user=`. Reported within five minutes.',
  user_archive_off:
    'The strategy lets the model search [all conversations of its user](conversations.md#all-conversations-of-a-user), but the deployment does not allow it (`USER_ARCHIVE`).',
  too_many_messages: 'Over 20,000 messages: forwarded unchanged.',
  summary_degraded:
    'The summarizer failed; a digest made by code replaces the summary, or the preview of a large output its [digest](strategy-reference.md#digests-of-large-outputs).',
  summary_pending: 'The summary is not ready; a digest replaces it, or (`rolling_summary`) nothing yet.',
  history_cut:
    'The requests of this named conversation never continue each other: its client sends [only its newest messages](conversations.md). No summary could be used again, so at most one an hour is made. Send the whole array, or leave the id out.',
  stale_summary: '`memory_summary` covers other messages and was ignored.',
  retrieval_off:
    "The model got none of Precis's tools, or none for all conversations of its user, or the request keeps it from calling them ([why](refs-and-retrieval.md#when-the-model-gets-no-tool)).",
  retired:
    'A field of the request or of its strategy is [retired](answers-and-errors.md#retired): it does nothing, and the next version refuses it.',
  upstream_state: 'The upstream stores the history or a part of it: forwarded unchanged.',
  limit_learned:
    'Within the last hour the upstream refused a prompt as too long, or a body as too large; the view fits the limit learned from that.',
  thinking_dropped:
    'The request was sent without [thinking of earlier answers](answers-and-errors.md#when-the-upstream-binds-thinking): what it is bound to has changed, or the upstream has refused it.',
  instructions_uncached:
    "In three requests in a row, the upstream's prompt cache ended before the [instructions](responses-api.md#instructions) do; `move_instructions` may help.",
  outputs_whole:
    'The upstream has refused [outputs of hosted tools](responses-api.md#outputs-of-hosted-tools) with placeholders; such outputs stay in full in this conversation.',
  rounds_absent:
    '[Kept rounds](refs-and-retrieval.md#kept-rounds) of earlier answers could not be read, or are no longer kept: the view is without them, and without the thinking of earlier answers.',
  reasoning_absent:
    'The request went over [another API](bridges.md#what-is-kept) without reasoning of earlier answers in its view: it could not be read, is no longer kept, or never was.',
  answer_not_kept:
    'The answer is too long to be read (over 524,288 tokens): it passes unchanged, and joins no archive, memory or kept round.',
  embeddings_failed: 'The embeddings did not answer, so a search of an archive used words alone.',
} as const;

export type Warning = keyof typeof WARNINGS;
