/** The head of a request: what was done, what it saved, and why it is over its budget. */
import type { ComponentChildren } from 'preact';
import { headline, nextEdit, overBudget } from '../../src/memory/run/why.ts';
import type { RunEvent } from '../api/answers.ts';
import {
  END_LABELS,
  labelOf,
  MODE_LABELS,
  PROTOCOL_LABELS,
  REQUEST_KIND_LABELS,
  SOURCE_LABELS,
} from '../read/codes.ts';
import { warningsOf } from '../read/marks.ts';
import { billOf, potentialBillOf } from '../read/money.ts';
import {
  costSentences,
  droppedSentence,
  failureSentence,
  missSentence,
  moneySentence,
} from '../read/request-words.ts';
import { WAITING_PAGE } from '../read/rules.ts';
import { sentTokens } from '../read/sent.ts';
import type { TermName } from '../read/words.ts';
import { Figure } from './figure.tsx';
import { Folded } from './folded.tsx';
import { cents, count, digitsOf, dollars, duration, moment, share, UNKNOWN } from './numbers.ts';
import { RuleLink } from './rule-link.tsx';
import { Term } from './term.tsx';
import { Word } from './text.tsx';
import { Warnings } from './warnings.tsx';

export function RequestHead({ event }: { event: RunEvent }) {
  const money = moneySentence(event);
  const costs = costSentences(event);
  const lost = [missSentence(event), droppedSentence(event)].filter((said) => said !== undefined);
  const failure = failureSentence(event);
  const over = overBudget(event);
  const codes = warningsOf(event).filter((code) => over.length === 0 || !IN_OVER.includes(code));
  return (
    <section class="request-head" aria-label="What was done">
      <p class="headline">{headline(event)}</p>
      {failure !== undefined && <p class="fails">{failure}</p>}
      {money !== undefined && (
        <p class="money-line">
          {money}{' '}
          <span class="note">
            <Term of={event.observed ? 'potential' : 'net'} />{' '}
            <b>{dollars(event.observed ? potentialBillOf(event)?.net : billOf(event)?.net)}</b>
          </span>
        </p>
      )}
      {lost.length > 0 && <p class="note">{lost.join(' ')}</p>}
      {costs.length > 0 && <p class="note costs">{costs.join(' ')}</p>}
      {over.length > 0 && (
        <p class="over">
          {over.join(' ')} <RuleLink {...WAITING_PAGE} />
        </p>
      )}
      {nextEdit(event).map((said) => (
        <p class="note" key="next">
          {said}
        </p>
      ))}
      <Warnings codes={codes} />
      <Folded class="all-figures" summary="All figures">
        {() => <Figures event={event} />}
      </Folded>
    </section>
  );
}

/** What the sentence about the budget says already. */
const IN_OVER: readonly string[] = ['waiting', 'over_budget'];

/** What a figure is, its value, and what is added to it. */
type Fact = readonly [name: ComponentChildren, value: string, note?: string | undefined];

