/** The head of a request: what was done, what it saved, and why it is over its budget. */
import type { ComponentChildren } from 'preact';
import { headline, overBudget } from '../../src/memory/run/why.ts';
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
import { Folded } from './folded.tsx';
import { count, dollars, duration, moment, share, UNKNOWN } from './numbers.ts';
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
            <Saved event={event} />
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
      <Warnings codes={codes} />
      <Folded class="all-figures" summary="All figures">
        {() => <Figures event={event} />}
      </Folded>
    </section>
  );
}

/** What the sentence about the budget says already. */
const IN_OVER: readonly string[] = ['waiting', 'over_budget'];

function Saved({ event }: { event: RunEvent }) {
  if (event.observed)
    return (
      <>
        <Term of="potential" /> <b>{dollars(potentialBillOf(event)?.net)}</b>
      </>
    );
  return (
    <>
      <Term of="net" /> <b>{dollars(billOf(event)?.net)}</b>
    </>
  );
}

interface Figure {
  readonly name: ComponentChildren;
  readonly value: string;
  readonly note?: string | undefined;
}

function Figures({ event }: { event: RunEvent }) {
  const { tokens, usage, frontier, model, mode, observed, retrieval_rounds: rounds } = event;
  const { came, sent, potential } = sentTokens(event);
  const figures: Figure[] = [
    { name: <Term of="came" />, value: tokensText(came) },
    { name: <Term of="sent" />, value: tokensText(sent), note: shareNote(sent, came) },
    ...(came !== null && sent !== null && sent < came
      ? [{ name: <Term of="not_sent" />, value: `${count(came - sent)} tokens` }]
      : []),
    ...(observed
      ? [
          {
            name: <Term of="would_be_sent" />,
            value: tokensText(potential),
            note: shareNote(potential, came),
          },
        ]
      : []),
    { name: <Term of="budget" />, value: tokens ? tokensText(tokens.budget, 'none') : UNKNOWN },
    { name: <Term of="window" />, value: tokensText(tokens?.window) },
    {
      name: <Term of="strategy" />,
      value: labelOf(MODE_LABELS, mode),
      note: labelOf(SOURCE_LABELS, event.source),
    },
    {
      name: <Term of="compacted">{observed ? 'would be compacted here' : 'compacted here'}</Term>,
      value: frontier.moved ? 'yes' : 'no',
    },
    { name: <Term of="compacted_up_to" />, value: frontierWords(frontier.unit) },
    { name: 'model', value: model ?? 'n/a', note: labelOf(PROTOCOL_LABELS, event.protocol) },
    { name: 'kind', value: labelOf(REQUEST_KIND_LABELS, event.kind) },
    {
      name: 'input, as the vendor counted it',
      value: tokensText(usage?.input),
      note: usage
        ? `${rounds > 0 ? `in ${count(rounds + 1)} calls, ` : ''}${share(usage.cached, usage.input)} read from the cache`
        : undefined,
    },
    { name: 'output', value: tokensText(usage?.output) },
    ...money(event),
    {
      name: 'answer',
      value: String(event.status),
      note: event.error ?? labelOf(END_LABELS, event.ended),
    },
    { name: 'time', value: duration(event.ms.total), note: timesOf(event.ms) },
    { name: 'fetched by the model', value: roundsText(rounds) },
    ...thinking(event),
    { name: 'when', value: `${moment(event.created_at)} UTC` },
  ];
  return (
    <dl class="figures facts">
      {figures.map(({ name, value, note }, at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd>
            <Word text={value} /> {note !== undefined && <span class="note">{note}</span>}
          </dd>
        </div>
      ))}
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

function thinking({ dropped_thinking_blocks: blocks }: RunEvent): Figure[] {
  if (!blocks) return [];
  return [
    {
      name: 'thinking left out',
      value: `${count(blocks)} blocks`,
      note: 'what they are bound to has changed',
    },
  ];
}

const ABOUT = 'about: the upstream does not report what it wrote to its cache';

/** Both sides of what the request saved, and what is on its debit side. */
function money(event: RunEvent): Figure[] {
  const bill = billOf(event);
  const term = (of: TermName, value: number | undefined): Figure => {
    return { name: <Term of={of} />, value: dollars(value) };
  };
  const paid = { ...term('paid', bill?.actual), ...(bill?.isAbout ? { note: ABOUT } : {}) };
  if (event.observed) {
    const { wouldBe, net } = potentialBillOf(event) ?? {};
    return [paid, { name: 'price of what would be sent', value: dollars(wouldBe) }, term('potential', net)];
  }
  return [
    term('would_have_been', bill?.wouldBe),
    paid,
    term('net', bill?.net),
    term('summarizer', bill?.summarizer),
    term('fetches', bill?.fetchRounds),
    term('broken_cache', bill?.brokenCache),
    ...billedLess(bill?.gross, bill?.unique),
  ];
}

/** By the vendor's count. What Precis has added is shown as that, and not as a negative saving. */
function billedLess(gross: number | undefined, unique: number | undefined): Figure[] {
  if (gross === undefined || gross === 0) return [];
  if (gross < 0) return [{ name: 'added by Precis', value: `${count(-gross)} tokens` }];
  return [
    {
      name: <Term of="billed_less" />,
      value: `${count(gross)} tokens`,
      note: `${count(unique)} for the first time`,
    },
  ];
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
