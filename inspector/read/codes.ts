/**
 * The codes of answers in words, a table for each set of codes. A code that this version does not
 * know is shown with spaces.
 */
import type { Fate, RemovalKind, RemovalReason } from '../../src/memory/edits/fates.ts';
import { MODES } from '../../src/memory/modes/meanings.ts';
import type { Mode } from '../../src/memory/modes/table.ts';
import { WARNINGS, type Warning } from '../../src/memory/plan/warnings.ts';
import type { MissCause } from '../../src/memory/replay/change-schema.ts';
import { withoutLinks } from '../../src/reference/links.ts';
import type { Conversation, KeptBecause, RunEvent, Version } from '../api/answers.ts';

export type Labels<Code extends string> = Readonly<Record<Code, string>>;

export function labelOf(labels: Readonly<Record<string, string>>, code: string): string {
  return Object.hasOwn(labels, code) ? (labels[code] ?? code) : code.replaceAll('_', ' ');
}

export const FATE_LABELS: Labels<Fate> = {
  kept: 'unchanged',
  placeholder: 'a placeholder',
  offloaded: 'beginning and end',
  cleared: 'without its reasoning',
  summarized: 'in the summary',
  trimmed: 'left out',
};

/** Why a cache was missed, or reasoning dropped, as the end of a sentence that begins "because". */
export const CAUSE_LABELS: Labels<MissCause> = {
  model: 'another model was asked',
  key: 'the client sent another cache key',
  user: 'the client named another user',
  tools: 'the client sent other tools',
  effort: 'the client asked for another effort',
  format: 'the client asked for another form of the answer',
  message: 'the client changed an earlier message',
  move: 'earlier messages were shortened here',
  own_tools: 'Precis’s tools were added or removed',
  instructions: 'the instructions were moved',
  added: 'what Precis adds has changed',
  rounds: 'what was fetched earlier is gone, or came back',
  hosted: 'the provider wants some outputs in full',
  unread: 'storage did not say what was sent before',
  tier: 'another service tier answered',
  lifetime: 'the pause was longer than the cache lasts',
  short: 'the prompt is too short for the cache',
  mark: 'no cache breakpoint reaches back far enough',
  vendor: 'the provider did not use its cache',
  unknown: 'no cause is known',
};

/** Warnings and notices; their sentences are the docs' own. */
export const WARNING_LABELS: Labels<Warning> = {
  over_budget: 'still over its budget',
  waiting: 'waits until it pays',
  dearer: 'costs more than it saves',
  idle: 'nothing to do yet',
  soft_budget_idle: 'over its soft budget',
  window_unknown: 'context window not known',
  store_failed: 'storage failed',
  no_tenant: 'key too short to store',
  unverified_key: 'key not checked yet',
  no_conversation: 'no conversation named',
  no_user: 'no user named',
  no_strategy: 'no strategy chosen',
  all_recent: 'all messages are recent',
  nothing_to_remove: 'nothing gets shorter',
  settings_without_user: 'settings have no user',
  user_archive_off: 'no other conversations',
  too_many_messages: 'over 20,000 messages',
  summary_degraded: 'digest instead of a summary',
  summary_pending: 'summary not ready',
  history_cut: 'only the newest messages are sent',
  stale_summary: 'summary of other messages',
  retrieval_off: 'the model can’t fetch',
  retired: 'retired field',
  upstream_state: 'history is at the vendor',
  limit_learned: 'fitted to a learned limit',
  thinking_dropped: 'without older thinking',
  instructions_uncached: 'instructions not cached',
  outputs_whole: 'hosted outputs stay in full',
  rounds_absent: 'earlier fetches are gone',
  reasoning_absent: 'without reasoning that was kept',
  answer_not_kept: 'the answer was too long for archive and memory',
  embeddings_failed: 'searched by words alone',
};

/** The sentence about a warning; undefined for one of another version. */
export function warningSentence(code: string): string | undefined {
  return Object.hasOwn(WARNINGS, code) ? withoutLinks(WARNINGS[code as Warning]) : undefined;
}

/** Of a plan that nobody sends: no summary is written for it. */
const TRIED: Readonly<Record<string, { readonly label: string; readonly says: string }>> = {
  summary_pending: {
    label: 'no summary is written here',
    says: 'A summary would be due. A trial writes none, so the plan shows where it would be and how long it may be.',
  },
};

