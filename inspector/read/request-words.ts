/** A request in sentences: what was done to it, what it saved, why it is over its budget. */
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { RunEvent, StatsByDay } from '../api/answers.ts';
import { alike, cents, count, dollars } from '../parts/numbers.ts';
import { CAUSE_LABELS, labelOf } from './codes.ts';
import { billOf, inDollars, potentialBillOf } from './money.ts';

/** How a request failed that was sent; undefined for one that did not, or was not sent. */
export function failureSentence(event: RunEvent): string | undefined {
  const { status, error, ended } = event;
  if (isUnsent(event)) return undefined;
  if (status >= 400 && error !== null) return `Failed with ${status} (${error}): the model gave no answer.`;
  if (status >= 400) return `The upstream answered with the error ${status}.`;
  if (ended === 'error') return `The answer ended with an error${error === null ? '' : ` (${error})`}.`;
  if (ended === 'upstream_broke') return 'The model’s answer was cut off.';
  if (ended === 'caller_left') return 'The client hung up before the end of the answer.';
  return undefined;
}

/** "Paid $0.0129; without Precis $0.0137: 6 % less." Undefined if it is not known. */
export function moneySentence(event: RunEvent): string | undefined {
  const potential = potentialBillOf(event);
  if (event.observed) {
    if (potential?.sent === undefined) return undefined;
    const { sent, wouldBe, net } = potential;
    if (wouldBe === undefined || net === undefined)
      return `Paid ${dollars(sent)}. What it would have saved is not known.`;
    const [paid, would] = alike(sent, wouldBe);
    return `Paid ${paid}; what would be sent costs ${would}: ${difference(net, sent)}.`;
  }
  const { actual, wouldBe, net } = billOf(event) ?? {};
  if (actual === undefined || wouldBe === undefined || net === undefined) return undefined;
  if (net === 0) return `Paid ${dollars(actual)}, the same as without Precis.`;
  const [paid, without] = alike(actual, wouldBe);
  return `Paid ${paid}; without Precis ${without}: ${difference(net, wouldBe)}.`;
}

/** When messages were shortened. An array that comes with a long past is, in its first request. */
export function compactedWords(events: readonly Pick<RunEvent, 'frontier' | 'observed'>[]): string {
  const own = events.filter(({ observed }) => !observed);
  const moves = own.filter(({ frontier }) => frontier.moved).length;
  if (moves > 0) return `in ${count(moves)} ${moves === 1 ? 'request' : 'requests'}`;
  return own.some(({ frontier }) => frontier.unit > 0) ? 'before these requests' : 'never';
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

type Missed = Pick<StatsByDay['total']['missed'][number], 'cause' | 'tokens' | 'amount'>;

/**
 * What all misses have cost, and the dearest cause; undefined if there are none.
 *
 * @param misses of requests, or of causes
 */
export function missedSentence(misses: readonly Missed[]): string | undefined {
  let tokens = 0;
  let amount = 0;
  const causes = new Map<string, number>();
  for (const missed of misses) {
    tokens += missed.tokens;
    amount += missed.amount ?? 0;
    // Without prices the tokens decide, of which there are fewer than a billion.
    causes.set(missed.cause, (causes.get(missed.cause) ?? 0) + (missed.amount ?? 0) + missed.tokens / 1e9);
  }
  const [dearest, other] = [...causes].sort(([, a], [, b]) => b - a);
  if (!dearest) return undefined;
  const cost = amount > 0 ? `, which cost ${cents(inDollars(amount))}` : '';
  const most = other ? ', mostly' : ',';
  return `${count(tokens)} tokens were not read from the cache${cost}${most} because ${labelOf(CAUSE_LABELS, dearest[0])}.`;
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
