/** A request in sentences: what was done to it, what it saved, why it is over its budget. */
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { RunEvent, StatsByDay } from '../api/answers.ts';
import { count, dollars } from '../parts/numbers.ts';
import {
  CAUSE_LABELS,
  labelOf,
  PHASE_LABELS,
  REFUSED_LABELS,
  TRIGGER_LABELS,
  warningSentence,
} from './codes.ts';
import { type Row, tally } from './fates.ts';
import { isSettled, warningsOf } from './marks.ts';
import { billOf, inDollars, potentialBillOf } from './money.ts';
import { sentTokens } from './sent.ts';

/** What was done, in one sentence: "38 messages are in a summary; 51,512 → 5,910 tokens, …". */
export function headline(event: RunEvent, rows: readonly Row[]): string {
  const { tokens, observed, mode, messages, warnings } = event;
  const { came, sent, potential } = sentTokens(event);
  const all = `${count(messages)} ${messages === 1 ? 'message was' : 'messages were'} sent unchanged`;
  const done = changes(rows, observed);
  if (isUnsent(event)) return refusal(event);
  if (mode === 'none') return `${all}: the strategy is to change nothing.`;
  if (warnings.some((code) => UNPLANNED.includes(code))) return `${all}, and nothing was planned.`;
  if (!tokens) return event.status >= 400 ? `${all}.` : `Short: ${all}, well under the budget.`;
  if (done === '') return `${all}: ${count(came)} tokens${under(event)}.`;
  const because = labelOf(TRIGGER_LABELS, event.trigger);
  const reason =
    event.trigger === 'token_budget' && tokens.budget !== null
      ? `the budget of ${count(tokens.budget)} was exceeded`
      : because;
  if (observed)
    return `Only observed: ${count(sent)} tokens were sent unchanged. Otherwise ${done}; ${count(potential)} tokens would be sent, because ${reason}.`;
  return `${capital(done)}; ${count(came)} → ${count(sent)} tokens, because ${reason}.`;
}

/** Why an array of any size may be sent unchanged. */
const UNPLANNED: readonly string[] = ['too_many_messages', 'upstream_state', 'unverified_key'];

function refusal({ status, error }: RunEvent): string {
  return `Refused with ${status} (${error}): nothing was sent to the model.`;
}

/** How a request failed that was sent; undefined for one that did not, or was not sent. */
export function failureSentence(event: RunEvent): string | undefined {
  const { status, error, ended } = event;
  if (isUnsent(event)) return undefined;
  if (status >= 400 && error !== null)
    return `Failed with ${status} (${error}): there is no answer of the model.`;
  if (status >= 400) return `The upstream answered with the error ${status}.`;
  if (ended === 'error') return `The answer ended with an error${error === null ? '' : ` (${error})`}.`;
  if (ended === 'upstream_broke') return 'The model’s answer broke off.';
  if (ended === 'caller_left') return 'The client hung up before the end of the answer.';
  return undefined;
}

function under({ tokens }: RunEvent): string {
  if (!tokens || tokens.budget === null) return '';
  const { before, budget } = tokens;
  return before <= budget
    ? `, under the budget of ${count(budget)}`
    : `, over the budget of ${count(budget)}`;
}