/**
 * A warning about a plan: its label and its sentence.
 *
 * @param isTried whether nobody sends the plan
 */
export function warningWords(code: string, isTried: boolean): { label: string; says: string } {
  const tried = isTried && Object.hasOwn(TRIED, code) ? TRIED[code] : undefined;
  return tried ?? { label: labelOf(WARNING_LABELS, code), says: warningSentence(code) ?? code };
}

export const MODE_LABELS: Labels<Mode> = {
  none: 'change nothing',
  trim: 'drop the oldest turns',
  compact: 'placeholders for old outputs',
  summarize: 'a running summary',
  rolling_summary: 'a summary in the background',
  auto: 'the cheapest edit that pays',
  native: 'the vendor’s compaction',
};

/** The sentence about a mode; undefined for one of another version. */
export function modeSentence(mode: string): string | undefined {
  return Object.hasOwn(MODES, mode) ? MODES[mode as Mode] : undefined;
}

/** Who has chosen the strategy. */
export const SOURCE_LABELS: Labels<RunEvent['source']> = {
  request: 'chosen by the request',
  conversation: 'set for the conversation',
  agent: 'set for the agent',
  default: 'the deployment’s default',
};

export const REMOVED_LABELS: Labels<RemovalKind> = {
  output: 'tool output',
  input: 'input of a call',
  part: 'image or file',
  hosted: 'output of a vendor’s tool',
  reasoning: 'earlier reasoning',
};

/** Why a content is removed, as a chip. */
export const REASON_LABELS: Labels<RemovalReason> = {
  context_compaction: 'an old output',
  offloaded: 'a large output',
  old_reasoning: 'from an old turn',
  bound_thinking: 'bound to what has changed',
  duplicate: 'repeated later',
  superseded: 'replaced by a later result',
};

/** Why a content of a message is removed: an old one is named by its kind. */
export function reasonOf({ reason, kind }: { readonly reason: string; readonly kind: string }): string {
  return reason === 'context_compaction' && kind !== 'output'
    ? `an old ${labelOf(REMOVED_LABELS, kind)}`
    : labelOf(REASON_LABELS, reason);
}

/** Why a message stays, as a sentence. */
export const KEPT_LABELS: Labels<KeptBecause> = {
  preamble: 'Leading instructions always stay.',
  fresh: 'The model has not seen this result yet.',
  tail: 'It is one of the recent messages.',
  request: 'Its turn continues in the recent messages.',
  first_request: 'The first user message stays in every view.',
  held: 'A call next to it still waits for its result.',
  unedited: 'No edit of the strategy makes it shorter.',
};

export const END_LABELS: Labels<RunEvent['ended']> = {
  complete: 'answered in full',
  window_full: 'the answer filled the model’s context',
  caller_left: 'the client hung up',
  upstream_broke: 'the model’s answer was cut off',
  error: 'ended with an error',
};

export const PROTOCOL_LABELS: Labels<RunEvent['protocol']> = {
  chat: 'Chat Completions',
  responses: 'Responses API',
  messages: 'Messages API',
};

export const REQUEST_KIND_LABELS: Labels<RunEvent['kind']> = {
  answer: 'a request to the model',
  compaction: 'compacted without a model call',
};

/** The summary that a request used. */
export const SUMMARY_LABELS: Labels<NonNullable<RunEvent['summary']>['status']> = {
  completed: 'written by the summarizer',
  degraded: 'made by code, since the summarizer failed',
  pending: 'not ready yet',
};

/** A stored version of a summary. */
export const VERSION_LABELS: Labels<Version['status']> = {
  processing: 'being written',
  completed: 'written',
  failed: 'not written',
};

/** How the summaries of a conversation fare, in the list. */
export const STATUS_LABELS: Labels<Conversation['status']> = {
  healthy: 'fine',
  degraded: 'summaries fail',
  stuck: 'a summary is lost',
};

/** Whether summaries have succeeded lately. */
export const HEALTH_LABELS: Labels<'healthy' | 'retry' | 'degraded' | 'recovering'> = {
  healthy: 'fine',
  retry: 'trying again',
  degraded: 'failing',
  recovering: 'catching up',
};
