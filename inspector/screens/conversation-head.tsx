/** What a conversation has cost: in a sentence, and step by step. */
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { Recorded } from '../api/all-requests.ts';
import type { ListedRun } from '../api/answers.ts';
import { Figure } from '../parts/figure.tsx';
import { alike, count, digitsOf, dollars, exactDollars, share, short } from '../parts/numbers.ts';
import { Term } from '../parts/term.tsx';
import { Word } from '../parts/text.tsx';
import { amountsOf, inDollars, netOfSums, potentialSums, whyUnknown } from '../read/money.ts';
import { compactedWords, missedSentence } from '../read/request-words.ts';
import { comparedWith, type WaterfallStep, waterfallOf } from '../read/savings.ts';
import { type SentSums, sentSums } from '../read/sent.ts';

export function ConversationHead({ recorded }: { readonly recorded: Recorded }) {
  const { events, page } = recorded;
  const observed = events.filter((event) => event.observed);
  const steps = waterfallOf(amountsOf(page));
  const isAlone = observed.length === events.length;
  const misses = missedSentence(events.flatMap(({ cache_miss }) => cache_miss ?? []));
  return (
    <section class={isAlone ? 'head observed' : 'head'} aria-label="What it has cost">
      {observed.length > 0 && <Observed observed={observed} isAlone={isAlone} />}
      {!isAlone && <Paid recorded={recorded} />}
      {misses && <p class="note">{misses}</p>}
      <Facts events={events} />
      {!isAlone && steps && steps[0]?.amount !== steps.at(-1)?.amount && <Waterfall steps={steps} />}
    </section>
  );
}

/** What was paid, and what it would have been. */
function Paid({ recorded: { events, page } }: { readonly recorded: Recorded }) {
  const amounts = amountsOf(page);
  const { actual, wouldBe } = amounts ?? {};
  if (actual === undefined || wouldBe === undefined)
    return <p class="lead">What it has cost is not known: {whyUnknown(events, amounts)}</p>;
  const { known } = netOfSums(page);
  const [paid, without] = alike(inDollars(actual), inDollars(wouldBe));
  if (actual === wouldBe)
    return (
      <p class="lead">
        <Term of="paid">Paid</Term> <Dollars of={actual} text={dollars(inDollars(actual))} />, the same as
        without Precis: nothing was removed.
      </p>
    );
  return (
    <p class="lead">
      <Term of="paid">Paid</Term> <Dollars of={actual} text={paid} />;{' '}
      <Term of="would_have_been">without Precis</Term> it would have been{' '}
      <Dollars of={wouldBe} text={without} />: <strong>{comparedWith(actual, wouldBe)}</strong>
      {known < events.length && <span class="note"> (of {count(known)} requests whose price is known)</span>}.
    </p>
  );
}

function Dollars({ of, text }: { of: number; text: string }) {
  return <strong title={exactDollars(inDollars(of))}>{text}</strong>;
}

/** What observed requests would have cost. */
function Observed({ observed, isAlone }: { observed: readonly ListedRun[]; isAlone: boolean }) {
  const sums = potentialSums(observed);
  const which = isAlone ? 'Only observed' : `${count(observed.length)} requests were only observed`;
  if (!sums)
    return (
      <p class="lead">
        <Term of="observed">{which}</Term>: all were sent unchanged.
      </p>
    );
  const { sent, wouldBe, known } = sums;
  const [paid, would] = alike(sent, wouldBe);
  return (
    <p class="lead">
      <Term of="observed">{which}</Term>: paid <strong>{paid}</strong>; with what was planned it would have
      been <strong>{would}</strong>, <strong>{comparedWith(wouldBe, sent)}</strong>
      {known < observed.length && (
        <span class="note"> (of {count(known)} requests of which both are known)</span>
      )}
      .
    </p>
  );
}

