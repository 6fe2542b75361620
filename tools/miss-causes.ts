/**
 * What each cause of a cache miss means, and what to do about it: a table of docs/money.md. The
 * first one that applies is named.
 */
import type { MissCause } from '../src/memory/replay/change-schema.ts';

type Words = readonly [means: string, remedy: string];

export const MISSES: Readonly<Record<MissCause, Words>> = {
  model: [
    'The request names another model.',
    'Keep one model per conversation; give side tasks a conversation of their own.',
  ],
  key: [
    'The caller sends another `prompt_cache_key`.',
    'Use one key per conversation, without a time or a request id.',
  ],
  user: [
    '`safety_identifier`, `user` or `metadata.user_id` has changed.',
    'Send the same one throughout a conversation.',
  ],
  tools: [
    'Tools were added, removed, reordered or changed.',
    'Send all tools in one order from the first request on; restrict them by `tool_choice`, or append `additional_tools`.',
  ],
  effort: ['Effort or thinking settings have changed.', 'Keep them, or append a `configuration_update`.'],
  format: ["The answer's form or verbosity has changed.", 'Keep it, or append a `configuration_update`.'],
  message: [
    'The caller has changed message N, or what precedes it.',
    'Append instead of editing; keep times, dates and ids out of instructions.',
  ],
  move: [
    'Precis has moved the frontier (`trigger` says why), or the strategy is another one.',
    'Nothing, if the bill is below `would_be`. Else a larger budget, or `auto` instead of `compact`.',
  ],
  rounds: [
    'Kept rounds of earlier answers were lost, or came back.',
    'See whether storage fails (`rounds_absent`).',
  ],
  hosted: [
    'The upstream wants outputs of hosted tools in full.',
    'Nothing: it happens once in a conversation.',
  ],
  unread: [
    'Storage did not say whether an earlier move was made when the cache was cold.',
    'See whether storage fails (`store_failed`).',
  ],
  own_tools: [
    "Precis's tools were added or removed.",
    'Give each request of a conversation the same strategy, and tools from the first one on.',
  ],
  instructions: [
    'Instructions began or ceased to be sent as a message.',
    'Set `move_instructions` from the first request on.',
  ],
  added: ['Messages that Precis adds have changed.', 'Nothing: they are renewed at moves.'],
  tier: ['Another service tier has served the request.', 'Name one `service_tier`.'],
  lifetime: [
    'The previous request was longer ago than the cache keeps what it has sent.',
    'Marks with `ttl: "1h"`, or OpenAI\'s `ttl`, if such pauses are frequent.',
  ],
  short: ["The prompt is shorter than what the model's cache keeps.", 'Nothing: short prompts are cheap.'],
  mark: [
    'No mark of this request reaches back to the end of the previous one.',
    'Let Precis set marks (`cache_marks: "auto"`), or set one there, too.',
  ],
  vendor: [
    'Nothing has changed as far as Precis knows, but the vendor did not use its cache.',
    'Send a `prompt_cache_key`, or fewer parallel requests at the beginning; else nothing.',
  ],
  unknown: [
    'Nothing that the caller has sent has changed. What Precis has changed since the previous request can no longer be compared.',
    'Nothing: it happens where events were lost, or after an update.',
  ],
};