function Figures({ event }: { event: RunEvent }) {
  const { tokens, usage, frontier, model, mode, observed, retrieval_rounds: rounds } = event;
  const { came, sent, potential } = sentTokens(event);
  const calls = rounds > 0 ? `in ${count(rounds + 1)} calls, ` : '';
  const facts: (Fact | false)[] = [
    [<Term of="came" />, tokensText(came)],
    [<Term of="sent" />, tokensText(sent), shareNote(sent, came)],
    came !== null && sent !== null && sent < came && [<Term of="not_sent" />, `${count(came - sent)} tokens`],
    observed && [<Term of="would_be_sent" />, tokensText(potential), shareNote(potential, came)],
    [<Term of="budget" />, tokens ? tokensText(tokens.budget, 'none') : UNKNOWN],
    [<Term of="window" />, tokensText(tokens?.window)],
    [<Term of="strategy" />, labelOf(MODE_LABELS, mode), labelOf(SOURCE_LABELS, event.source)],
    [
      <Term of="compacted">{observed ? 'would be compacted here' : 'compacted here'}</Term>,
      frontier.moved ? 'yes' : 'no',
    ],
    [<Term of="compacted_up_to" />, frontierWords(frontier.unit)],
    ['model', model ?? UNKNOWN, labelOf(PROTOCOL_LABELS, event.protocol)],
    ['kind', labelOf(REQUEST_KIND_LABELS, event.kind)],
    [
      'input, as the vendor counted it',
      tokensText(usage?.input),
      usage ? `${calls}${share(usage.cached, usage.input)} read from the cache` : undefined,
    ],
    ['output', tokensText(usage?.output)],
    ...money(event),
    ['answer', String(event.status), event.error ?? labelOf(END_LABELS, event.ended)],
    ['time', duration(event.ms.total), timesOf(event.ms)],
    ['fetched by the model', roundsText(rounds)],
    thinking(event),
    ['when', `${moment(event.created_at)} UTC`],
  ];
  return (
    <dl class="figures facts">
      {facts.map(
        (fact, at) =>
          fact && (
            <Figure key={at} term={fact[0]}>
              <Word text={fact[1]} /> {fact[2] !== undefined && <span class="note">{fact[2]}</span>}
            </Figure>
          ),
      )}
    </dl>
  );
}

function tokensText(value: number | null | undefined, unknown = UNKNOWN): string {
  return value === null || value === undefined ? unknown : `${count(value)} tokens`;
}

function shareNote(part: number | null, whole: number | null): string | undefined {
  return part === null || whole === null ? undefined : share(part, whole);
}

function frontierWords(unit: number): string {
  return unit === 0 ? 'nothing yet' : `the first ${count(unit)} messages, a call and its results as one`;
}

function roundsText(rounds: number): string {
  return rounds === 0 ? 'nothing' : `${count(rounds)} ${rounds === 1 ? 'time' : 'times'}`;
}

function thinking({ dropped_thinking_blocks: blocks }: RunEvent): Fact | false {
  if (!blocks) return false;
  return ['thinking left out', `${count(blocks)} blocks`, 'what they are bound to has changed'];
}

const ABOUT = 'about: the upstream does not report what it wrote to its cache';

/** Both sides of what the request saved, and what is on its debit side. */
function money(event: RunEvent): (Fact | false)[] {
  const bill = billOf(event);
  // More than the sentence about them has, and as many for all.
  const digits = digitsOf(Math.max(bill?.actual ?? 0, bill?.wouldBe ?? 0) / 100);
  const written = (value: number | undefined) => (value === undefined ? UNKNOWN : cents(value, digits));
  const term = (of: TermName, value: number | undefined): Fact => [<Term of={of} />, written(value)];
  const paid: Fact = [<Term of="paid" />, written(bill?.actual), bill?.isAbout ? ABOUT : undefined];
  if (event.observed) {
    const { wouldBe, net } = potentialBillOf(event) ?? {};
    return [paid, ['price of what would be sent', written(wouldBe)], term('potential', net)];
  }
  return [
    term('would_have_been', bill?.wouldBe),
    paid,
    term('net', bill?.net),
    term('summarizer', bill?.summarizer),
    term('fetches', bill?.fetchRounds),
    term('broken_cache', bill?.brokenCache),
    billedLess(bill?.gross, bill?.unique),
  ];
}

/** By the vendor's count. What Precis has added is shown as that, and not as a negative saving. */
function billedLess(gross: number | undefined, unique: number | undefined): Fact | false {
  if (gross === undefined || gross === 0) return false;
  if (gross < 0) return ['added by Precis', `${count(-gross)} tokens`];
  return [<Term of="billed_less" />, `${count(gross)} tokens`, `${count(unique)} for the first time`];
}

const PARTS: Readonly<Record<string, TimeName>> = {
  planning: 'plan',
  storing: 'store',
  summary: 'summary',
  'first byte': 'first_byte',
};
type TimeName = keyof RunEvent['ms'];

function timesOf(ms: RunEvent['ms']): string {
  return Object.entries(PARTS)
    .flatMap(([name, part]) => (ms[part] === null ? [] : [`${name} ${duration(ms[part])}`]))
    .join(', ');
}