/** What the changes are, by their kinds; empty if there are none. */
function changes(rows: readonly Row[], isPotential: boolean): string {
  const counts = tally(rows);
  const part = (many: number | undefined, one: string, more: string): string[] =>
    many ? [`${count(many)} ${many === 1 ? one : more}`] : [];
  const edits = rows.flatMap((row) => row.edits);
  const of = (...reasons: string[]): number => edits.filter(({ reason }) => reasons.includes(reason)).length;
  const lines = edits.length - of('offloaded', 'old_reasoning', 'bound_thinking');
  const be = (many: number): string => (isPotential ? 'would be' : many === 1 ? 'is' : 'are');
  return [
    ...part(counts.get('summarized'), `message ${be(1)} in a summary`, `messages ${be(2)} in a summary`),
    ...part(counts.get('trimmed'), `message ${be(1)} left out`, `messages ${be(2)} left out`),
    ...part(lines, `content ${be(1)} a placeholder`, `contents ${be(2)} placeholders`),
    ...part(of('offloaded'), `large output ${be(1)} cut`, `large outputs ${be(2)} cut`),
    ...part(
      of('old_reasoning', 'bound_thinking'),
      `message ${be(1)} without its reasoning`,
      `messages ${be(2)} without their reasoning`,
    ),
  ].join(', ');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "Paid $0.0129; without Precis $0.0137: 6 % less." Undefined if it is not known. */
export function moneySentence(event: RunEvent): string | undefined {
  const potential = potentialBillOf(event);
  if (event.observed) {
    if (potential?.sent === undefined) return undefined;
    const { sent, wouldBe, net } = potential;
    if (wouldBe === undefined || net === undefined)
      return `Paid ${dollars(sent)}. What it would have saved is not known.`;
    return `Paid ${dollars(sent)}; what would be sent costs ${dollars(wouldBe)}: ${difference(net, sent)}.`;
  }
  const { actual, wouldBe, net } = billOf(event) ?? {};
  if (actual === undefined || wouldBe === undefined || net === undefined) return undefined;
  if (net === 0) return `Paid ${dollars(actual)}, the same as without Precis.`;
  return `Paid ${dollars(actual)}; without Precis ${dollars(wouldBe)}: ${difference(net, wouldBe)}.`;
}

/** What of the bill needs a reason: fetches, a lost cache, a summary. Empty if there is none. */
export function costSentences(event: RunEvent): string[] {
  const { observed, retrieval_rounds: rounds, usage } = event;
  if (observed) return [];
  const { summarizer, fetchRounds, brokenCache, gross } = billOf(event) ?? {};
  const costs = [
    ...(fetchRounds && rounds > 0 ? [`${dollars(fetchRounds)} for what the model fetched`] : []),
    ...(brokenCache ? [`${dollars(brokenCache)} for cache read again`] : []),
    ...(summarizer ? [`${dollars(summarizer)} for the summary`] : []),
  ];
  return [
    ...(rounds > 0
      ? [
          `The model fetched removed contents in ${count(rounds)} further ${rounds === 1 ? 'call' : 'calls'}; all ${count(rounds + 1)} calls together had ${count(usage?.input)} tokens of input.`,
        ]
      : []),
    ...(costs.length > 0 ? [`In the price: ${costs.join(', ')}.`] : []),
    ...(gross !== undefined && gross < 0
      ? [`Precis added ${addedWords(event)}: ${count(-gross)} tokens more than without it.`]
      : []),
  ];
}

/** What was not read from the cache and why; undefined if nothing was missed. */
export function missSentence({ cache_miss: miss }: Pick<RunEvent, 'cache_miss'>): string | undefined {
  if (!miss) return undefined;
  const cost = miss.amount === null ? '' : `, which cost ${dollars(inDollars(miss.amount))}`;
  return `${count(miss.tokens)} tokens were not read from the cache${cost}, because ${causeWords(miss)}.`;
}

/** What all misses have cost, and the dearest cause; undefined if there are none. */
export function missedSentence([first, ...others]: StatsByDay['total']['missed']): string | undefined {
  if (!first) return undefined;
  const all = [first, ...others];
  const sum = all.reduce((known, { amount }) => known + (amount ?? 0), 0);
  const tokens = all.reduce((known, miss) => known + miss.tokens, 0);
  const cost = first.amount === null ? '' : `, which cost ${dollars(inDollars(sum))}`;
  const most = others.length > 0 ? ', mostly' : ',';
  return `${count(tokens)} tokens were not read from the cache${cost}${most} because ${labelOf(CAUSE_LABELS, first.cause)}.`;
}

/** What reasoning was lost and why; undefined if none was. */
export function droppedSentence({
  reasoning_dropped: dropped,
}: Pick<RunEvent, 'reasoning_dropped'>): string | undefined {
  if (!dropped) return undefined;
  const { blocks } = dropped;
  return `The model answered without ${count(blocks)} earlier ${blocks === 1 ? 'piece' : 'pieces'} of its reasoning, because ${causeWords(dropped)}.`;
}

function causeWords({ cause, message, by }: { cause: string; message?: number; by: string }): string {
  const which = message === undefined ? '' : ` (number ${count(message)})`;
  return `${labelOf(CAUSE_LABELS, cause)}${which}${by === 'vendor' ? ', as the provider says' : ''}`;
}

function addedWords({ injection_tokens: injected }: RunEvent): string {
  return injected ? 'its tools, and text of its memory' : 'its fetch tool';
}

/** @param net what was saved of a whole; negative for a loss */
export function difference(net: number, whole: number): string {
  if (whole === 0 || net === 0) return 'the same';
  const share = (100 * Math.abs(net)) / whole;
  const digits = share < 10 ? 1 : 0;
  return `${share.toFixed(digits)} % ${net < 0 ? 'more' : 'less'}`;
}

/** Why more was sent than the budget has; empty if it was not, or if nobody knows. */
export function overBudget(event: RunEvent): string[] {
  const { tokens } = event;
  const warnings = warningsOf(event);
  const over = tokens && tokens.budget !== null ? tokens.after - tokens.budget : 0;
  const reasons = refusals(isSettled(event) ? [] : event.refused);
  if (over <= 0) return reasons;
  const head = `${event.observed ? 'What would be sent is' : 'It is'} ${count(over)} tokens over its budget of ${count(tokens?.budget)}.`;
  const next = event.next_edit
    ? [`The next edit is expected at about ${count(event.next_edit.tokens)} tokens.`]
    : [];
  if (reasons.length > 0) return [head, ...reasons, ...next];
  if (warnings.includes('waiting')) return [head, warningSentence('waiting') ?? '', ...next];
  return [head, 'Nothing more may be removed: what is left is recent, or always stays.'];
}

/** A sentence for each reason, about the first phase that it puts off, and one for the others. */
function refusals(refused: RunEvent['refused']): string[] {
  const reasons = [...new Set(refused.map(({ because }) => because))];
  return reasons.flatMap((reason) => {
    const [first, ...others] = refused.filter(({ because }) => because === reason);
    if (!first) return [];
    const { phase, freed, least } = first;
    const why = labelOf(REFUSED_LABELS, reason).replace('{least}', count(least));
    const more = others.map(
      (other) =>
        `${labelOf(PHASE_LABELS, other.phase)} (${count(other.freed)}${reason === 'floor' ? ` of ${count(other.least)}` : ''})`,
    );
    return [
      `Waiting: ${labelOf(PHASE_LABELS, phase)} would free ${count(freed)} tokens, but ${why}.`,
      ...(more.length > 0 ? [`The same holds for ${more.join(' and ')}.`] : []),
    ];
  });
}
