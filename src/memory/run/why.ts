/**
 * Why a request was sent as it was, in plain words, from its event alone: what was done, what was
 * not, and because of what. Pure.
 */
import type { Warning } from '../plan/warnings.ts';
import type { NextMove, Refusal, Trigger } from '../replay/reasons.ts';
import type { RunEvent } from './event.ts';
import { isUnsent } from './unsent.ts';

/** What made a strategy act, as the end of a sentence that begins "because". */
export const TRIGGER_LABELS: Readonly<Record<Trigger, string>> = {
  turns: 'there were more turns than the strategy allows',
  steps: 'there were more steps than the strategy allows',
  messages: 'there were more messages than the strategy allows',
  token_budget: 'the budget was exceeded',
  token_soft_budget: 'the soft budget was exceeded',
  upstream_limit: 'the upstream had refused a request as too long',
  large_output: 'an output was very large',
  cold_return: "the provider's cache had expired, so the move cost nothing",
  force: 'the request asked for it',
  none: 'a single output was too large to be sent in full',
};

export const PHASE_LABELS: Readonly<Record<Refusal['phase'], string>> = {
  reversible: 'placeholders',
  summarize: 'a summary',
  trim: 'leaving messages out',
};

/** Why a phase was put off, within a sentence. `{least}`: the tokens from which it pays off. */
export const REFUSED_LABELS: Readonly<Record<Exclude<Refusal['because'], 'nothing_to_free'>, string>> = {
  floor: 'that pays off from {least}',
  regret: 'after five more requests it could still cost over 3 % more than it saves',
  not_enough: 'the request would still be over its budget',
};

/** Why an array of any size may be sent unchanged, and what else keeps edits from it. */
const KEPT_FROM: Readonly<Partial<Record<Warning, string>>> = {
  upstream_state:
    'The provider stores the conversation or a part of it, so Precis does not have all of its messages.',
  unverified_key:
    'The body has over 1 MiB, and the provider had not accepted the key yet, or the key is too short to identify its caller.',
  too_many_messages: 'An array of over 20,000 messages is forwarded unchanged.',
  idle: 'The strategy has neither a budget nor a trigger: nothing is due before 80 % of the window, or the budget by the price. With a `token_budget` it acts earlier.',
  no_tenant:
    'The key has fewer than 20 characters, so nothing can be stored under it: removed content has no ref, and a digest replaces a summary.',
  soft_budget_idle:
    'It is over the soft budget, but this mode has no edit that loses nothing, or the request can store nothing.',
  store_failed: 'Storage failed, and what could not be stored stays in full.',
  summary_pending: 'Its summary was not ready yet.',
  summary_degraded: 'The summarizer failed: a digest made by code replaces its text, or nothing does yet.',
  window_unknown:
    "The model's window is not known: `context_window_tokens` or `MODEL_WINDOWS` can say how large it is.",
};
const UNPLANNED: readonly Warning[] = ['upstream_state', 'unverified_key', 'too_many_messages'];

const WAITING =
  'An edit is due, but waits until it pays, or frees `min_reclaim_tokens`; until then the view may exceed its budget.';

/** Where the next edit comes, as the end of a sentence. */
const NEXT_LABELS: Readonly<Record<NextMove['because'], string>> = {
  budget: 'where the view reaches its budget',
  cost: 'where it pays, or has waited long enough',
  price_step: 'where each token begins to cost more',
  window: 'where the model’s window is nearly full',
};

/** Who has chosen the mode `none`. */
const NONE_FROM: Readonly<Record<RunEvent['source'], string>> = {
  request: 'The request itself says so.',
  conversation: "The conversation's settings say so.",
  agent: 'The agent in its base URL says so.',
  default:
    'It named no strategy, and the deployment’s default changes nothing: send `memory_strategy`, use a base URL such as `/agents/coding/v1`, or set `DEFAULT_MEMORY_STRATEGY`.',
};

/** All that is known of it, as one paragraph. */
export function whyOf(event: RunEvent): string {
  if (isUnsent(event)) return headline(event);
  const { mode, source, warnings } = event;
  const reasons = Object.entries(KEPT_FROM).filter(([code]) => warnings.includes(code));
  const none = mode === 'none' ? [NONE_FROM[source]] : [];
  const said = reasons.map(([, words]) => words);
  return [headline(event), ...none, ...said, ...overBudget(event), ...nextEdit(event)].join(' ');
}

/** Where the next edit is expected, and because of what; empty if nobody knows. */
export function nextEdit({ next_edit: next, tokens }: RunEvent): string[] {
  if (!next) return [];
  if (next.because === 'budget' && tokens && tokens.after > next.tokens)
    return ['The next edit is expected as soon as something older may be removed.'];
  return [`The next edit is expected at about ${count(next.tokens)} tokens, ${NEXT_LABELS[next.because]}.`];
}