/** Tokens, cache and moves, as a row of figures. */
function Facts({ events }: { readonly events: readonly ListedRun[] }) {
  const sums = sentSums(events);
  const { cached, input } = cacheSums(events);
  const fetches = events.reduce((sum, { retrieval_rounds: rounds }) => sum + rounds, 0);
  const failed = events.filter(({ status }) => status >= 400).length;
  const models = [...new Set(events.flatMap(({ model }) => model ?? []))];
  return (
    <dl class="figures">
      <Figure term={<Term of="request">requests</Term>}>
        {count(events.length)} {failed > 0 && <span class="fails">{count(failed)} failed</span>}{' '}
        {models.length === 1 && (
          <span class="note">
            with <Word text={models[0] ?? ''} />
          </span>
        )}
      </Figure>
      <Figure term={<Term of="sent">tokens sent</Term>}>{sentWords(sums, fetches, events)}</Figure>
      {sums && sums.observed.requests > 0 && (
        <Figure term={<Term of="would_be_sent" />}>
          {share(sums.observed.potential, sums.observed.came)}{' '}
          <span class="note">
            {short(sums.observed.potential)} of {short(sums.observed.came)}
          </span>
        </Figure>
      )}
      <Figure term={<Term of="cached" />}>
        {share(cached, input)} <span class="note">of the input</span>
      </Figure>
      <Figure term={<Term of="compacted">compacted</Term>}>{compactedWords(events)}</Figure>
    </dl>
  );
}

/** @param fetches the calls after the first ones, which are not in the sums */
function sentWords(sums: SentSums | undefined, fetches: number, events: readonly ListedRun[]) {
  const sent = events.filter((event) => !isUnsent(event));
  if (!sums && sent.length === 0) return 'none';
  if (!sums) return sent.every(({ status }) => status >= 400) ? 'sent unchanged' : 'short: sent unchanged';
  return (
    <>
      {share(sums.sent, sums.came)}{' '}
      <span class="note">
        {short(sums.sent)} of {short(sums.came)}
        {fetches > 0 && `, without ${count(fetches)} ${fetches === 1 ? 'fetch' : 'fetches'}`}
      </span>
    </>
  );
}

/** Of the requests whose upstream says both. */
function cacheSums(events: readonly ListedRun[]): { cached: number | null; input: number | null } {
  const known = events.flatMap(({ usage }) =>
    usage?.cached == null || usage.input == null ? [] : [{ cached: usage.cached, input: usage.input }],
  );
  if (known.length === 0) return { cached: null, input: null };
  const sum = (of: 'cached' | 'input'): number => known.reduce((total, one) => total + one[of], 0);
  return { cached: sum('cached'), input: sum('input') };
}

/** A bar for each step that changes anything. @param steps see `waterfallOf` */
function Waterfall({ steps }: { readonly steps: readonly WaterfallStep[] }) {
  const levels = steps.flatMap(({ from, to }) => [from, to]);
  const least = Math.min(0, ...levels);
  const size = Math.max(...levels) - least || 1;
  // As many for all, so that they align.
  const digits = digitsOf(inDollars(Math.max(...levels)) / 10);
  const shown = steps.filter(({ amount, isSum }) => isSum || amount !== 0);
  const place = (level: number): string => `${((100 * (level - least)) / size).toFixed(2)}%`;
  return (
    <dl class="waterfall">
      {shown.map(({ term, amount, from, to, isSum }) => (
        <div key={term} class={`step ${kindOf(amount, isSum)} ${term}`}>
          <dt>
            <Term of={term} />
          </dt>
          <dd>
            <span class="step-lane" aria-hidden="true">
              <span
                class={amount === 0 ? 'step-bar none' : 'step-bar'}
                style={{
                  left: place(Math.min(from, to)),
                  width: `${((100 * Math.abs(to - from)) / size).toFixed(2)}%`,
                }}
              />
            </span>
            <span class="step-amount" title={exactDollars(inDollars(amount))}>
              {amountWords(amount, isSum, digits)}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function kindOf(amount: number, isSum: boolean): string {
  if (isSum) return 'sum';
  return amount < 0 ? 'less' : 'more';
}

/** A change has its sign. */
function amountWords(amount: number, isSum: boolean, digits: number): string {
  const sign = amount < 0 ? '−' : isSum || amount === 0 ? '' : '+';
  return `${sign}$${Math.abs(inDollars(amount)).toFixed(digits)}`;
}