/** What was done, in one sentence: "38 messages are in a summary; 51,512 → 5,910 tokens, …". */
export function headline(event: RunEvent): string {
  const { tokens, observed, mode, messages, warnings } = event;
  const all = `${count(messages)} ${messages === 1 ? 'message was' : 'messages were'} sent unchanged`;
  const done = changes(event);
  if (isUnsent(event)) return `Refused with ${event.status} (${event.error}): nothing was sent to the model.`;
  if (mode === 'none') return `${all}: the strategy changes nothing.`;
  if (UNPLANNED.some((code) => warnings.includes(code))) return `${all}, and nothing was planned.`;
  if (!tokens) {
    if (event.status >= 400) return `${all}.`;
    return `Short: ${all}${warnings.includes('idle') ? '' : ', well under the budget'}.`;
  }
  const { before, after, budget } = tokens;
  if (done === '') return `${all}: ${count(before)} tokens${under(event)}.`;
  const reason =
    event.trigger === 'token_budget' && budget !== null
      ? `the budget of ${count(budget)} was exceeded`
      : labelOf(TRIGGER_LABELS, event.trigger);
  // Without a trigger, only new outputs are edited for their own sake.
  const isKnown = event.trigger !== 'none' || event.edits.some((edit) => edit.reason === 'offloaded');
  const because = isKnown ? `, because ${reason}.` : '.';
  if (observed)
    return `Only observed: ${count(before)} tokens were sent unchanged. Otherwise ${done}; ${count(after)} tokens would be sent${because}`;
  return `${done.charAt(0).toUpperCase()}${done.slice(1)}; ${count(before)} → ${count(after)} tokens${because}`;
}

function under({ tokens }: RunEvent): string {
  if (!tokens || tokens.budget === null) return '';
  const { before, budget } = tokens;
  return before <= budget
    ? `, under the budget of ${count(budget)}`
    : `, over the budget of ${count(budget)}`;
}

/** What the changes are, by their kinds; empty if there are none. */
function changes({ edits, left_out, observed }: RunEvent): string {
  const part = (many: number, one: string, more: string): string[] =>
    many > 0 ? [`${count(many)} ${many === 1 ? one : more}`] : [];
  const left = (fate: RunEvent['left_out'][number]['fate']): number =>
    left_out.reduce((sum, range) => sum + (range.fate === fate ? range.to - range.from + 1 : 0), 0);
  const of = (...reasons: string[]): number => edits.filter(({ reason }) => reasons.includes(reason)).length;
  const lines = edits.length - of('offloaded', 'old_reasoning', 'bound_thinking');
  const [is, are] = observed ? ['would be', 'would be'] : ['is', 'are'];
  return [
    ...part(left('summarized'), `message ${is} in a summary`, `messages ${are} in a summary`),
    ...part(left('trimmed'), `message ${is} left out`, `messages ${are} left out`),
    ...part(lines, `content ${is} a placeholder`, `contents ${are} placeholders`),
    ...part(of('offloaded'), `large output ${is} truncated`, `large outputs ${are} truncated`),
    ...part(
      of('old_reasoning', 'bound_thinking'),
      `message ${is} without its reasoning`,
      `messages ${are} without their reasoning`,
    ),
  ].join(', ');
}

/** Whether a request was compacted and is within its budget. */
export function isSettled({ tokens, frontier }: Pick<RunEvent, 'tokens' | 'frontier'>): boolean {
  return frontier.moved && tokens !== null && tokens.budget !== null && tokens.after <= tokens.budget;
}

/** Why more was sent than the budget has; empty if it was not, or if nobody knows. */
export function overBudget(event: RunEvent): string[] {
  const { tokens, observed, warnings } = event;
  const over = tokens && tokens.budget !== null ? tokens.after - tokens.budget : 0;
  const reasons = refusals(isSettled(event) ? [] : event.refused);
  if (over <= 0) return reasons;
  const head = `${observed ? 'What would be sent is' : 'It is'} ${count(over)} tokens over its budget of ${count(tokens?.budget ?? 0)}.`;
  if (reasons.length > 0) return [head, ...reasons];
  if (warnings.includes('waiting')) return [head, WAITING];
  return [head, 'Nothing more may be removed: what is left is recent, or always stays.'];
}

/** A sentence for each reason, about the first phase that it puts off, and one for the others. */
function refusals(refused: readonly Refusal[]): string[] {
  const reasons = [...new Set(refused.map(({ because }) => because))];
  return reasons.flatMap((reason) => {
    // It waits for nothing.
    if (reason === 'nothing_to_free') return [];
    const [first, ...others] = refused.filter(({ because }) => because === reason);
    if (!first) return [];
    const { phase, freed, least } = first;
    const why = REFUSED_LABELS[reason].replace('{least}', count(least));
    const more = others.map(
      (other) =>
        `${PHASE_LABELS[other.phase]} (${count(other.freed)}${reason === 'floor' ? ` of ${count(other.least)}` : ''})`,
    );
    return [
      `Waiting: ${PHASE_LABELS[phase]} would free ${count(freed)} tokens, but ${why}.`,
      ...(more.length > 0 ? [`The same holds for ${more.join(' and ')}.`] : []),
    ];
  });
}

/** The label of a code; one of another version is shown with spaces. */
function labelOf(labels: Readonly<Record<string, string>>, code: string): string {
  return labels[code] ?? code.replaceAll('_', ' ');
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
